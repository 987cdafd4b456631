#include "tools/streaming/rings.hpp"

#include <algorithm>

namespace ttc::streaming {
namespace {

enum Packet : uint32_t { zone_atomic = 2, zone_s = 3, zone_l = 4, sticky_program = 8, sticky_timer = 9 };
constexpr uint32_t kLow27 = 0x7ffffff;
constexpr uint32_t kStallZone = 0x7FFC000;
constexpr uint32_t kMostOutstanding = 503;  // before a zone is closed, which may take 5 words
constexpr uint32_t kPublishWords = 16;
constexpr uint32_t kQuarter = kRingWords / 4;
constexpr uint64_t kStallCycles = 2000;

uint32_t head_word(Packet type, uint32_t low) {
  return static_cast<uint32_t>(type) << 27 | (low & kLow27);
}

}  // namespace

Rings::Rings(card::EmulatedCard& card, card::Coord tile, uint32_t control_address, Relay relay)
    : card_(card), tile_(tile), control_(control_address), relay_(relay) {
  for (uint32_t w = 0; w < kControlWords + kRiscs * kRingWords; ++w) set(w, 0);
  if (relay != Relay::none) set(kArmed, 1);
}

void Rings::put(uint32_t risc, uint32_t word) {
  Lane& lane = lanes_[risc];
  card_.store(tile_, control_ + 4 * kControlWords + risc * kRingBytes + 4 * (lane.written % kRingWords),
              word);
  ++lane.written;
}

// The words are there before the tail covers them.
void Rings::publish(uint32_t risc) {
  Lane& lane = lanes_[risc];
  if (lane.published == lane.written) return;
  lane.published = lane.written;
  set(kTails + risc, lane.published);
  if (relay_ == Relay::quick && lane.published - lane.head >= kQuarter) take(risc);
}

void Rings::take(uint32_t risc) {
  Lane& lane = lanes_[risc];
  lane.head = lane.published;
  set(kHeads + risc, lane.head);
}

void Rings::make_room(uint32_t risc, uint64_t now) {
  Lane& lane = lanes_[risc];
  if (lane.written - lane.head <= kMostOutstanding) return;
  ++stalls_;
  set(kStalls + risc, card_.load(tile_, control_ + 4 * (kStalls + risc)) + 1);
  publish(risc);
  if (relay_ != Relay::none) take(risc);  // else it is not armed and overwrites words that were not taken
  packet(risc, kStallZone, now - std::min(now, kStallCycles), now);
}

void Rings::launch(uint32_t risc, uint32_t program) {
  Lane& lane = lanes_[risc];
  lane.timer_known = lane.cursor_known = false;
  put(risc, head_word(sticky_program, program));
  publish(risc);
  set(kProgram[risc], program);
}

void Rings::packet(uint32_t risc, uint32_t id, uint64_t begin, uint64_t end) {
  Lane& lane = lanes_[risc];
  const auto high = static_cast<uint32_t>(end >> 32);
  if (!lane.timer_known || high != lane.timer_high) {
    lane.timer_known = true, lane.timer_high = high, lane.cursor_known = false;
    put(risc, head_word(sticky_timer, high));
    publish(risc);
    set(kTimerHigh + risc, high);
  }
  const uint64_t duration = end - begin;
  constexpr uint64_t kShort = 1u << 16, kLong = uint64_t{1} << 32;
  if (lane.cursor_known && end >= lane.cursor && end - lane.cursor < kShort && duration < kShort) {
    put(risc, head_word(zone_s, id));
    put(risc, static_cast<uint32_t>(end - lane.cursor) << 16 | static_cast<uint32_t>(duration));
    lane.cursor = end;
  } else if (duration < kLong) {
    put(risc, head_word(zone_atomic, id));
    put(risc, static_cast<uint32_t>(end));
    put(risc, static_cast<uint32_t>(duration));
    lane.cursor = end, lane.cursor_known = true;
  } else {
    put(risc, head_word(zone_l, id));
    for (const uint64_t v : {end, duration})
      for (const unsigned shift : {0u, 32u}) put(risc, static_cast<uint32_t>(v >> shift));
  }
}

void Rings::zone(uint32_t risc, uint32_t id, uint64_t begin, uint64_t end) {
  make_room(risc, end);
  packet(risc, id, begin, end);
  Lane& lane = lanes_[risc];
  if (lane.written - lane.published >= kPublishWords) publish(risc);
}

void Rings::close() {
  for (uint32_t r = 0; r < kRiscs; ++r) {
    publish(r);
    if (relay_ != Relay::none) take(r);
  }
  set(kArmed, 0);
}

}  // namespace ttc::streaming
