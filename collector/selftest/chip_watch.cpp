#include "collector/selftest/chip_watch.hpp"

#include <algorithm>
#include <cstdio>
#include <map>
#include <set>

#include "driver_iface/allow_list.hpp"
#include "ttcollect/host_time.hpp"

namespace ttc::collect::selftest {
namespace {

using card::Access;
using card::Window;

constexpr uint32_t kCoordinateBits = 6;  // tt-isa-documentation, NoC node id: x, then y
constexpr uint32_t kCoordinateMask = (1u << kCoordinateBits) - 1;

std::string name_of(card::Coord at) {
  return "(" + std::to_string(at.x) + "," + std::to_string(at.y) + ")";
}

constexpr double kTimerTolerance = 0.002;       // crystals are within 0.0001 of what they should be
constexpr uint64_t kTimerLongNs = 100'000'000;  // between two readings for a rate
constexpr uint64_t kAroundWrapNs = 1'000'000;

}  // namespace

void judge_node_ids(card::Card& card, Tallies& tallies) {
  const uint32_t offset = card.identity().arch->node_id_address & (card::kWindowBytes - 1);
  for (const card::Tile& tile : card.tiles()) {
    const bool answers = tile.kind == card::TileKind::tensix || tile.kind == card::TileKind::ethernet;
    if (tile.harvested || !answers || tile.at.x == tile.at.y) continue;
    uint32_t id = 0;
    if (card.aim(Window::control, tile.at, card.identity().arch->node_id_address) != Access::ok ||
        card.load_registers(Window::control, offset, {&id, 1}) != Access::ok)
      continue;
    const card::Coord said{static_cast<uint8_t>(id & kCoordinateMask),
                           static_cast<uint8_t>(id >> kCoordinateBits & kCoordinateMask)};
    if (said == tile.at)
      tallies.agrees(Id::node_id);
    else
      tallies.speaks_against(Id::node_id, "tile " + name_of(tile.at) + " has node id " + name_of(said));
  }
}

void judge_fused_off(const card::Card& card, bool emulated, Tallies& tallies) {
  const card::Board* board = card::board_by_name(card.identity().board);
  if (!board || emulated) return;
  std::set<uint8_t> rows, columns;
  for (const card::Tile& tile : card.tiles())
    if (tile.kind == card::TileKind::tensix && tile.harvested)
      rows.insert(tile.at.y), columns.insert(tile.at.x);
  const bool by_rows = card.identity().arch->name == "wormhole_b0";
  const size_t found = by_rows ? rows.size() : columns.size();
  const size_t expected = by_rows ? board->harvested_rows : board->harvested_columns;
  const std::string text = std::to_string(found) + (by_rows ? " rows" : " columns") +
                           " have the fused-off bit, " + std::to_string(expected) +
                           " are by the board's name";
  if (found == expected)
    tallies.agrees(Id::fused_off), tallies.describe(Id::fused_off, text);
  else
    tallies.speaks_against(Id::fused_off, text);
}

void judge_flat_ids(const card::Card& card, const Attachment& attachment, Tallies& tallies) {
  std::vector<card::Coord> tiles;
  for (const card::Tile& tile : card.tiles())
    if (!tile.harvested && (tile.kind == card::TileKind::tensix || tile.kind == card::TileKind::ethernet))
      tiles.push_back(tile.at);
  std::sort(tiles.begin(), tiles.end());
  std::map<card::Coord, size_t> place;
  for (size_t i = 0; i < tiles.size(); ++i) place[tiles[i]] = i;
  for (const AttachedCore& core : attachment.cores) {
    if (place[core.at] == core.flat_id)
      tallies.agrees(Id::flat_ids);
    else
      tallies.speaks_against(Id::flat_ids, "core " + name_of(core.at) + " has flat id " +
                                               std::to_string(core.flat_id) + " instead of " +
                                               std::to_string(place[core.at]));
  }
}

// --- the reference timer

TimerWatch::TimerWatch(card::Card& card, Tallies& tallies) : card_(card), tallies_(tallies) {
  const card::Arch& arch = *card.identity().arch;
  if (arch.name != "blackhole") {
    for (const Id id : {Id::timer_rate, Id::timer_latch})
      tallies.cannot_see(id, "this architecture has no such timer");
    return;
  }
  for (uint8_t x = 0; x < arch.grid_x && !tile_; ++x)
    for (uint8_t y = 0; y < arch.grid_y && !tile_; ++y)
      if (card::timer_readable(arch, {x, y}, card::kTimerLow) &&
          card.aim(Window::control, {x, y}, card::kTimerBlock) == Access::ok)
        tile_ = card::Coord{x, y};
}

bool TimerWatch::load(uint64_t address, uint32_t& value) {
  return card_.aim(Window::control, *tile_, card::kTimerBlock) == Access::ok &&
         card_.load_registers(Window::control, static_cast<uint32_t>(address & (card::kWindowBytes - 1)),
                              {&value, 1}) == Access::ok;
}

bool TimerWatch::read(Reading& reading) {
  reading.before = raw_now_ns();
  if (!load(card::kTimerLow, reading.low)) return false;
  reading.after = raw_now_ns();
  return load(card::kTimerHigh, reading.high);
}

void TimerWatch::look() {
  uint32_t latched = 0;  // by the last poll's load of the low half
  Reading now;
  const uint64_t begun_ns = raw_now_ns();
  if (!tile_ || (last_ && !load(card::kTimerHigh, latched)) || !read(now)) return;
  if (!first_)
    first_ = now;
  else if (now.before - first_->after > kTimerLongNs)
    judge_rate(now);
  if (last_) judge_latch(begun_ns, latched, now);
  last_ = now;
}

// If the low half has wrapped since the last poll, the high half must have stayed as it was latched then.
void TimerWatch::judge_latch(uint64_t begun_ns, uint32_t latched, const Reading& now) {
  if (now.low >= last_->low) {
    tallies_.cannot_see(Id::timer_latch, "the low half did not wrap meanwhile, which it does every 86 s");
    return;
  }
  // A wrap behind the load of the high half is no evidence, and a wrap of a reset card is none.
  constexpr uint64_t kTickNs = 1'000'000'000 / card::kTimerHz;
  if (uint64_t{now.low} * kTickNs < now.after - begun_ns + kAroundWrapNs || now.high != last_->high + 1)
    return;
  if (latched == last_->high)
    tallies_.agrees(Id::timer_latch);
  else
    tallies_.speaks_against(Id::timer_latch, "the high half went on without a load of the low one");
}

void TimerWatch::judge_rate(const Reading& now) {
  const uint64_t ticks = (uint64_t{now.high} << 32 | now.low) - (uint64_t{first_->high} << 32 | first_->low);
  const double most =
      (static_cast<double>(ticks) + 1) * 1e9 / static_cast<double>(now.before - first_->after);
  const double least =
      (static_cast<double>(ticks) - 1) * 1e9 / static_cast<double>(now.after - first_->before);
  char text[64];
  std::snprintf(text, sizeof text, "%.4f to %.4f MHz", least / 1e6, most / 1e6);
  constexpr auto kHz = static_cast<double>(card::kTimerHz);
  if (most < kHz * (1 - kTimerTolerance) || least > kHz * (1 + kTimerTolerance))
    tallies_.speaks_against(Id::timer_rate, text);
  else if (most < kHz * (1 + kTimerTolerance) && least > kHz * (1 - kTimerTolerance))
    tallies_.agrees(Id::timer_rate), tallies_.describe(Id::timer_rate, text);
}

}  // namespace ttc::collect::selftest
