// What a capture did not keep, lane by lane: exactly which words, and between which times they lie. Blocks
// that follow each other make one interval that grows; beyond that LossMerge bounds their number. What was no
// device words in them is handed back, to be kept elsewhere. Any thread's.
#pragma once
#include <cstdint>
#include <map>
#include <mutex>
#include <span>
#include <tuple>
#include <vector>

#include "collector/capture/block_codec.hpp"
#include "collector/loss/loss_merge.hpp"

namespace ttc::collect {

class DroppedBlocks {
 public:
  static constexpr uint64_t kFirstId = uint64_t{1} << 49;  // apart from those of collectors and of gaps

  // These chunks are not kept, because of `cause`.
  void drop(const ChunkBatch& chunks, shm::LossCause cause);
  // An interval that another component found, or one of theirs that has grown.
  void add(uint64_t session, const shm::LossRecord& record);

  // What is new since the last call, as chunks to be written: records of losses, facts of dropped blocks.
  ChunkBatch take();

  uint64_t dropped_bytes() const;  // of chunks of device words
  uint64_t dropped_chunks() const;
  std::vector<shm::LossRecord> records(uint64_t session) const;

 private:
  using LaneKey = std::tuple<uint64_t, uint8_t, uint8_t, uint8_t>;  // session, x, y, RISC
  struct Entry {
    uint64_t session = 0;
    shm::LossRecord record;
    bool reported = false;
  };

  void changed(size_t entry);
  void drop_span(const shm::ChunkHeader& h, const shm::SpanEntry& span, std::span<const uint32_t> words,
                 shm::LossCause cause);

  mutable std::mutex mutex_;
  std::vector<Entry> entries_;
  std::map<LaneKey, size_t> latest_;                           // of each lane: its last interval
  std::map<std::pair<uint64_t, uint64_t>, size_t> of_others_;  // by session and id
  LossMerge merge_;
  std::vector<size_t> unreported_;
  ChunkBatch facts_;
  uint64_t dropped_bytes_ = 0, dropped_chunks_ = 0;
};

// A loss record as a chunk for a file; like those of the standing area it counts in no sequence.
void add_loss_chunk(ChunkBatch& to, uint64_t session, const shm::LossRecord& record);
void add_loss_totals_chunk(ChunkBatch& to, uint64_t session, std::span<const shm::LossTotal> totals);

}  // namespace ttc::collect
