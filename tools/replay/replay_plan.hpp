// A device log as launches to play: what each core's RISCs would have pushed, when, and an account of the
// rows that no device could have held.
#pragma once
#include <array>
#include <cstdint>
#include <istream>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "driver_iface/card.hpp"
#include "tools/device_log/device_log_reader.hpp"
#include "tools/replay/replay_frames.hpp"
#include "tools/replay/replay_names.hpp"

namespace ttc::emulation {

struct ReplayLane {
  uint8_t risc;  // an Ethernet core's rows name no RISC: all are the first one's
  std::vector<ReplayFrame> frames;
  bool finished;  // the last frame has its FW end
};

// One core's launch between GO and DONE. Times are cycles, not wrapped, on one axis for the whole file.
struct ReplayLaunch {
  card::Coord core;
  card::TileKind kind;  // tensix or ethernet, by the names of its processors
  uint32_t host_id;
  uint16_t trace_counter;
  uint64_t begin, end;
  std::vector<ReplayLane> lanes;
  uint64_t rows = 0;
  uint64_t first_line = 0;
  bool finished() const;  // RISC 0 closed its FW zone: it pushes for all
};

enum class Unplayed : uint8_t {
  other_chip,
  aggregate,     // trace-only mode has one pseudo RISC a core
  absent_core,   // harvested, or not of that kind (found out when the card is there)
  beyond_clock,  // times have 44 bits
  blank,         // id 0 in the first 2^32 cycles: those words mean "unset"
  too_large,     // a total has 32 bits
  no_launch,     // before the first zone start of its launch, or out of the order of time across pushes
  overlapping,   // its launch begins before the one before it on the same RISC ended
  count
};
std::string_view to_string(Unplayed reason);  // "are of other chips", to follow "rows that"

// Columns that no marker carries, so that they come back empty or zero.
enum class NotCarried : uint8_t { trace_id, meta, data_of_zone, time_of_total, trace_counter, count };
std::string_view to_string(NotCarried what);  // likewise

struct ReplayAccount {
  using Trouble = ReplayNames::Trouble;
  std::array<Trouble, static_cast<size_t>(Unplayed::count)> unplayed{};
  std::array<Trouble, static_cast<size_t>(NotCarried::count)> not_carried{};
  uint64_t rows = 0;
  uint64_t repeated = 0;  // starts that quick push repeats
  void add(Unplayed reason, uint64_t line, uint64_t rows = 1);
  void add(NotCarried what, uint64_t line);
  uint64_t unplayed_rows() const;
};

struct ReplayPlan {
  tools::DeviceLogHead head;
  uint32_t chip = 0;                   // that is played
  std::vector<ReplayLaunch> launches;  // in the order of their ends
  ReplayNames::Result names;
  ReplayAccount account;
  std::array<tools::DeviceLogReader::Skipped, static_cast<size_t>(tools::LogSkip::count)> skipped{};

  uint64_t begin() const;  // of the first launch; 0 when there is none
  uint64_t skipped_lines() const;
  bool has_finished_launch() const;
  size_t lanes() const;
  bool has_ethernet() const;
  // Takes out launches on tiles the card does not have.
  void drop_cores_not_in(std::span<const card::Tile> tiles);
};

// Memory: about 16 bytes a row. `chip`: the one to play; without it that of the first row. Throws
// tools::DeviceLogError.
ReplayPlan plan_replay(std::istream& in, const std::string& name, std::optional<uint32_t> chip);

// Rows (Wormhole) or columns (Blackhole) to fuse off, of those the plan has nothing on, far end first.
std::vector<uint8_t> unused_rows(const ReplayPlan& plan, const card::Board& board);

}  // namespace ttc::emulation
