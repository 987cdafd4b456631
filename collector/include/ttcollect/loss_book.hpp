// The whole account of a stream of chunks: the records in it, and what is missing between its chunks without
// one.
#pragma once
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "collector/loss/chunk_gaps.hpp"

namespace ttc::collect {

class LossBook {
 public:
  // `cause`: of what is missing without a record.
  explicit LossBook(shm::LossCause cause);
  LossBook(const LossBook&) = delete;
  LossBook& operator=(const LossBook&) = delete;

  void push(std::span<const uint64_t> chunk);
  // See ChunkGaps.
  void lost_beginning() { gaps_.lost_beginning(); }
  void broke_off() { gaps_.broke_off(); }
  // Nothing will come. Gaps that records cover are left out from now on.
  void finish();

  using Records = std::map<uint64_t, shm::LossRecord>;  // by interval
  // By session; those without a loss are there, too.
  const std::map<uint64_t, Records>& sessions() const { return sessions_; }
  // After finish(): those of `sessions()` that this book found by itself.
  const std::map<uint64_t, Records>& found() const { return found_; }
  const ChunkGaps& gaps() const { return gaps_; }

 private:
  std::map<uint64_t, Records> sessions_, found_;
  ChunkGaps gaps_;
};

// Every moment of `gap` lies in a record of its lane.
bool covers(const LossBook::Records& records, const shm::LossRecord& gap);

}  // namespace ttc::collect
