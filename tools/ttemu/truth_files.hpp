// The files of a run beside its truth, RUN.<what>.csv for RUN.csv, and the host's files.
#pragma once
#include <optional>

#include "tools/emulation/chip_player.hpp"
#include "tools/ttemu/options.hpp"

namespace ttc::emulation {

// RUN.csv -> RUN.<what>.csv
std::string file_beside(const std::string& truth, const char* what);

// All throw std::runtime_error where a file is not written whole.

// The true course of the tile clocks: from host_ns (CLOCK_MONOTONIC_RAW) on, counted from `cycles`, at `hz`.
void write_clock(const std::string& path, const std::vector<card::ClockPiece>& pieces);
// Transactions that debug delays held up, of all programs.
void write_delays(const std::string& path, const ChipPlayer::Delays& delays);
// Zones that the streaming profiler recorded, in the order of their ends.
void write_streamed(const std::string& path, const std::vector<ChipPlayer::StreamedZone>& zones);

// The files that a --workload writes while it runs.
struct ChipFiles {
  std::optional<chip::PathFile> path;
  std::optional<chip::OutputFile> output;
  std::optional<chip::HostFiles> host;
  ChipOutputs outputs() {
    return {path ? &*path : nullptr, host ? &*host : nullptr, output ? &*output : nullptr};
  }
  void close();
};
// Throws program::UsageError where options of the host's files go without what they need.
void open_chip_files(const Options& options, const card::EmulatedCard& card, ChipFiles& files);

}  // namespace ttc::emulation
