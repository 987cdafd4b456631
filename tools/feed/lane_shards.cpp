#include "tools/feed/lane_shards.hpp"

#include <algorithm>
#include <utility>

namespace ttc::tools {

using shm::ChunkKind;

LaneShards::LaneShards(jobs::Workers& workers, const MakePipeline& make_pipeline, const MakeSide& make_side,
                       Pipeline& main, Format& format)
    : workers_(workers), main_(main), format_(format) {
  for (size_t i = 0; i < workers.threads() * kShardsAThread; ++i) {
    auto shard = std::make_unique<Shard>();
    shard->pipeline = make_pipeline();
    shard->side = make_side();
    shards_.push_back(std::move(shard));
  }
}

LaneShards::~LaneShards() {
  workers_.forget_all();
}

void LaneShards::lost_beginning() {
  if (!std::exchange(beginning_lost_, true)) order_.push_back({nullptr, {}});
}

void LaneShards::push(shm::KeptChunk& chunk) {
  const ChunkKind kind = shm::header_of(chunk.words).kind;
  if (kind == ChunkKind::session || kind == ChunkKind::names) return push_to_all(chunk.words);
  if (kind == ChunkKind::device_words) {
    push_words(chunk);
  } else {
    waiting_bytes_ += chunk.words.size_bytes();
    order_.push_back({nullptr, {chunk.words.begin(), chunk.words.end()}});
    while (waiting_bytes_ > kMostWaiting) commit_oldest();
  }
  commit_ready();
}

void LaneShards::push_words(shm::KeptChunk& chunk) {
  const shm::ChunkHeader& h = shm::header_of(chunk.words);
  Shard& shard = *shards_[(h.core_x * 31u + h.core_y * 7u + h.session) % shards_.size()];
  Batch& batch = filling(shard);
  if (batch.used == batch.items.size()) batch.items.emplace_back();
  Item& item = batch.items[batch.used++];
  std::swap(item.chunk, chunk);
  item.complaint.clear();
  batch.words += item.chunk.words.size();
  order_.push_back({&shard, {}});
  if (batch.words >= kBatchWords) hand_over(batch);
}

void LaneShards::push_to_all(std::span<const uint64_t> chunk) {
  settle();
  for (auto& shard : shards_) {
    shard->pipeline->push(chunk, shard->side->format());
    // Complaints and head lines are the main one's.
    shard->pipeline->take_complaint();
    shard->side->take_into(*shard->side->product());
  }
  main_.push(chunk, format_);
}

LaneShards::Batch& LaneShards::filling(Shard& shard) {
  if (!shard.batches.empty() && !shard.batches.back()->handed_over) return *shard.batches.back();
  while (shard.batches.size() >= kMostBatches) commit_oldest();
  if (shard.spare.empty()) shard.spare.push_back(std::make_unique<Batch>(shard));
  shard.batches.push_back(std::move(shard.spare.back()));
  shard.spare.pop_back();
  return *shard.batches.back();
}

void LaneShards::hand_over(Batch& batch) {
  batch.handed_over = true;
  workers_.submit(batch, &batch.shard.in_order);
}

void LaneShards::commit_oldest() {
  const Next next = std::move(order_.front());
  order_.pop_front();
  if (next.shard) return commit_words(*next.shard);
  if (next.other.empty()) return main_.lost_beginning();
  waiting_bytes_ -= next.other.size() * sizeof next.other[0];
  main_.push(next.other, format_);
}

void LaneShards::commit_words(Shard& shard) {
  Batch& batch = *shard.batches.front();
  if (!batch.handed_over) hand_over(batch);
  workers_.wait(batch);
  const size_t from = batch.committed ? batch.items[batch.committed - 1].made_end : 0;
  Item& item = batch.items[batch.committed++];
  if (main_.note_words(item.chunk.words)) shard.side->put(*batch.made, from, item.made_end);
  if (!item.complaint.empty()) main_.complain(item.complaint);
  item.chunk.memory.reset();
  if (batch.committed < batch.used) return;
  batch.used = batch.words = batch.committed = 0;
  batch.handed_over = false;
  shard.spare.push_back(std::move(shard.batches.front()));
  shard.batches.pop_front();
}

void LaneShards::commit_ready() {
  const auto ready = [this] {
    if (order_.empty()) return false;
    const Shard* const shard = order_.front().shard;
    if (!shard) return true;
    const Batch& oldest = *shard->batches.front();
    return oldest.handed_over && workers_.done(oldest);
  };
  while (ready()) commit_oldest();
}

void LaneShards::settle() {
  for (auto& shard : shards_)
    if (!shard->batches.empty() && !shard->batches.back()->handed_over) hand_over(*shard->batches.back());
  while (!order_.empty()) commit_oldest();
}

void LaneShards::finish() {
  settle();
  for (auto& shard : shards_) main_.absorb(*shard->pipeline);
}

LaneShards::Batch::Batch(Shard& of) : shard(of), made(of.side->product()) {}

void LaneShards::Batch::run() {
  for (size_t i = 0; i < used; ++i) {
    Item& item = items[i];
    shard.pipeline->push(item.chunk.words, shard.side->format());
    item.made_end = shard.side->made();
    item.complaint = shard.pipeline->take_complaint();
  }
  shard.side->take_into(*made);
}

}  // namespace ttc::tools
