// Frames that verified, one after the other: which may be taken, and what they show. No state changes before they are accepted. Pure.
#pragma once
#include <algorithm>
#include <boost/container/small_vector.hpp>
#include <cstdint>
#include <optional>
#include <span>

#include "firmware_markers/frame.hpp"

namespace ttc::collect {

class FrameJudge {
 public:
  // `landed_words`: of the words being verified, so many were announced long enough ago to be there.
  // `old_host`: what stood in the first frame's host id word before it was announced.
  // `ids_are_briscs`: of the lane's launches BRISC has a frame, too.
  FrameJudge(std::span<const uint32_t> known_hosts, bool patience_over, size_t landed_words,
             std::optional<uint32_t> old_host, bool ids_are_briscs)
      : known_hosts_(known_hosts),
        patience_over_(patience_over),
        landed_words_(landed_words),
        old_host_(old_host),
        ids_are_briscs_(ids_are_briscs) {}

  // Every RISC's frame of a launch carries BRISC's host id.
  bool sat_out_ok(uint32_t host_id) const { return patience_over_ || is_launch(host_id); }
  bool take(const markers::VerifiedFrame& frame) {
    if (first_end == 0) first_end = frame.end;
    // A packet of 6 words that overran another RISC's buffer has overwritten the host id as well as the sentinel.
    const bool overwritten =
        frame.words[device::kIdSentinelHigh] != 0 || frame.words[device::kIdSentinelLow] != 0;
    foreign_id = overwritten && ids_are_briscs_ && !is_launch(frame.words[device::kIdHost]);
    if (foreign_id) return false;
    const bool unproven = frame.has_payload || frame.sat_out;
    unproven_seen = unproven_seen || unproven;
    // An older frame of the lane may have stood at the same place: of the head, only the host id shows that.
    const bool head_landed = old_host_ && *old_host_ != frame.words[device::kIdHost];
    ids_repeat = ids_repeat || (old_host_ && !head_landed);
    old_host_.reset();
    if ((unproven || !head_landed) && frame.end > landed_words_) return false;
    hosts.push_back(frame.words[device::kIdHost]);
    if (frame.sat_out) return true;
    if (frame.words[device::kFwEndWord] != device::kUnsetWord)
      ++finished_runs;
    else
      pushed_early = true;
    if (!fresh_seen) first_fresh = frame.words;
    fresh_seen = true;
    return true;
  }

  // Of the frames taken: one a visit, mostly, which needs no heap.
  boost::container::small_vector<uint32_t, 4> hosts;
  uint32_t finished_runs = 0;
  size_t first_end = 0;  // of the first frame that verified, whether it was taken or not
  bool pushed_early = false;
  bool fresh_seen = false;
  bool unproven_seen = false;             // words without a time or a valid bit
  bool foreign_id = false;                // the frame that was not taken carries an id that no launch has
  bool ids_repeat = false;                // a launch has the id of the one that stood at its place before
  std::span<const uint32_t> first_fresh;  // in the words being verified

 private:
  bool is_launch(uint32_t host_id) const {
    return std::find(known_hosts_.rbegin(), known_hosts_.rend(), host_id) != known_hosts_.rend();
  }

  std::span<const uint32_t> known_hosts_;
  bool patience_over_;
  size_t landed_words_;
  std::optional<uint32_t> old_host_;
  bool ids_are_briscs_;
};

}  // namespace ttc::collect
