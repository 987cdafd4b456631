// Numbers that a Tracy server is given for threads and plots, and the places of threads.
#pragma once
#include <cstdint>

#include "tools/viewers/host/rows.hpp"

namespace ttc::tools::tracy_ids {

// Threads: our own, lanes, rows of spans, threads of the host side, their rows.
inline constexpr uint32_t kOwnThread = 1, kFirstLane = 16, kFirstRowThread = 1u << 28,
                          kFirstHostThread = 1u << 29, kFirstHostRowThread = 3u << 28;
inline constexpr uint64_t kFirstPlot = 0x100, kFirstHostPlot = uint64_t{1} << 32;

// The host side comes before the chips: a thread, what it waited for, the next thread, then what is of a process.
inline constexpr int32_t kFirstHostRank = -(1 << 30), kHostThreadRanks = 1 + RowPacker::kMostRows,
                         kBehindHostThreads = kFirstHostRank + (1 << 29);

inline constexpr uint32_t kNoteColour = 0x9fc5e8, kMessageColour = 0xdddddd;

}  // namespace ttc::tools::tracy_ids
