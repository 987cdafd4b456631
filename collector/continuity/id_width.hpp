// How many bits the id of a launch has in the words of G1 firmware: 32, or, until early 2025, 16 above a count of the core's
// launches (firmware_markers/device/format.hpp, kG1Narrow). No word holds the width; the frames of a log prove it.
//
// Firmware with 16-bit ids writes RUN_COUNTER into the low half. The host sets RUN_COUNTER to 0 with the indices, so that the
// n-th launch of a log carries n there, counted from 0. Exceptions: launch 0 may have begun before the reset and then carries
// an older count; a reset between the firmware's load and store of RUN_COUNTER shifts all counts of an epoch by one amount.
//
//   16 bits  two launches in a row carry their own numbers, under an id that is not 0. (tt-metal keeps the device's number in
//            the low 10 bits of 32-bit ids of 2025: there, launches on one core never differ by one.)
//   32 bits  of two launches behind launch 0 the counts do not differ by one; or a launch behind it has a word below 65536
//            that is not its own number.
//
// Everything else is no proof, for example a single launch.
#pragma once
#include <cstdint>
#include <span>

#include "firmware_markers/frame.hpp"

namespace ttc::collect {

enum class IdWidth : uint8_t { unproven, narrow, wide };

struct IdEvidence {
  IdWidth width = IdWidth::unproven;
  // Set without a proof: every launch in the log carries its own number under an id that is not 0.
  bool looks_narrow = false;
};

// `log`: landed words of BRISC's log from its front on, all of one epoch. `cut`: the log continues behind them.
IdEvidence id_width(std::span<const uint32_t> log, const markers::Lane& brisc, bool cut);

}  // namespace ttc::collect
