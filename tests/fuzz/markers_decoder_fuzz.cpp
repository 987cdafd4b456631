// Any words as a lane's log: nothing crashes, no marker comes from outside, every path decodes the same, and what verifies decodes whole.
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <vector>

#include "firmware_markers/decoder.hpp"
#include "tests/support/decode_paths.hpp"

namespace {

using namespace ttc::markers;

void require(bool holds) {
  if (!holds) std::abort();
}

struct Judge {
  uint32_t choices;
  size_t end = 0;
  bool sat_out_ok(uint32_t host_id) const { return (choices >> (host_id & 7)) & 1; }
  bool take(const VerifiedFrame& frame) {
    require(frame.end == end + frame.words.size());
    if ((choices & 0x100) && frame.has_payload) return false;
    end = frame.end;
    return true;
  }
};

}  // namespace

// Byte 0: generation and RISC; byte 1: flat id; byte 2: the filter's answer; byte 3: whether a time is known,
// mode.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 16) return 0;
  constexpr const ttc::device::Format* kFormats[] = {&ttc::device::kG4, &ttc::device::kG3, &ttc::device::kG2,
                                                     &ttc::device::kG1, &ttc::device::kG1Narrow};
  const Lane lane{kFormats[(data[0] >> 4) % std::size(kFormats)],
                  static_cast<uint8_t>((data[0] & 0xf) % ttc::device::kMaxRiscs), data[1],
                  static_cast<ttc::device::Mode>((data[3] >> 4) % 3)};
  FrameDigest before;
  before.known = data[3] & 1;
  std::memcpy(&before.last_time, data + 4, 8);
  before.last_time &= kClockMask;
  std::memcpy(&before.host_id, data + 12, 4);
  std::vector<uint32_t> words((size - 16) / 4);
  if (!words.empty()) std::memcpy(words.data(), data + 16, words.size() * 4);
  // Random bytes hardly ever name a lane: an identity word that is all ones is replaced by the right one.
  for (uint32_t& word : words)
    if (word == 0xffffffff) word = lane.format->identity(lane.risc, lane.flat_id, 0);

  require(ttc::test::paths_that_differ(words, lane, before).empty());
  LaneDecoder decoder(lane);
  decoder.resume(before);
  Batch batch;
  decoder.decode(words, batch);
  uint64_t known = decoder.anomalies().unparsable_words;
  for (const Frame& frame : batch.frames()) {
    require(frame.first_word + ttc::device::kFirstCustomWord <= words.size());
    require(frame.first_marker + frame.marker_count <= batch.markers().size());
    known += ttc::device::kFirstCustomWord;
    for (const Marker& m : batch.markers(frame)) {
      require(m.time_cycles <= kClockMask);
      if (!(m.flags & kGuaranteed)) known += packet_words(static_cast<uint32_t>(m.type));
    }
  }
  require(known <= words.size());

  Judge judge{static_cast<uint32_t>(data[2]) | (data[3] & 2u) << 7};
  FrameDigest digest = before;
  const Walk walk = verify_frames(words, lane, {(data[3] & 4) != 0, before.last_time + 0x100000},
                                  (data[3] & 8) != 0, digest, judge);
  require(walk.whole_words == judge.end && walk.whole_words <= words.size());
  require(walk.clean == (walk.whole_words == words.size()));
  LaneDecoder again(lane);
  again.resume(before);
  Batch verified;
  again.decode(std::span(words).first(walk.whole_words), verified);
  require(verified.frames().size() == walk.frames);
  require(again.anomalies().unparsable_words == 0 && again.anomalies().truncated_packets == 0);

  for (size_t at = 0; at < words.size() && at < 256; at += 2) {
    FrameDigest d = before;
    const size_t length = recovered_frame(words, at, lane, {}, d);
    require(length == 0 || (length >= ttc::device::kFirstCustomWord && at + length <= words.size()));
  }
  return 0;
}
