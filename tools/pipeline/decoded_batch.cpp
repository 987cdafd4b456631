#include "tools/pipeline/decoded_batch.hpp"

#include <algorithm>
#include <utility>

namespace ttc::tools {

void DecodedBatch::add(std::span<const uint64_t> words, const DecodedChunk::Rules& rules,
                       std::shared_ptr<const void> memory) {
  const shm::ChunkHeader& h = shm::header_of(words);
  if (!memory) words_.insert(words_.end(), words.begin(), words.end());
  chunks_.push_back({h, words, std::move(memory), words_.size() - std::min(words_.size(), words.size()),
                     words.size(), rules, group_of(rules, static_cast<device::Mode>(h.firmware_mode))});
  count_ += words.size();
}

size_t DecodedBatch::group_of(const DecodedChunk::Rules& rules, device::Mode mode) {
  for (size_t i = 0; i < groups_used_; ++i)
    if (groups_[i].names == rules.names && groups_[i].mode == mode) return i;
  if (groups_used_ == groups_.size()) groups_.emplace_back();
  Group& fresh = groups_[groups_used_];
  fresh.names = rules.names, fresh.mode = mode, fresh.first_chunk = chunks_.size();
  fresh.ids.clear();
  fresh.without_bound = 0, fresh.has_words = false;
  return groups_used_++;
}

void DecodedBatch::run() {
  Scratch& own = scratch_[done_by()];
  anomalies_ = {};
  alone_.clear();
  ends_.assign(1, {});
  if (work_) work_->begin(done_by());
  DecodedChunk::Work work{work_.get()};
  const Group* seen_of = nullptr;
  for (const Chunk& chunk : chunks()) {
    Group& group = groups_[chunk.group];
    if (std::exchange(seen_of, &group) != &group) {
      own.seen.begin(group.ids);
      work.semantics = &own.semantics.try_emplace(group.names, *group.names, date_).first->second;
    }
    own.chunk->view(words_of(chunk), chunk.rules);
    own.chunk->run(group.ids, own.seen, work);
    ends_.push_back(ends_.back());
    if (!keep_all_ && own.chunk->all_alone() && own.chunk->complaint().empty())
      list(*own.chunk, group);
    else
      keep(own.chunk);
  }
}

// Leaves other memory in the thread's.
void DecodedBatch::keep(std::unique_ptr<DecodedChunk>& decoded) {
  const uint32_t place = ends_.back().kept++;
  if (place == kept_.size()) kept_.push_back(std::make_unique<DecodedChunk>());
  std::swap(kept_[place], decoded);
}

void DecodedBatch::list(DecodedChunk& decoded, Group& group) {
  decoded.each_picked([this](const DecodedChunk::Frame& frame) {
    alone_.push_back({frame.decoded.host_id, static_cast<uint32_t>(frame.markers.size()), frame.work_frame,
                      frame.decoded.trace_counter, frame.main_zone, frame.decoded.risc, frame.alone});
  });
  ends_.back().alone = static_cast<uint32_t>(alone_.size());
  group.without_bound += decoded.without_bound();
  group.has_words |= decoded.has_words();
  anomalies_.add(decoded.anomalies());
}

DecodedBatch::Result DecodedBatch::result(size_t chunk) {
  const Ends &from = ends_[chunk], &to = ends_[chunk + 1];
  if (to.kept != from.kept) return {kept_[from.kept].get()};
  return {nullptr, std::span(alone_).subspan(from.alone, to.alone - from.alone)};
}

}  // namespace ttc::tools
