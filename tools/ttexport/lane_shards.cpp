#include "tools/ttexport/lane_shards.hpp"

#include <string_view>
#include <utility>

namespace ttc::tools {

LaneShards::LaneShards(Workers& workers, const MakePipeline& make_pipeline, const MakeFormat& make_format,
                       Pipeline& main, Format& format, Output& out)
    : workers_(workers), main_(main), format_(format), out_(out) {
  for (size_t i = 0; i < workers.threads() * kShardsAThread; ++i) {
    auto shard = std::make_unique<Shard>();
    shard->pipeline = make_pipeline();
    shard->format = make_format(shard->rows);
    shards_.push_back(std::move(shard));
  }
}

LaneShards::~LaneShards() {
  workers_.forget_all();
}

void LaneShards::push(std::vector<uint64_t>& chunk) {
  const shm::ChunkHeader& h = shm::header_of(chunk);
  using shm::ChunkKind;
  if (h.kind == ChunkKind::session || h.kind == ChunkKind::names) {
    settle();
    for (auto& shard : shards_) {
      shard->pipeline->push(chunk, *shard->format);
      shard->pipeline->take_complaint();  // head lines and complaints are the main one's
      shard->rows.take_rows({});
    }
  }
  if (h.kind != ChunkKind::device_words) return main_.push(chunk, format_);
  if (!main_.note_words(chunk)) return;
  Shard& shard = *shards_[(h.core_x * 31u + h.core_y * 7u + h.session) % shards_.size()];
  Batch& batch = filling(shard);
  if (batch.used == batch.items.size()) batch.items.emplace_back();
  Item& item = batch.items[batch.used++];
  std::swap(item.chunk, chunk);
  item.complaint.clear();
  batch.words += item.chunk.size();
  order_.push_back(&shard);
  if (batch.words >= kBatchWords) hand_over(batch);
  commit_ready();
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

// The rows of the chunk that is next in the output.
void LaneShards::commit_oldest() {
  Shard& shard = *order_.front();
  Batch& batch = *shard.batches.front();
  if (!batch.handed_over) hand_over(batch);
  workers_.wait(batch);
  order_.pop_front();
  const size_t from = batch.committed ? batch.items[batch.committed - 1].rows_end : 0;
  const Item& item = batch.items[batch.committed++];
  out_.append_rows({batch.rows.data() + from, item.rows_end - from});
  if (!item.complaint.empty()) main_.complain(item.complaint);
  if (batch.committed < batch.used) return;
  batch.used = batch.words = batch.committed = 0;
  batch.handed_over = false;
  shard.spare.push_back(std::move(shard.batches.front()));
  shard.batches.pop_front();
}

void LaneShards::commit_ready() {
  const auto ready = [this] {
    if (order_.empty()) return false;
    const Batch& oldest = *order_.front()->batches.front();
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

void LaneShards::Batch::run() {
  Output& to = shard.rows;
  for (size_t i = 0; i < used; ++i) {
    Item& item = items[i];
    shard.pipeline->push(item.chunk, *shard.format);
    item.rows_end = to.bytes_in_memory();
    item.complaint = shard.pipeline->take_complaint();
  }
  rows = to.take_rows(std::move(rows));
}

}  // namespace ttc::tools
