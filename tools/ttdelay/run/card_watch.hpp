// Reads a card while a run is on it, from a thread of its own: the masks in the cores' records, and the feedback words, which show what
// was delayed. Only reads. tt-metal writes masks, and feedback 0, when it opens the device; firmware sets feedback bits and never
// clears them; the next opening replaces both. So values read after an opening was observed are of this run.
#pragma once
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "driver_iface/card.hpp"
#include "tools/ttdelay/records/record_place.hpp"
#include "tools/watcher/settings.hpp"

namespace ttc::delay {

using watcher::LogicalCore;
using MasksByCore = std::map<LogicalCore, DelayMasks>;

// What was read of a card in one run.
struct CardFacts {
  bool opened = false;
  std::string why_not;  // the last failure to open it
  bool gone = false;    // it was reset or removed, or hangs
  std::optional<RecordPlace> place;
  bool ambiguous = false;   // several places hold what the record must hold
  bool fresh = false;       // the card's opening in this run was observed, or no earlier value fits it
  bool masks_seen = false;  // all records held the masks of this run at one time
  std::map<LogicalCore, uint32_t> feedback;    // of the named cores: bits, since then
  std::vector<LogicalCore> others;             // cores with masks or feedback that were not named
  std::map<LogicalCore, card::Coord> cores{};  // all worker cores, NOC0 places
  // The waypoints of the five processors of every core, at the last examination; empty: they are not known.
  std::map<LogicalCore, std::vector<std::string>> waypoints{};
};

// Throws card::OpenError.
using CardOpener = std::function<std::unique_ptr<card::Card>()>;

// The logical grid of programs, made of the tiles that are not fused off: columns and rows counted in the order of NOC0.
std::map<LogicalCore, card::Coord> logical_cores(std::span<const card::Tile> tiles);

class CardWatch {
 public:
  // Looks once, before the run. `expected`: masks of the named cores; `known`: the record's place, where an earlier run showed it.
  CardWatch(CardOpener open, MasksByCore expected, std::optional<RecordPlace> known);
  ~CardWatch();
  CardWatch(const CardWatch&) = delete;
  CardWatch& operator=(const CardWatch&) = delete;

  void start();
  CardFacts stop();  // looks once more, where the card is still there

 private:
  void watch();
  bool take_card();
  bool look(bool everywhere);
  void judge(const std::map<LogicalCore, DelayWords>& now, bool everywhere);
  std::optional<RecordPlace> find_place();
  std::optional<DelayWords> record_of(card::Coord at, const RecordPlace& place);
  void read_waypoints();
  bool read_l1(card::Coord at, uint32_t address, std::vector<uint32_t>& words);
  DelayMasks expected_of(const LogicalCore& core) const;

  CardOpener open_;
  MasksByCore expected_;
  CardFacts facts_;
  std::unique_ptr<card::Card> card_;
  uint32_t mailbox_ = 0;
  std::mutex mutex_;
  std::condition_variable stopped_;
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace ttc::delay
