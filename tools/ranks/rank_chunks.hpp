// Chunks of one rank's capture as chunks of a job: chips have numbers that are unique in the job, all host times are the common time, and
// bounds of device times have the bound of the host's clock added. Pure.
#pragma once
#include <cstdint>
#include <vector>

#include "tools/ranks/rank_captures.hpp"

namespace ttc::tools {

class RankChunks {
 public:
  // `renumber`: false: chips keep their numbers.
  explicit RankChunks(RankCapture capture, bool renumber = true)
      : of_(std::move(capture)), renumber_(renumber) {}

  // A chunk that check_chunk() found sound; it stays sound.
  void move(std::vector<uint64_t>& chunk) const;

 private:
  uint64_t common(uint64_t raw_ns) const;
  void move_session(std::vector<uint64_t>& chunk) const;
  void move_clock(std::vector<uint64_t>& chunk) const;
  void move_telemetry(std::vector<uint64_t>& chunk) const;
  void move_host(std::vector<uint64_t>& chunk) const;

  const RankCapture of_;
  const bool renumber_;
};

}  // namespace ttc::tools
