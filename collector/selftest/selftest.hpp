// `ttcollect selftest`: checks ttcollect's assumptions about this card, this link and this host. Reads only: the card is opened without
// a power vote, and no store goes to it. Two of the driver's windows are taken while it runs, and given back.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "collector/selftest/clock_watch.hpp"
#include "collector/selftest/host_watch.hpp"
#include "collector/selftest/link_watch.hpp"
#include "collector/selftest/log_watch.hpp"
#include "collector/selftest/tally.hpp"

namespace ttc::collect::selftest {

// A collector's account of a part of the test.
struct CollectFigures {
  double seconds = 0;
  uint64_t programs = 0, markers = 0, missed_poll_deadlines = 0;
  uint64_t intervals_of_loss = 0, words_lost = 0;  // words: of intervals whose extent is exact
  uint64_t sweep_p99_ns = 0;
};

struct Options {
  std::string device;
  uint64_t duration_ns = 300'000'000'000;
  bool until_contradicted =
      false;  // ends as soon as an assumption is contradicted; what is measured is measured shortly
  bool reference_timer =
      false;  // cards of the kernel driver: permit its loads; an emulated card's is always read
  // Collects for the given time. If that fails, it returns no value, and `why_not` is the sentence that the report prints.
  std::function<std::optional<CollectFigures>(uint64_t for_ns, std::string& why_not)> collect;
};

struct Figures {
  std::string device_kind;  // "emulated card" or "card of the kernel driver"
  std::string arch, board, driver_version, firmware;
  uint32_t aiclk_mhz = 0;
  size_t tensix = 0, ethernet = 0, harvested = 0, banks = 0;
  unsigned numberings = 0;
  std::vector<std::string> remarks;
  std::optional<card::Telemetry> telemetry_first, telemetry_last;
  std::string layout, mode, no_profiler;  // layout and mode, or why there are none
  std::string control_at;                 // of Tensix cores
  size_t cores = 0;
  LinkFigures link;
  ClockFigures clock;
  std::optional<LogFigures> log;
  HostFigures host;
  std::optional<CollectFigures> collected;
  std::string not_collected;
  card::Transactions transactions;  // of the test's own card
  double seconds = 0;
  bool vanished = false;
  std::string refused;  // it could not be opened: the sentence
};

struct Result {
  Figures figures;
  std::vector<Line> lines;
};

// Throws card::OpenError where the card cannot be opened for another reason than that no windows are left.
Result run(const Options& options);

std::string to_text(const Result& result);
std::string to_json(const Result& result);

}  // namespace ttc::collect::selftest
