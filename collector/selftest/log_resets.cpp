// Results reads of the host: how long it writes a vector, when a core runs again, and the state of
// vectors and logs between two of them.
#include <algorithm>
#include <cstdio>

#include "collector/continuity/timing.hpp"
#include "collector/selftest/log_watch.hpp"
#include "ttcollect/host_time.hpp"

namespace ttc::collect::selftest {
namespace {

using card::Access;
using card::Window;

constexpr uint64_t kWatchVectorNs = 20'000'000;  // long behind what is assumed, on a busy host, too
constexpr uint64_t kWriteNs = timing::kResetOverNs - timing::kLandedNs;
constexpr uint32_t kFrontIsOldWords = 256;  // at such an index the words at the front have landed long ago

}  // namespace

Access LogWatch::after_reset(const Poll& before, const Poll& now) {
  ++figures_.resets;
  const bool in_time = now.ended - before.begun < timing::kPollDeadlineNs;
  Access a = Access::ok;
  if (in_time && now.runs < before.runs && before.index != 0)
    reset_ = Reset{before.begun, now.ended, before.index, before.runs};
  a = watch_vector(before, now);
  pending_.reset();
  forget();
  vector_ns_ = 0;
  moved_ns_ = raw_now_ns();
  return a;
}

// Words that only the host resets: if one still had its old value when the first was found reset, the write was not over.
Access LogWatch::watch_vector(const Poll& before, const Poll& now) {
  if (vector_ns_ == 0) return Access::ok;
  const VectorWords earlier = vector_;
  // Firmware raises these at the end of a launch only; its other words are there again when one begins.
  std::vector<uint32_t> of_host{format_.run_counter};
  for (uint32_t r = 0; r < device::kMaxRiscs; ++r) of_host.push_back(format_.host_end + r);
  VectorWords seen{};
  uint64_t still_old_ns = 0, over_ns = 0;
  for (uint64_t begun = raw_now_ns(); begun - now.ended < kWatchVectorNs; begun = raw_now_ns()) {
    if (const Access a = load_vector(card_, core(), format_.control_words, seen); a != Access::ok) return a;
    const uint64_t ended = raw_now_ns();
    // Once the core has run again, non-zero words may be of the new epoch.
    const auto runs = load_control(card_, core(), format_.run_counter);
    if (!runs) return runs.error();
    if (std::max(seen[format_.run_counter], *runs) > now.runs) break;
    const bool old = std::any_of(of_host.begin(), of_host.end(),
                                 [&](uint32_t w) { return earlier[w] != 0 && seen[w] >= earlier[w]; });
    if (old) still_old_ns = begun;
    if (!old && over_ns == 0) over_ns = ended;
    if (over_ns) break;
  }
  if (over_ns == 0) return Access::ok;  // words with old values are no trace of a write
  const uint32_t address = format_.risc_dram_address;
  if (format_.risc_dram_address_count && earlier[address] == 0 && seen[address] != 0)
    tallies_.agrees(Id::risc_addresses);
  char text[96];
  const uint64_t at_least = still_old_ns > now.ended ? still_old_ns - now.ended : 0;
  if (at_least > kWriteNs) {
    std::snprintf(text, sizeof text, "the host wrote for %.0f us or more",
                  static_cast<double>(at_least) / 1e3);
    tallies_.speaks_against(Id::reset_write_time, text);
  } else if (over_ns - before.begun <= kWriteNs) {
    std::snprintf(text, sizeof text, "the latest within %.1f us",
                  static_cast<double>(over_ns - before.begun) / 1e3);
    tallies_.agrees(Id::reset_write_time);
    tallies_.describe(Id::reset_write_time, text);
  }
  return Access::ok;
}

void LogWatch::judge_regained(const Poll& now) {
  char text[96];
  const bool regained = now.index >= reset_->index && now.runs >= reset_->runs;
  if (regained && now.ended - reset_->not_before < timing::kPollDeadlineNs) {
    std::snprintf(text, sizeof text, "they were back within %.0f us",
                  static_cast<double>(now.ended - reset_->not_before) / 1e3);
    tallies_.speaks_against(Id::poll_deadline, text);
  } else if (!regained && now.begun - reset_->seen > timing::kPollDeadlineNs) {
    tallies_.agrees(Id::poll_deadline);
  } else if (!regained) {
    return;
  }
  reset_.reset();
}

// The front of a log that was read whole must stay as it is until the host reads results.
Access LogWatch::look_at_front() {
  if (last_.begun == 0) return Access::ok;
  std::vector<uint32_t> words(device::kFirstCustomWord);
  if (const Access a = read_log(bank_, 0, words); a != Access::ok) return a;
  Poll now;
  if (const Access a = poll(core(), now); a != Access::ok) return a;
  if (!last_.before(now) || now.ended - last_.begun > timing::kPollDeadlineNs) return Access::ok;
  if (front_.empty()) {
    if (last_.index > kFrontIsOldWords) front_ = words, front_index_ = now.index;
    return Access::ok;
  }
  if (words == front_ && now.index > front_index_)  // words came behind it
    tallies_.agrees(Id::log_grows);
  else if (words != front_)
    tallies_.speaks_against(Id::log_grows, "the front of a log changed, and no index went back");
  front_ = words;
  front_index_ = now.index;
  return Access::ok;
}

// A copy between two single loads of the count of launches: unless the loads decrease, the copy must be between them.
Access LogWatch::compare_loads() {
  const auto before = load_control(card_, core(), format_.run_counter);
  if (!before) return before.error();
  const uint32_t word = format_.run_counter & ~1u;
  uint64_t raw = 0;
  Access a = card_.aim(Window::control, core().at, core().control_address);
  const uint32_t offset = (core().control_address + 4 * word) & (card::kWindowBytes - 1);
  if (a == Access::ok) a = card_.copy(Window::control, offset, {&raw, 1});
  if (a != Access::ok) return a;
  const auto copied = static_cast<uint32_t>(format_.run_counter % 2 ? raw >> 32 : raw);
  const auto after = load_control(card_, core(), format_.run_counter);
  if (!after) return after.error();
  if (copied_runs_ && *copied_runs_ != *before && *before <= *after && *before >= last_.runs) {
    if (copied < *before)
      tallies_.speaks_against(Id::fresh_loads, "a copy brought an older count than a load before it");
    else
      tallies_.agrees(Id::fresh_loads);
  }
  copied_runs_ = *before;
  return Access::ok;
}

Access LogWatch::look_at_vector() {
  const VectorWords earlier = vector_;
  const uint64_t earlier_ns = vector_ns_;
  if (const Access a = load_vector(card_, core(), format_.control_words, vector_); a != Access::ok) return a;
  vector_ns_ = raw_now_ns();
  const uint32_t word = format_.risc_dram_address;
  if (format_.risc_dram_address_count == 0) {
    tallies_.cannot_see(Id::risc_addresses, "this format has no such words");
    return Access::ok;
  }
  if (earlier_ns == 0 || earlier[word] != 0 || vector_[word] == 0) return Access::ok;
  if (vector_ns_ - earlier_ns < timing::kPollDeadlineNs && earlier[format_.run_counter] > 1 &&
      vector_[format_.run_counter] >= earlier[format_.run_counter])
    tallies_.speaks_against(Id::risc_addresses, "they were set while a count of launches went on");
  return Access::ok;
}

}  // namespace ttc::collect::selftest
