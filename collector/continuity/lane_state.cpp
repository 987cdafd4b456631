#include "collector/continuity/lane_state.hpp"

#include <algorithm>
#include <utility>

#include "collector/continuity/timing.hpp"
#include "firmware_markers/packets.hpp"

namespace ttc::collect {
namespace {

uint64_t hash_words(std::span<const uint32_t> words) {
  uint64_t h = 0x9e3779b97f4a7c15;
  for (const uint32_t w : words) h = (h ^ w) * 0x100000001b3 + (h >> 29);
  return h;
}

}  // namespace

bool Canary::stands(std::span<const uint32_t> now) const {
  const auto then = last(static_cast<uint32_t>(now.size()));
  return std::equal(now.begin(), now.end(), then.begin());
}

void Canary::append(std::span<const uint32_t> delivered) {
  const auto fresh = delivered.last(std::min<size_t>(delivered.size(), kWords));
  const auto kept = std::min(count_, static_cast<uint32_t>(kWords - fresh.size()));
  if (kept < count_) std::copy(words_.begin() + (count_ - kept), words_.begin() + count_, words_.begin());
  std::copy(fresh.begin(), fresh.end(), words_.begin() + kept);
  count_ = kept + static_cast<uint32_t>(fresh.size());
}

void FirstWords::see(std::span<const uint32_t> words, uint64_t start, uint64_t now_ns) {
  words_ = static_cast<uint32_t>(words.size());
  hash_ = hash_words(words);
  start_ = start;
  since_ns_ = now_ns;
}

bool FirstWords::same(std::span<const uint32_t> words) const {
  return words_ != 0 && words.size() >= words_ && hash_words(words.first(words_)) == hash_;
}

bool FirstWords::landed(uint64_t read_since_ns) const {
  return read_since_ns >= since_ns_ + timing::kLandedNs;
}

void L1Buffer::begin(uint64_t first, const std::optional<Proof>& joins_now) {
  joins = joins_now;
  canary = first;
  unchecked = false;
}

void L1Buffer::take_push(uint64_t until) {
  const bool is_next = next_canary != 0 && markers::clock_difference(next_canary, until) > 0;
  // The push in front of it was the last: a host reset would have taken the index back.
  joins = prove_l1_tail({.behind_last_push = is_next});
  canary = is_next ? next_canary : 0;
  next_canary = 0;
  unchecked = false;
  rest.clear();
}

void L1Buffer::pushed_until(uint64_t until) {
  if (canary != 0 && markers::clock_difference(canary, until) <= 0) take_push(until);
}

void LaneState::advance(std::span<const uint32_t> words, const markers::FrameDigest& of_last) {
  canary.append(words);
  cursor += static_cast<uint32_t>(words.size());
  digest = of_last;
  delivered = true;
  forget_what_follows();
}

void LaneState::skip(uint32_t words) {
  cursor += words;
  canary.clear();
  forget_what_follows();
}

uint64_t LaneState::take_entered_until() {
  return entered_until.value_or(0) != 0 ? *std::exchange(entered_until, 0) : 0;
}

void LaneState::begin_epoch() {
  cursor = 0;
  recovery = {};
  canary.clear();
  caution.waits = false;
  forget_what_follows();
  entered_until.reset();
  begin_laps();
}

}  // namespace ttc::collect
