#include "collector/attach/region_size.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <utility>
#include <vector>

#include "collector/continuity/timing.hpp"
#include "collector/host/process_environment.hpp"

namespace ttc::collect {
namespace {

using card::Access;
using card::Expected;
using card::failed;

// tt-metal profiler_common.h: the defaults with and without sums, halves for debug dump.
constexpr std::array<uint32_t, 4> kUsual = {48000, 64000, 24000, 32000};
// tt-metal profiler_common.h: a log holds so many programs of 48 bytes, or of 64 with sums; fewer are raised.
constexpr uint32_t kLeastCount = 43, kMostCount = 43'690;
constexpr uint32_t kBytesOfProgram = 48, kBytesWithSums = 64;
constexpr uint32_t kCountsPerPoll = 128;                         // at most twice as many sizes
constexpr uint64_t kSurelyLandedNs = 100'000;                    // posted writes land within 45 us
constexpr uint32_t kTailWords = 2 * (device::kBufferWords + 4);  // hold the last frame of a log
constexpr unsigned kComparisons = 4;   // of the same sizes: words that were not there prove nothing
constexpr uint32_t kSearchRests = 64;  // polls of other cores, after which one of them may search

struct TakeAll {
  static bool sat_out_ok(uint32_t) { return true; }
  static bool take(const markers::VerifiedFrame&) { return true; }
};

}  // namespace

std::vector<uint32_t> RegionSize::sizes_asked_for(int workload_pid) {
  const auto environment = workload_pid > 0 ? environment_of(workload_pid) : std::nullopt;
  if (!environment) return {};
  const std::string text = value_in(*environment, "TT_METAL_PROFILER_PROGRAM_SUPPORT_COUNT");
  const unsigned long count = std::strtoul(text.c_str(), nullptr, 10);
  if (count == 0 || count > kMostCount) return {};
  const uint32_t programs = std::max(static_cast<uint32_t>(count), kLeastCount);
  return {kBytesOfProgram * programs, kBytesWithSums * programs};
}

// The first region of a bank has the same place whatever P is.
bool RegionSize::says_nothing(const AttachedCore& core, uint32_t risc) const {
  return !given_ && core.flat_id % attachment_.core_count_per_dram == 0 && risc == 0;
}

// What is worth comparing with any sample.
std::vector<uint32_t> RegionSize::short_list() const {
  if (given_) return {given_};
  std::vector<uint32_t> sizes;
  for (const auto& [found, lanes] : votes_) sizes.push_back(found.bytes);
  sizes.insert(sizes.end(), hints_.begin(), hints_.end());
  sizes.insert(sizes.end(), kUsual.begin(), kUsual.end());
  return sizes;
}

// Each under every numbering.
Access RegionSize::try_sizes(const CoreReader& reader, const AttachedCore& core, const Sample& sample,
                             std::span<const uint32_t> sizes) {
  if (says_nothing(core, sample.risc)) return Access::ok;
  for (const uint32_t bytes : sizes) {
    if (uint64_t{sample.log_words} * 4 > bytes) continue;
    const auto place = markers::log_place(core.flat_id, sample.risc, attachment_.core_count_per_dram,
                                          attachment_.dram_base, bytes);
    for (unsigned way = 0; way < numberings_; ++way) {
      if (numberings_ > 1) reader.use_memory_numbering(way);
      std::array<uint64_t, kSampleWords / 2> raw;
      const LogRead read{place.bank, place.address + 4ull * (sample.log_words - kSampleWords), raw};
      if (const Access a = reader.memory(read); a != Access::ok) return a;
      const auto* found = reinterpret_cast<const uint32_t*>(raw.data());
      if (!std::equal(sample.words.begin(), sample.words.end(), found)) continue;
      votes_[{way, bytes}].insert(core.flat_id * device::kMaxRiscs + sample.risc);
      return Access::ok;
    }
  }
  return Access::ok;
}

markers::Lane RegionSize::lane_of(const AttachedCore& core, uint32_t risc, device::Mode mode) const {
  return {&attachment_.layout->format, static_cast<uint8_t>(risc), core.flat_id, mode};
}

// The last frame of the lane in `window` that reaches to the window's end: when it was recorded, 0: there is none.
uint64_t RegionSize::ends_with_frame_of(std::span<const uint32_t> window, const markers::Lane& lane) {
  if (window.size() < device::kFirstCustomWord) return 0;
  for (size_t at = window.size() - device::kFirstCustomWord; at < window.size(); at -= 2) {  // until it wraps
    if (!markers::frame_starts(window, at, lane)) continue;
    markers::FrameDigest digest;
    if (markers::verify_frames(window.subspan(at), lane, {}, false, digest, TakeAll{}).clean)
      return digest.last_time;
  }
  return 0;
}

// The log begins with a frame of the lane, and ends with one that was recorded since attaching: a log of an earlier session, in
// which a frame may end at the same word, has none. A log that has grown behind `landed` meanwhile would show both at a place
// some frames behind its begin: there an earlier frame of the lane ends.
Expected<bool> RegionSize::log_stands_at(const CoreReader& reader, const markers::LogPlace& place,
                                         const markers::Lane& lane, uint32_t landed) const {
  std::array<uint64_t, 8> head;
  const LogRead front{place.bank, place.address, head};
  if (const Access a = reader.memory(front); a != Access::ok) return failed(a);
  const std::span<const uint32_t> first(reinterpret_cast<const uint32_t*>(head.data()), 16);
  if (!markers::frame_starts(first, 0, lane)) return false;
  const auto ends_at = [&](uint64_t address, uint32_t words) -> Expected<uint64_t> {
    std::vector<uint64_t> raw(words / 2);
    const LogRead tail{place.bank, address - 4ull * words, raw};
    if (const Access a = reader.memory(tail); a != Access::ok) return failed(a);
    return ends_with_frame_of({reinterpret_cast<const uint32_t*>(raw.data()), words}, lane);
  };
  const Expected<uint64_t> last = ends_at(place.address + 4ull * landed, std::min(landed, kTailWords) & ~1u);
  if (!last) return failed(last.error());
  if (*last == 0 || markers::clock_difference(*last, attachment_.begun_cycles) <= 0) return false;
  const uint64_t before = place.address - attachment_.dram_base;
  const Expected<uint64_t> earlier =
      ends_at(place.address, static_cast<uint32_t>(std::min<uint64_t>(before / 4, kTailWords)) & ~1u);
  if (!earlier) return failed(earlier.error());
  return *earlier == 0 || markers::clock_difference(markers::first_time(first, *earlier), *earlier) <= 0;
}

// The sizes under which a running core's log is where it would be: the first one votes.
Access RegionSize::try_running(const CoreReader& reader, const AttachedCore& core, const markers::Lane& lane,
                               uint32_t landed, std::span<const uint32_t> sizes) {
  if (says_nothing(core, lane.risc) || landed < device::kFirstCustomWord) return Access::ok;
  for (const uint32_t bytes : sizes) {
    if (uint64_t{landed} * 4 > bytes) continue;
    const auto place = markers::log_place(core.flat_id, lane.risc, attachment_.core_count_per_dram,
                                          attachment_.dram_base, bytes);
    for (unsigned way = 0; way < numberings_; ++way) {
      if (numberings_ > 1) reader.use_memory_numbering(way);
      const Expected<bool> stands = log_stands_at(reader, place, lane, landed);
      if (!stands) return stands.error();
      if (!*stands) continue;
      votes_[{way, bytes}].insert(core.flat_id * device::kMaxRiscs + lane.risc);
      return Access::ok;
    }
  }
  return Access::ok;
}

// Chooses the sample furthest behind in its log, which is overwritten last, of those that a log has for certain.
void RegionSize::begin_search(const CoreReader& reader, const AttachedCore& core, const Polled& polled,
                              std::span<const Sample> samples) {
  const Sample* best = nullptr;
  const auto better = [](const Sample& a, const Sample& b) {
    return std::pair(!a.maybe_of_others, a.log_words) > std::pair(!b.maybe_of_others, b.log_words);
  };
  for (const Sample& sample : samples)
    if (!says_nothing(core, sample.risc) && (!best || better(sample, *best))) best = &sample;
  if (best)
    search_ = Search{core,
                     lane_of(core, best->risc, polled.mode),
                     *best,
                     best->log_words,
                     polled.run_counter,
                     polled.read_ns,
                     reader.now_ns()};
}

// Examines a core that is running: the words that have landed until now.
void RegionSize::search_running(const CoreReader& reader, const AttachedCore& core, const Polled& polled) {
  for (uint32_t r = 0; r < device::kMaxRiscs && !search_; ++r)
    if (!says_nothing(core, r) && polled.landed_end[r] >= device::kFirstCustomWord)
      search_ = Search{core,
                       lane_of(core, r, polled.mode),
                       {},
                       polled.landed_end[r],
                       polled.run_counter,
                       polled.read_ns,
                       reader.now_ns()};
}

Access RegionSize::go_on_searching(const CoreReader& reader) {
  Search& search = *search_;
  search.skipped = 0;
  if (reader.now_ns() - search.taken_ns < kSurelyLandedNs) return Access::ok;
  // Below, the log would have no room for what it holds.
  const uint32_t least = search.log_words * 4 / kBytesWithSums;
  const uint32_t first = std::max(next_count_, least),
                 last = std::min(first + kCountsPerPoll, kMostCount + 1);
  if (const Access a = compare_next_counts(reader, first, last); a != Access::ok) return a;
  const Expected<bool> there = words_were_there(reader);
  if (!there) return there.error();
  if (!*there || !votes_.empty()) search_.reset();
  if (!*there && ++unproven_ < kComparisons) return Access::ok;
  left_out_ = left_out_ || !*there;
  unproven_ = 0;
  const bool all = last > kMostCount;
  searched_all_ = searched_all_ || (all && votes_.empty() && !left_out_);
  left_out_ = left_out_ && !all;
  next_count_ = all ? kLeastCount : last;
  return Access::ok;
}

Access RegionSize::compare_next_counts(const CoreReader& reader, uint32_t first, uint32_t last) {
  Search& search = *search_;
  std::vector<uint32_t> sizes;  // what was tried when the sample was taken may not have landed then
  if (!std::exchange(search.begun, true)) sizes = short_list();
  for (uint32_t n = first; n < last; ++n) {
    sizes.push_back(kBytesOfProgram * n);
    if (n % 3 != 0 || n / 3 * 4 > kMostCount)  // others are a count of programs of 48 bytes, too
      sizes.push_back(kBytesWithSums * n);
  }
  if (search.sample)
    if (const Access a = try_sizes(reader, search.core, *search.sample, sizes); a != Access::ok) return a;
  if (search.sample && !search.sample->maybe_of_others) return Access::ok;
  return try_running(reader, search.core, search.lane, search.log_words, sizes);
}

// Did the words that are looked for stand in their log throughout the comparison? Where the core was polled in time, counters that
// did not go back show it. Else a reset may have passed, behind which the core ran again; but L1 that holds the last run as it was
// shows that no other came.
Expected<bool> RegionSize::words_were_there(const CoreReader& reader) {
  Search& search = *search_;
  const uint64_t before_ns = reader.now_ns();
  const Expected<markers::ControlVector> now = reader.vector(search.core);
  if (!now) return failed(now.error());
  const uint32_t risc = search.lane.risc;
  const bool not_back = now->run_counter >= search.run_counter && now->host_end[risc] >= search.log_words;
  const bool in_time = reader.now_ns() - search.read_ns <= timing::kPollDeadlineNs;
  const bool same = now->run_counter == search.run_counter && now->host_end[risc] == search.log_words;
  search.run_counter = now->run_counter;
  search.read_ns = before_ns;
  if (!not_back || in_time) return not_back;
  if (!same || !search.sample) return false;
  const Expected<std::vector<Sample>> samples = read_samples(reader, search.core, *now);
  if (!samples) return failed(samples.error());
  return std::any_of(samples->begin(), samples->end(), [&](const Sample& sample) {
    return sample.risc == risc && sample.words == search.sample->words;
  });
}

// Frames from the front to the end of a full log, without a gap: a region that is a little longer or
// shorter than the lane's begins in the middle of it, and continues into another's.
Expected<bool> RegionSize::holds_whole_log(const CoreReader& reader, const markers::LogPlace& place,
                                           const markers::Lane& lane, uint32_t log_words) {
  std::vector<uint64_t> raw((log_words + 1) / 2);
  const LogRead read{place.bank, place.address, raw};
  if (const Access a = reader.memory(read); a != Access::ok) return failed(a);
  markers::FrameDigest digest;
  const std::span<const uint32_t> words(reinterpret_cast<const uint32_t*>(raw.data()), log_words);
  return markers::verify_frames(words, lane, {}, false, digest, TakeAll{}).clean;
}

// Used in modes in which L1 and DRAM never hold the same frame at one time: the log begins with a frame of its lane.
// Logs of other builds may be elsewhere, so the newest frame counts.
Access RegionSize::try_front(const CoreReader& reader, const AttachedCore& core, uint32_t risc,
                             device::Mode mode, std::span<const uint32_t> sizes, uint32_t full_words) {
  if (says_nothing(core, risc)) return Access::ok;
  const markers::Lane lane{&attachment_.layout->format, static_cast<uint8_t>(risc), core.flat_id, mode};
  uint64_t newest = 0;
  Found best{0, 0};
  for (unsigned way = 0; way < numberings_; ++way) {
    if (numberings_ > 1) reader.use_memory_numbering(way);
    for (const uint32_t bytes : sizes) {
      const auto place = markers::log_place(core.flat_id, risc, attachment_.core_count_per_dram,
                                            attachment_.dram_base, bytes);
      std::array<uint64_t, 8> raw;
      const LogRead read{place.bank, place.address, raw};
      if (const Access a = reader.memory(read); a != Access::ok) return a;
      const std::span<const uint32_t> words(reinterpret_cast<const uint32_t*>(raw.data()), 16);
      if (!markers::frame_starts(words, 0, lane)) continue;
      if (full_words != 0) {
        const Expected<bool> whole = holds_whole_log(reader, place, lane, full_words);
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

Access RegionSize::try_fronts(const CoreReader& reader, const AttachedCore& core, const HostEnd& host_end,
                              device::Mode mode, bool full) {
  std::vector<uint32_t> sizes = short_list();
  if (full) {  // then a frame that was dropped, at most a buffer, reaches over its end
    const uint32_t least = 4 * *std::max_element(host_end.begin(), host_end.end());
    for (uint32_t bytes = least; bytes <= least + 4 * (device::kBufferWords + 4); ++bytes)
      if (bytes % 48 == 0 || bytes % 64 == 0) sizes.push_back(bytes);
  }
  if (given_) sizes = {given_};
  std::sort(sizes.begin(), sizes.end());
  sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
  for (uint32_t r = 0; r < device::kMaxRiscs; ++r)
    if (host_end[r] >= device::kFirstCustomWord)
      if (const Access a = try_front(reader, core, r, mode, sizes, full ? host_end[r] : 0); a != Access::ok)
        return a;
  count_votes(reader);
  return Access::ok;
}

void RegionSize::count_votes(const CoreReader& reader) {
  for (const auto& [found, lanes] : votes_) {
    if (lanes.size() < 2) continue;
    bytes_ = found.bytes;
    known_ = true;
    if (numberings_ > 1) reader.use_memory_numbering(found.numbering);
  }
}

// The ends of the L1 buffers as the last run left them, of the RISCs whose words can be a proof.
Expected<std::vector<RegionSize::Sample>> RegionSize::read_samples(
    const CoreReader& reader, const AttachedCore& core, const markers::ControlVector& before) const {
  std::vector<Sample> samples;
  for (uint32_t r = 0; r < device::kMaxRiscs; ++r) {
    const uint32_t end = before.device_end[r];
    if (end < kSampleWords || end > device::kBufferWords || before.host_end[r] < end) continue;
    const uint32_t begin = core.buffer_address + 4 * r * device::kBufferWords;
    std::array<uint64_t, 1> kernel_start;
    if (const Access a = reader.l1(core, begin + 4 * device::kKernelStartWord, kernel_start); a != Access::ok)
      return failed(a);
    std::array<uint64_t, kSampleWords / 2> buffer;
    if (const Access a = reader.l1(core, begin + 4 * (end - kSampleWords), buffer); a != Access::ok)
      return failed(a);
    Sample sample{{}, before.host_end[r], r, static_cast<uint32_t>(kernel_start[0]) == device::kUnsetWord};
    std::copy_n(reinterpret_cast<const uint32_t*>(buffer.data()), kSampleWords, sample.words.begin());
    // Low words are times or payload; unset slots and zeros are the same everywhere and prove no size.
    bool usable = false;
    for (uint32_t w = 1; w < kSampleWords; w += 2)
      usable = usable || (sample.words[w] != 0 && sample.words[w] != device::kUnsetWord);
    if (usable) samples.push_back(sample);
  }
  return samples;
}

// Examines a core at rest: L1 holds the run that its log ends with.
Access RegionSize::try_resting(const CoreReader& reader, const AttachedCore& core, const Polled& polled) {
  // The first firmware of the line clears DEVICE_END after a push.
  const bool cleared =
      attachment_.layout->format.generation <= 1 || attachment_.layout->format.generation == 16;
  if (polled.mode != device::Mode::normal || cleared)
    return try_fronts(reader, core, polled.host_end, polled.mode, false);
  const Expected<markers::ControlVector> before = reader.vector(core);
  if (!before) return before.error();
  // Full logs: L1 holds runs that are in none.
  if (before->dropped != 0) return try_fronts(reader, core, polled.host_end, polled.mode, true);
  if (before->done != 1 || before->run_counter == 0)
    return Access::ok;  // a run is in flight: its words may change meanwhile
  const Expected<std::vector<Sample>> samples = read_samples(reader, core, *before);
  if (!samples) return samples.error();
  const Expected<markers::ControlVector> after = reader.vector(core);
  if (!after) return after.error();
  if (after->run_counter != before->run_counter || after->done != 1) return Access::ok;
  const std::vector<uint32_t> sizes = short_list();
  for (const Sample& sample : *samples)
    if (const Access a = try_sizes(reader, core, sample, sizes); a != Access::ok) return a;
  count_votes(reader);
  if (votes_.empty() && !given_ && polled.mode_known) begin_search(reader, core, polled, *samples);
  return Access::ok;
}

Access RegionSize::try_lanes(const CoreReader& reader, const AttachedCore& core, const HostEnd& landed,
                             device::Mode mode) {
  const std::vector<uint32_t> sizes = short_list();
  for (uint32_t r = 0; r < device::kMaxRiscs; ++r)
    if (const Access a = try_running(reader, core, lane_of(core, r, mode), landed[r], sizes); a != Access::ok)
      return a;
  count_votes(reader);
  return Access::ok;
}

Access RegionSize::learn(const CoreReader& reader, const AttachedCore& core, const Polled& polled) {
  if (known()) return Access::ok;
  if (search_ && search_->lane.mode != polled.mode) search_.reset();
  if (search_ && search_->core.flat_id == core.flat_id) return go_on_searching(reader);
  if (search_ && ++search_->skipped > kSearchRests) search_.reset();  // that core has no news any more
  if (search_) return Access::ok;
  if (const Access a = try_lanes(reader, core, polled.landed_end, polled.mode); a != Access::ok) return a;
  if (!known() && !polled.mode_known && polled.may_accumulate)
    if (const Access a = try_lanes(reader, core, polled.landed_end, device::Mode::accumulate);
        a != Access::ok)
      return a;
  if (known()) return Access::ok;
  if (const Access a = try_resting(reader, core, polled); a != Access::ok) return a;
  const bool may_search = polled.mode_known && polled.mode == device::Mode::normal;
  if (!known() && votes_.empty() && !given_ && !search_ && may_search) search_running(reader, core, polled);
  return Access::ok;
}

}  // namespace ttc::collect
