// Consecutive chunks of device words that one thread decodes, one after another: chunks of a live card are small, and to hand each of them from
// thread to thread would cost as much as to decode it. Memory is used again from batch to batch.
#pragma once
#include <memory>
#include <utility>
#include <vector>

#include "tools/pipeline/decoded_chunk.hpp"
#include "ttcollect/workers.hpp"

namespace ttc::tools {

class DecodedBatch : public jobs::Workers::Job {
 public:
  // `work`: what its frames are given to (Format::frame_work()); null: nothing.
  explicit DecodedBatch(std::unique_ptr<FrameWork> work) : work_(std::move(work)) {}

  // Returns the memory of a chunk of an earlier batch.
  std::vector<uint64_t> add(std::vector<uint64_t> chunk, const DecodedChunk::Rules& rules) {
    words_ += chunk.size();
    if (used_ == chunks_.size()) chunks_.push_back(std::make_unique<DecodedChunk>());
    return chunks_[used_++]->take(std::move(chunk), rules);
  }
  size_t words() const { return words_; }
  size_t size() const { return used_; }
  // Behind the job's end.
  DecodedChunk& operator[](size_t i) { return *chunks_[i]; }
  const FrameWork* work() const { return work_.get(); }
  void clear() { used_ = words_ = 0; }

 private:
  void run() override {
    if (work_) work_->begin();
    uint32_t worked = 0;
    for (size_t i = 0; i < used_; ++i) chunks_[i]->run(seen_, work_.get(), worked);
  }

  std::vector<std::unique_ptr<DecodedChunk>> chunks_;  // those behind `used_` are kept for their memory
  size_t used_ = 0, words_ = 0;
  DecodedChunk::Seen seen_;
  const std::unique_ptr<FrameWork> work_;
};

}  // namespace ttc::tools
