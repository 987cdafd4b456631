#include "collector/attach/region_size.hpp"

#include <algorithm>
#include <array>
#include <vector>

namespace ttc::collect {
namespace {

using card::Access;
using card::Expected;
using card::failed;
using card::Window;

constexpr uint32_t kSampleWords = 12;
// tt-metal profiler_common.h: the defaults with and without sums, halves for debug dump.
constexpr std::array<uint32_t, 4> kUsual = {48000, 64000, 24000, 32000};
constexpr uint32_t kLongestCount = 20000;  // program support counts above this are for the flag
constexpr uint32_t kCountsPerVisit = 256;

}  // namespace

struct RegionSize::Sample {
  std::array<uint32_t, kSampleWords> words;
  uint32_t log_words;  // HOST_BUFFER_END_INDEX: where in the log the sample ends
  uint32_t risc;
};

// The first region of a bank lies where it lies, whatever P.
bool RegionSize::says_nothing(const AttachedCore& core, uint32_t risc) const {
  return !given_ && core.flat_id % attachment_.core_count_per_dram == 0 && risc == 0;
}

Access RegionSize::try_lane(card::Card& card, LogReader& logs, const AttachedCore& core, uint32_t risc,
                            const Sample& sample) {
  if (says_nothing(core, risc)) return Access::ok;
  std::vector<uint32_t> sizes(kUsual.begin(), kUsual.end());
  if (given_)
    sizes = {given_};
  else if (votes_.empty())
    for (uint32_t n = next_count_; n < std::min(next_count_ + kCountsPerVisit, kLongestCount); ++n) {
      sizes.push_back(48 * n);
      sizes.push_back(64 * n);
    }
  else
    for (const auto& [found, lanes] : votes_) sizes.push_back(found.bytes);
  for (const uint32_t bytes : sizes) {  // the usual ones under every numbering first
    if (uint64_t{sample.log_words} * 4 > bytes) continue;
    const auto place =
        markers::log_place(core.flat_id, risc, attachment_.core_count_per_dram, attachment_.dram_base, bytes);
    for (unsigned way = 0; way < numberings_; ++way) {
      if (numberings_ > 1) card.use_memory_numbering(way);
      std::array<uint64_t, kSampleWords / 2> raw;
      const LogRead read{place.bank, place.address + 4ull * (sample.log_words - kSampleWords), raw};
      if (const Access a = logs.read({&read, 1}); a != Access::ok) return a;
      const auto* found = reinterpret_cast<const uint32_t*>(raw.data());
      if (!std::equal(sample.words.begin(), sample.words.end(), found)) continue;
      votes_[{way, bytes}].insert(core.flat_id * device::kMaxRiscs + risc);
      return Access::ok;
    }
  }
  return Access::ok;
}

// Frames from the front to the end of a full log, without a gap: a region that is a little too long or too
// short for the lane's begins in the middle of it, and goes on into another's.
Expected<bool> RegionSize::holds_whole_log(LogReader& logs, const markers::LogPlace& place,
                                           const markers::Lane& lane, uint32_t log_words) {
  struct TakeAll {
    bool sat_out_ok(uint32_t) const { return true; }
    bool take(const markers::VerifiedFrame&) const { return true; }
  };
  std::vector<uint64_t> raw((log_words + 1) / 2);
  const LogRead read{place.bank, place.address, raw};
  if (const Access a = logs.read({&read, 1}); a != Access::ok) return failed(a);
  markers::FrameDigest digest;
  const std::span<const uint32_t> words(reinterpret_cast<const uint32_t*>(raw.data()), log_words);
  return markers::verify_frames(words, lane, {}, false, digest, TakeAll{}).clean;
}

// Where L1 and DRAM never hold the same frame at one time: the log begins with a frame of its lane. Logs of
// other builds may stand elsewhere, so the newest one tells.
Access RegionSize::try_front(card::Card& card, LogReader& logs, const AttachedCore& core, uint32_t risc,
                             device::Mode mode, std::span<const uint32_t> sizes, uint32_t full_words) {
  if (says_nothing(core, risc)) return Access::ok;
  const markers::Lane lane{&attachment_.layout->format, static_cast<uint8_t>(risc), core.flat_id, mode};
  uint64_t newest = 0;
  Found best{0, 0};
  for (unsigned way = 0; way < numberings_; ++way) {
    if (numberings_ > 1) card.use_memory_numbering(way);
    for (const uint32_t bytes : sizes) {
      const auto place = markers::log_place(core.flat_id, risc, attachment_.core_count_per_dram,
                                            attachment_.dram_base, bytes);
      std::array<uint64_t, 8> raw;
      const LogRead read{place.bank, place.address, raw};
      if (const Access a = logs.read({&read, 1}); a != Access::ok) return a;
      const std::span<const uint32_t> words(reinterpret_cast<const uint32_t*>(raw.data()), 16);
      if (!markers::frame_starts(words, 0, lane)) continue;
      if (full_words != 0) {
        const Expected<bool> whole = holds_whole_log(logs, place, lane, full_words);
        if (!whole) return whole.error();
        if (!*whole) continue;
      }
      const uint64_t time = markers::first_time(words, 0);
      if (best.bytes == 0 || markers::clock_difference(time, newest) > 0) newest = time, best = {way, bytes};
    }
  }
  if (best.bytes) votes_[best].insert(core.flat_id * device::kMaxRiscs + risc);
  return Access::ok;
}

Access RegionSize::try_fronts(card::Card& card, LogReader& logs, const AttachedCore& core,
                              const HostEnd& host_end, device::Mode mode, bool full) {
  std::vector<uint32_t> sizes(kUsual.begin(), kUsual.end());
  if (full) {  // then a frame that was dropped, at most a buffer, reaches over its end
    const uint32_t least = 4 * *std::max_element(host_end.begin(), host_end.end());
    for (uint32_t bytes = least; bytes <= least + 4 * (device::kBufferWords + 4); ++bytes)
      if (bytes % 48 == 0 || bytes % 64 == 0) sizes.push_back(bytes);
  }
  if (given_) sizes = {given_};
  for (uint32_t r = 0; r < device::kMaxRiscs; ++r)
    if (host_end[r] >= device::kFirstCustomWord)
      if (const Access a = try_front(card, logs, core, r, mode, sizes, full ? host_end[r] : 0);
          a != Access::ok)
        return a;
  count_votes(card);
  return Access::ok;
}

void RegionSize::count_votes(card::Card& card) {
  for (const auto& [found, lanes] : votes_) {
    if (lanes.size() < 2) continue;
    bytes_ = found.bytes;
    known_ = true;
    if (numberings_ > 1) card.use_memory_numbering(found.numbering);
  }
}

Expected<markers::ControlVector> RegionSize::read_control(card::Card& card, const AttachedCore& core) const {
  const uint32_t words = attachment_.layout->format.control_words;
  std::vector<uint64_t> raw(words / 2);
  Access a = card.aim(Window::control, core.at, core.control_address);
  if (a == Access::ok) a = card.copy(Window::control, core.control_address & (card::kWindowBytes - 1), raw);
  if (a != Access::ok) return failed(a);
  return markers::parse_control_vector({reinterpret_cast<const uint32_t*>(raw.data()), words},
                                       *attachment_.layout);
}

// The ends of the L1 buffers as the last run left them, of the RISCs whose words can prove something. The
// control window must be aimed at the core.
Expected<std::vector<RegionSize::Sample>> RegionSize::read_samples(
    card::Card& card, const AttachedCore& core, const markers::ControlVector& before) const {
  std::vector<Sample> samples;
  for (uint32_t r = 0; r < device::kMaxRiscs; ++r) {
    const uint32_t end = before.device_end[r];
    if (end < kSampleWords || end > device::kBufferWords || before.host_end[r] < end) continue;
    std::array<uint64_t, kSampleWords / 2> buffer;
    const uint32_t address = core.buffer_address + 4 * (r * device::kBufferWords + end - kSampleWords);
    const Access a = card.copy(Window::control, address & (card::kWindowBytes - 1), buffer);
    if (a != Access::ok) return failed(a);
    Sample sample{{}, before.host_end[r], r};
    std::copy_n(reinterpret_cast<const uint32_t*>(buffer.data()), kSampleWords, sample.words.begin());
    // Low words are times or payload; unset slots and zeros are the same everywhere and prove nothing.
    bool usable = false;
    for (uint32_t w = 1; w < kSampleWords; w += 2)
      usable = usable || (sample.words[w] != 0 && sample.words[w] != device::kUnsetWord);
    if (usable) samples.push_back(sample);
  }
  return samples;
}

Access RegionSize::learn(card::Card& card, LogReader& logs, const AttachedCore& core, const HostEnd& host_end,
                         device::Mode mode) {
  if (known()) return Access::ok;
  // The first firmware of the line clears DEVICE_END after a push.
  const bool cleared =
      attachment_.layout->format.generation <= 1 || attachment_.layout->format.generation == 16;
  if (mode != device::Mode::normal || cleared) return try_fronts(card, logs, core, host_end, mode, false);
  const Expected<markers::ControlVector> before = read_control(card, core);
  if (!before) return before.error();
  // Full logs: L1 holds runs that are in none.
  if (before->dropped != 0) return try_fronts(card, logs, core, host_end, mode, true);
  if (before->done != 1 || before->run_counter == 0)
    return Access::ok;  // a run is in flight: nothing holds still
  const Expected<std::vector<Sample>> samples = read_samples(card, core, *before);
  if (!samples) return samples.error();
  const Expected<markers::ControlVector> after = read_control(card, core);
  if (!after) return after.error();
  if (after->run_counter != before->run_counter || after->done != 1) return Access::ok;

  for (const Sample& sample : *samples)
    if (const Access a = try_lane(card, logs, core, sample.risc, sample); a != Access::ok) return a;
  if (votes_.empty()) next_count_ = next_count_ >= kLongestCount ? 43 : next_count_ + kCountsPerVisit;
  count_votes(card);
  return Access::ok;
}

}  // namespace ttc::collect
