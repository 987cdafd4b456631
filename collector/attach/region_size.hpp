// Where the logs are in DRAM: two things that the card does not tell, measured together.
//
// Bytes per RISC region (P) are a compile-time define of the firmware and stored nowhere on the card
// (tt-metal profiler_common.h). They are measured: the end of a lane's L1 buffer, as the last run left it,
// stands in DRAM at the end of the lane's log, and where that is depends on P. A lane whose region is the
// first of its bank says nothing.
//
// Blackhole cards may number their memory channels in more than one way (driver_iface/card.hpp): the way is
// right under which the sample is found.
//
// Only words of the run that just finished are compared, so older logs in DRAM cannot vote. Where no log ends
// with the run that L1 holds (other modes, the first firmware, logs that are full) the fronts of the logs
// tell: the newest frame of the lane that begins where a region of a usual size would. Two lanes of different
// slots must agree before P is believed.
#pragma once
#include <array>
#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <vector>

#include "collector/attach/attach.hpp"
#include "collector/io/log_reader.hpp"
#include "driver_iface/expected.hpp"
#include "firmware_markers/control_vector.hpp"
#include "firmware_markers/frame.hpp"

namespace ttc::collect {

class RegionSize {
 public:
  using HostEnd = std::array<uint32_t, device::kMaxRiscs>;

  // `given`: the user's flag, 0 when P must be learnt.
  RegionSize(const Attachment& attachment, uint32_t given, unsigned numberings)
      : attachment_(attachment),
        given_(given),
        bytes_(given),
        numberings_(numberings),
        known_(given && numberings == 1) {}

  uint32_t bytes() const { return bytes_; }  // 0: not known yet
  bool known() const { return known_; }      // the bytes, and the numbering where there are several

  // Looks at one core whose indices moved. At most a few hundred round trips; call again on other visits.
  card::Access learn(card::Card& card, LogReader& logs, const AttachedCore& core, const HostEnd& host_end,
                     device::Mode mode);

 private:
  struct Sample;
  card::Access try_front(card::Card& card, LogReader& logs, const AttachedCore& core, uint32_t risc,
                         device::Mode mode, std::span<const uint32_t> sizes, uint32_t full_words);
  card::Expected<std::vector<Sample>> read_samples(card::Card& card, const AttachedCore& core,
                                                   const markers::ControlVector& before) const;
  card::Expected<markers::ControlVector> read_control(card::Card& card, const AttachedCore& core) const;
  static card::Expected<bool> holds_whole_log(LogReader& logs, const markers::LogPlace& place,
                                              const markers::Lane& lane, uint32_t log_words);
  card::Access try_fronts(card::Card& card, LogReader& logs, const AttachedCore& core,
                          const HostEnd& host_end, device::Mode mode, bool full);
  void count_votes(card::Card& card);
  bool says_nothing(const AttachedCore& core, uint32_t risc) const;
  card::Access try_lane(card::Card& card, LogReader& logs, const AttachedCore& core, uint32_t risc,
                        const Sample& sample);

  const Attachment& attachment_;
  struct Found {
    unsigned numbering;
    uint32_t bytes;
    auto operator<=>(const Found&) const = default;  // NOLINT(modernize-use-nullptr): of clang-tidy 14
  };

  uint32_t given_;
  uint32_t bytes_;
  unsigned numberings_;
  bool known_;
  std::map<Found, std::set<uint32_t>> votes_;  // -> lanes (flat id * 5 + RISC) that agree
  uint32_t next_count_ = 43;                   // program support counts tried so far in the long search
};

}  // namespace ttc::collect
