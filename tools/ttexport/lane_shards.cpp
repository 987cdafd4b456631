#include "tools/ttexport/lane_shards.hpp"

#include <algorithm>
#include <string_view>

namespace ttc::tools {

LaneShards::LaneShards(unsigned threads, const MakePipeline& make_pipeline, const MakeFormat& make_format,
                       Pipeline& main, Format& format, Output& out)
    : main_(main), format_(format), out_(out) {
  for (unsigned i = 0; i < threads; ++i) {
    auto shard = std::make_unique<Shard>();
    shard->pipeline = make_pipeline();
    shard->format = make_format(shard->rows);
    shards_.push_back(std::move(shard));
  }
  try {
    for (unsigned i = 1; i < threads; ++i) threads_.emplace_back([this] { work(); });
  } catch (...) {
    stop();
    throw;
  }
}

LaneShards::~LaneShards() {
  stop();
}

void LaneShards::stop() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  handed_over_.notify_all();
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
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
  ++chunks_;
  order_.push_back(&shard);
  if (batch.words >= kBatchWords) hand_over(batch);
  commit_ready();
}

LaneShards::Batch& LaneShards::filling(Shard& shard) {
  if (!shard.batches.empty() && !shard.batches.back()->handed_over) return *shard.batches.back();
  while (shard.batches.size() >= kMostBatches) commit_oldest();
  std::unique_ptr<Batch> batch;
  if (shard.spare.empty()) {
    batch = std::make_unique<Batch>();
  } else {
    batch = std::move(shard.spare.back());
    shard.spare.pop_back();
  }
  batch->number = chunks_;
  const std::lock_guard lock(mutex_);  // other threads read the list
  shard.batches.push_back(std::move(batch));
  return *shard.batches.back();
}

void LaneShards::hand_over(Batch& batch) {
  bool wake = false;
  {
    const std::lock_guard lock(mutex_);
    batch.handed_over = true;
    wake = idle_ != 0;
  }
  if (wake) handed_over_.notify_one();
}

// The oldest batch that waits in a shard that no thread has; none: nullptr. With the lock.
LaneShards::Work LaneShards::take_work() {
  Work oldest;
  for (const auto& shard : shards_) {
    if (shard->taken) continue;
    const auto due = std::find_if(shard->batches.begin(), shard->batches.end(),
                                  [](const auto& batch) { return batch->handed_over && !batch->done; });
    if (due != shard->batches.end() && (!oldest.batch || (*due)->number < oldest.batch->number))
      oldest = {shard.get(), due->get()};
  }
  if (oldest.shard) oldest.shard->taken = true;
  return oldest;
}

// With the lock, which is open meanwhile.
void LaneShards::finish_work(const Work& work, std::unique_lock<std::mutex>& lock) {
  lock.unlock();
  std::exception_ptr failure;
  try {
    process(*work.shard, *work.batch);
  } catch (...) {
    failure = std::current_exception();
  }
  lock.lock();
  if (failure) failure_ = failure;
  work.shard->taken = false;
  work.batch->done = true;
}

// The rows of the chunk that is next in the output.
void LaneShards::commit_oldest() {
  Shard& shard = *order_.front();
  Batch& batch = *shard.batches.front();
  {
    std::unique_lock lock(mutex_);
    batch.handed_over = true;
    while (!failure_ && !batch.done) {
      if (const Work other = take_work(); other.batch) {
        finish_work(other, lock);
        continue;
      }
      main_waits_ = true;
      done_.wait(lock);
      main_waits_ = false;
    }
    if (failure_) std::rethrow_exception(failure_);
  }
  order_.pop_front();
  const size_t from = batch.committed ? batch.items[batch.committed - 1].rows_end : 0;
  const Item& item = batch.items[batch.committed++];
  out_.append_rows({batch.rows.data() + from, item.rows_end - from});
  if (!item.complaint.empty()) main_.complain(item.complaint);
  if (batch.committed < batch.used) return;
  const std::lock_guard lock(mutex_);  // its thread searches the list
  shard.spare.push_back(std::move(shard.batches.front()));
  shard.batches.pop_front();
  batch.used = batch.words = batch.committed = 0;
  batch.handed_over = batch.done = false;
}

void LaneShards::commit_ready() {
  const auto ready = [this] {
    if (order_.empty()) return false;
    const std::lock_guard lock(mutex_);
    if (failure_) std::rethrow_exception(failure_);
    return order_.front()->batches.front()->done;
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

void LaneShards::process(Shard& shard, Batch& batch) {
  size_t rows = 0;
  for (size_t i = 0; i < batch.used; ++i) {
    Item& item = batch.items[i];
    shard.pipeline->push(item.chunk, *shard.format);
    rows = shard.rows.bytes_in_memory();
    item.rows_end = rows;
    item.complaint = shard.pipeline->take_complaint();
  }
  batch.rows = shard.rows.take_rows(std::move(batch.rows));
}

void LaneShards::work() noexcept {
  std::unique_lock lock(mutex_);
  while (!stop_) {
    const Work next = failure_ ? Work{} : take_work();
    if (!next.batch) {
      ++idle_;
      handed_over_.wait(lock);
      --idle_;
      continue;
    }
    finish_work(next, lock);
    if (main_waits_) done_.notify_one();
  }
}

}  // namespace ttc::tools
