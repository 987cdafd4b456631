// Losses in the form of a device CSV, for a file beside it: process_device_log, tt-perf-report and
// ttnn-visualizer read profile_log_device.csv by position, refuse ragged rows and support no comments (tt-metal
// impl/profiler/profiler.cpp, ttnn-visualizer), so losses cannot be put into it. None of them reads
// other files of such a name.
//
// First line as in the device CSV; then columns joined by ", ", rows by ",". A marker of the lane may be
// missing when from < its time < to; an empty `to` means that the interval is open until the end. Words where
// the precision is exact, launches (at most) where it is bounded, else both are empty.
#pragma once
#include <set>
#include <span>
#include <string>
#include <tuple>

#include "tools/pipeline/format.hpp"

namespace ttc::tools {

class LossCsv {
 public:
  void begin(const Session& session);
  // `device` of each is the number of its chip. The table without rows where there are none.
  std::string text(std::span<const shm::LossRecord> losses) const;

 private:
  std::string head_;
  std::set<uint32_t> reported_cores_;                        // chips whose cores are known
  std::set<std::tuple<uint32_t, uint8_t, uint8_t>> tensix_;  // chip, x, y
};

// run.csv, run.csv.gz -> run.losses.csv, whether the file is there or still to be made. Empty for outputs without a table beside
// them: standard output, pipes, devices.
std::string path_beside(const std::string& output);

}  // namespace ttc::tools
