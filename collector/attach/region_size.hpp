// Finds where the logs are in DRAM: two things that the card does not report, measured together.
//
// Bytes per RISC region (P) are a compile-time define of the firmware and stored nowhere on the card
// (tt-metal profiler_common.h). They are measured: the end of a lane's L1 buffer, as the last run left it,
// is in DRAM at the end of the lane's log, and where that is depends on P. A lane whose region is the
// first of its bank is no evidence.
//
// Blackhole cards may number their memory channels in more than one way (driver_iface/card.hpp): the way is
// right under which the sample is found.
//
// Sizes are tried in this order: the size from the workload's environment (TT_METAL_PROFILER_PROGRAM_SUPPORT_COUNT), the usual
// ones, then every count of programs, from the smallest on. A hint needs the same evidence as any other size. Evidence
// for a size:
//   - of a core that runs: a frame of the lane is where its log would begin, and no earlier one ends there; one that was
//     recorded since attaching ends at its landed index;
//   - of a core that rests: the words at the end of its L1 buffer are at the end of its log. Only words of the run that just
//     finished are compared, so older logs in DRAM do not count. A launch of other cores only is in L1, and in no log: BRISC opens
//     it, firmware up to G3 publishes BRISC's index (tt-metal kernel_profiler.hpp), and no RISC has a kernel zone. Of a RISC without
//     one the log is examined as that of a core that runs, too;
//   - of a core that rests and whose log is full, or whose firmware is of 2025 or in another mode than normal: the newest frame of
//     the lane that begins where a log of a usual size would.
// Two lanes of different slots must agree before a size is used.
//
// While the mode is not known, frames of accumulating firmware show a size as well: right after a push L1 does not show the mode,
// and a card that rests then would be read with its next launch only.
//
// The long search is for normal mode alone. It examines one core at a time and tries at most 2 * kCountsPerPoll sizes with a poll.
// A size that was once compared with words known to be there is not tried again: so it ends after 77,000 sizes, however short
// the epochs are. Words are known to be there if the counters did not go back within kPollDeadlineNs of the poll before, or if the
// core still rests behind them, as its L1 shows. Else the same sizes are compared again, at most kComparisons times in a row.
#pragma once
#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "collector/attach/attach.hpp"
#include "collector/attach/core_reader.hpp"
#include "driver_iface/expected.hpp"
#include "firmware_markers/control_vector.hpp"
#include "firmware_markers/frame.hpp"

namespace ttc::collect {

class RegionSize {
 public:
  using HostEnd = std::array<uint32_t, device::kMaxRiscs>;

  // `given`: the user's flag, 0 when P must be learnt.
  // `hints`: sizes to try first.
  RegionSize(const Attachment& attachment, uint32_t given, unsigned numberings,
             std::vector<uint32_t> hints = {})
      : attachment_(attachment),
        hints_(std::move(hints)),
        given_(given),
        bytes_(given),
        numberings_(numberings),
        known_(given && numberings == 1) {}

  uint32_t bytes() const { return bytes_; }  // 0: not known yet
  bool searching() const { return search_.has_value() && !searched_all_; }
  bool known() const { return known_; }  // the bytes, and the numbering where there are several

  // Polls one core whose indices moved. At most a few hundred round trips; to be called again with other polls.
  struct Polled {
    HostEnd host_end;
    HostEnd landed_end;  // of the same epoch, long enough ago for the words in front of it to be there
    uint32_t run_counter;
    uint64_t read_ns;  // when these were read
    device::Mode mode;
    bool mode_known;  // if false, there is no search: frames of another mode are not recognised
    bool may_accumulate =
        false;  // the mode is not known, and frames of accumulating firmware are recognised, too
  };
  card::Access learn(const CoreReader& reader, const AttachedCore& core, const Polled& polled);

  // The sizes from the environment of the process that runs the workload. Empty if it has no size, or cannot be read.
  static std::vector<uint32_t> sizes_asked_for(int workload_pid);

