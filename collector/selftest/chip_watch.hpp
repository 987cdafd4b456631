// What a chip and its firmware report: coordinates, fused-off tiles, flat ids, and the reference timer where the driver
// layer reads it.
#pragma once
#include <cstdint>
#include <optional>

#include "collector/attach/attach.hpp"
#include "collector/selftest/tally.hpp"
#include "driver_iface/card.hpp"

namespace ttc::collect::selftest {

void judge_node_ids(card::Card& card, Tallies& tallies);
void judge_fused_off(const card::Card& card, bool emulated, Tallies& tallies);
void judge_flat_ids(const card::Card& card, const Attachment& attachment, Tallies& tallies);

// The reference timer of Blackhole's PCIe tile, where the driver layer can aim at it.
class TimerWatch {
 public:
  TimerWatch(card::Card& card, Tallies& tallies);
  // Checks the rate since the first call, and the latch where the low half has wrapped since the last one. Another process that loads
  // the low half between them looks like a high half that is not latched.
  void look();

 private:
  struct Reading {
    uint64_t before = 0, after = 0;  // ns, around the load of the low half
    uint32_t low = 0, high = 0;
  };
  bool read(Reading& reading);
  bool load(uint64_t address, uint32_t& value);
  void judge_rate(const Reading& now);
  void judge_latch(uint64_t begun_ns, uint32_t latched, const Reading& now);

  card::Card& card_;
  Tallies& tallies_;
  std::optional<card::Coord> tile_;
  std::optional<Reading> first_, last_;
};

}  // namespace ttc::collect::selftest
