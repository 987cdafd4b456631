// The physical assumptions of the drain: each with its source, and with what is wrong where it does not hold. The README states
// them for users under "Known limits". None was verified on silicon.
//
// Without a number:
//   - Within an epoch a log only grows. After a host reset it is overwritten from word 0 on (tt-metal kernel_profiler.hpp:
//     HOST_BUFFER_END_INDEX is the place of the next push). Broken: an intact canary proves nothing; markers of two epochs mix.
//   - The host resets no core between its reads of an index and its store of it, some ten instructions at the end of a launch: tt-metal
//     reads results when none is under way. Broken: an index covers words that were not pushed there. Words of the epoch before may be
//     taken for this one's, and what they hide may be missing without an interval.
//   - A tile's wall clock only goes forward while the tile is not reset (tt-metal, RISCV_DEBUG_REG_WALL_CLOCK). Broken: later
//     markers are taken for bytes of before and counted as unparsable.
//   - RUN_COUNTER counts launches that were recorded, in normal mode, and only the host sets it back (kernel_profiler.hpp,
//     finish_profiler). Broken: launches are reported as missing that are not.
//   - The host resets all cores of a device in one results read (tt-metal profiler.cpp). Broken: a reset of one quiet core may be
//     noticed with its next frame only.
//   - Between two results reads in which an Ethernet core records a launch, some Tensix core records one, too. Broken: what the
//     Ethernet core recorded in between may be missing without an interval, where it had not been polled since the first of them.
//   - The per-RISC DRAM addresses are 0 until the host's first results read (profiler_common.h, G3 and later). Broken: an epoch
//     that passed before a lane's first frame is not reported.
#pragma once
#include <cstdint>

namespace ttc::collect::timing {

// A posted write is in DRAM so long after its index was raised. Firmware raises the index first and then waits until its writes
// were sent, not until they have landed (tt-metal kernel_profiler.hpp, finish_profiler); no source gives a bound, a NoC write
// takes about a microsecond. Broken: a frame with a time is read again, as it does not verify; payload, which has neither time nor
// valid bit, may be delivered as the words that were there before.
inline constexpr uint64_t kLandedNs = 45'000;

// The host has written a core's whole control vector so long after the first word of it that a poll read (one write of 128 or 256
// bytes over PCIe, tt-metal profiler.cpp), and what the reset caught under way has landed. Broken: an epoch begins from indices
// that are half old; the next poll detects another reset.
inline constexpr uint64_t kResetOverNs = kLandedNs + 25'000;

// A core does not regain the indices and the count of launches that it had within this time after a host reset: the host reads
// results for longer than that before it launches again. Two polls of a core that are no further apart than this deadline
// therefore notice every reset between them. Broken by a slow poll: it is counted (missed_poll_deadlines), and what may have passed
// is an interval. Broken by the card: what the reset took within this time of becoming visible may be missing without an interval.
inline constexpr uint64_t kPollDeadlineNs = 2'500'000;

// One results read resets all cores within this time: the host writes 128 or 256 bytes a core over PCIe (tt-metal profiler.cpp), some
// 5 us each for at most 140 cores. Broken: one results read counts as two, and lanes of Ethernet cores get an interval.
inline constexpr uint64_t kResultsReadSpreadNs = 700'000;

}  // namespace ttc::collect::timing