 private:
  static constexpr uint32_t kSampleWords = 12;
  struct Sample {
    std::array<uint32_t, kSampleWords> words;
    uint32_t log_words;  // HOST_BUFFER_END_INDEX: where in the log the sample ends
    uint32_t risc;
    bool maybe_of_others = false;  // a launch of other cores, which is in no log
  };
  // The sizes that are compared with one sample, over many polls.
  struct Search {
    AttachedCore core;
    markers::Lane lane;
    std::optional<Sample> sample;  // of a core that rests
    uint32_t log_words;            // what is compared ends there
    uint32_t run_counter;          // when last read
    uint64_t read_ns;              // then
    uint64_t taken_ns;
    bool begun = false;
    uint32_t skipped = 0;  // polls of other cores since it went on
  };
  card::Access try_front(const CoreReader& reader, const AttachedCore& core, uint32_t risc, device::Mode mode,
                         std::span<const uint32_t> sizes, uint32_t full_words);
  card::Expected<std::vector<Sample>> read_samples(const CoreReader& reader, const AttachedCore& core,
                                                   const markers::ControlVector& before) const;
  static card::Expected<bool> holds_whole_log(const CoreReader& reader, const markers::LogPlace& place,
                                              const markers::Lane& lane, uint32_t log_words);
  card::Access try_fronts(const CoreReader& reader, const AttachedCore& core, const HostEnd& host_end,
                          device::Mode mode, bool full);
  void count_votes(const CoreReader& reader);
  bool says_nothing(const AttachedCore& core, uint32_t risc) const;
  card::Access try_sizes(const CoreReader& reader, const AttachedCore& core, const Sample& sample,
                         std::span<const uint32_t> sizes);
  std::vector<uint32_t> short_list() const;
  card::Access try_running(const CoreReader& reader, const AttachedCore& core, const markers::Lane& lane,
                           uint32_t landed, std::span<const uint32_t> sizes);
  card::Access try_lanes(const CoreReader& reader, const AttachedCore& core, const HostEnd& landed,
                         device::Mode mode);
  card::Access try_resting(const CoreReader& reader, const AttachedCore& core, const Polled& polled);
  static uint64_t ends_with_frame_of(std::span<const uint32_t> window, const markers::Lane& lane);
  card::Expected<bool> log_stands_at(const CoreReader& reader, const markers::LogPlace& place,
                                     const markers::Lane& lane, uint32_t landed) const;
  markers::Lane lane_of(const AttachedCore& core, uint32_t risc, device::Mode mode) const;
  void begin_search(const CoreReader& reader, const AttachedCore& core, const Polled& polled,
                    std::span<const Sample> samples);
  void search_running(const CoreReader& reader, const AttachedCore& core, const Polled& polled);
  card::Access go_on_searching(const CoreReader& reader);
  card::Access compare_next_counts(const CoreReader& reader, uint32_t first, uint32_t last);
  card::Expected<bool> words_were_there(const CoreReader& reader);

  const Attachment& attachment_;
  struct Found {
    unsigned numbering;
    uint32_t bytes;
    auto operator<=>(const Found&) const = default;  // NOLINT(modernize-use-nullptr): of clang-tidy 14
  };

  std::vector<uint32_t> hints_;
  uint32_t given_;
  uint32_t bytes_;
  unsigned numberings_;
  bool known_;
  std::map<Found, std::set<uint32_t>> votes_;  // -> lanes (flat id * 5 + RISC) that agree
  std::optional<Search> search_;
  uint32_t next_count_ = 43;   // counts of programs below are not the one
  unsigned unproven_ = 0;      // comparisons from there on whose words may not have been there, in a row
  bool left_out_ = false;      // some counts below are not known not to be the one
  bool searched_all_ = false;  // once, in vain
};

}  // namespace ttc::collect
