// Ordinary frames by wide vectors. An ordinary frame has no special case: its four slots are set and in order, it is
// of another launch than the one before, and behind them come starts and ends of zones in order of time, single data packets among them, up to
// the next frame or the end of the words. Nearly all frames are ordinary.
//
// 32 packets are converted at once, whatever they are; a mask of those that are no ordinary zone gives the first that is not, and with it
// the place where the frame ends. So there is no branch on the number of zones, which no processor foresees. What is
// written behind the end is overwritten by the next frame. A frame that is not ordinary is left to LaneDecoder as a whole, so that there is one
// set of rules for all that is odd.
//
// Each variant is compiled for its instructions and called where the processor has them; tests compare all of them with the portable one.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

#include "firmware_markers/decoder.hpp"

namespace ttc::markers {

// The state of a Batch behind the frames that are in it, and of its lane.
struct OrdinaryFrames {
  const Lane& lane;
  FrameDigest& previous;
  Marker* markers;
  Frame* frames;
  uint64_t* payloads;
  uint32_t marker_count, frame_count, payload_count;
  uint64_t overrun_frames = 0;  // longer than the L1 buffer
};

// Markers that may be written behind those that count.
inline constexpr size_t kMarkersBeyond = 40;

// Takes ordinary frames from words[at] on; behind the last one that it took. Null: not for this processor, or compiled without it.
using TakeOrdinary = size_t (*)(std::span<const uint32_t> words, size_t at, OrdinaryFrames& out);
TakeOrdinary take_ordinary(DecodePath path);

}  // namespace ttc::markers
