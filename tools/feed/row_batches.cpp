#include "tools/feed/row_batches.hpp"

#include <algorithm>
#include <utility>

namespace ttc::tools {

using shm::ChunkKind;

namespace {
auto core_of(const shm::ChunkHeader& h) {
  return std::tuple<uint64_t, uint8_t, uint8_t>(h.session, h.core_x, h.core_y);
}
}  // namespace

RowBatches::RowBatches(jobs::Workers& workers, const MakePipeline& make_pipeline,
                       const MakeFormat& make_format, Pipeline& main, Format& format, Output& out)
    : workers_(workers), main_(main), format_(format), out_(out), memory_(workers.threads()) {
  for (unsigned i = 0; i < workers.threads(); ++i) {
    auto maker = std::make_unique<Maker>();
    maker->pipeline = make_pipeline();
    maker->format = make_format(maker->rows);
    makers_.push_back(std::move(maker));
  }
}

RowBatches::~RowBatches() {
  workers_.forget_all();
}

void RowBatches::lost_beginning() {
  if (std::exchange(beginning_lost_, true)) return;
  Item& item = add();
  item.chunk.words = {};
  item.owners = true;
}

void RowBatches::push(shm::KeptChunk& chunk) {
  const shm::ChunkHeader& h = shm::header_of(chunk.words);
  if (h.kind == ChunkKind::session || h.kind == ChunkKind::names) return push_to_all(chunk.words);
  Item& item = add();
  item.owners = h.kind != ChunkKind::device_words || dispatch_.contains(core_of(h));
  std::swap(item.chunk, chunk);
  filling_->words += item.chunk.words.size();
  if (filling_->words < kBatchWords) return;
  hand_over();
  commit_ready();
}

RowBatches::Item& RowBatches::add() {
  if (!filling_) filling_ = unused();
  Batch& batch = *filling_;
  if (batch.used == batch.items.size()) batch.items.emplace_back();
  return batch.items[batch.used++];
}

void RowBatches::push_to_all(std::span<const uint64_t> chunk) {
  settle();
  for (auto& maker : makers_) {  // nothing is under way
    maker->pipeline->push(chunk, *maker->format);
    // Complaints and head lines are the main one's.
    maker->pipeline->take_complaint();
    maker->rows.forget();
  }
  main_.push(chunk, format_);
}

// One whose rows are no longer read by their writing.
std::unique_ptr<RowBatches::Batch> RowBatches::unused() {
  const size_t most = kBatchesAThread * workers_.threads();
  const auto free_now = [this] {
    return !spare_.empty() && (!out_.has_places() || workers_.done(spare_.front()->placed));
  };
  if (!free_now() && batches_ < most) {
    ++batches_;
    return std::make_unique<Batch>(*this, out_);
  }
  while (spare_.empty()) commit_oldest();
  if (out_.has_places()) workers_.wait(spare_.front()->placed);  // throws what its writing threw
  std::unique_ptr<Batch> batch = std::move(spare_.front());
  spare_.pop_front();
  memory_.give(batch->done_by(), std::move(batch->rows));
  return batch;
}

// Of batches whose rows are written: few rows are then in use at a time, and stay in the caches of their thread.
void RowBatches::take_back_rows() {
  for (auto& batch : spare_) {
    if (batch->rows.empty() || (out_.has_places() && !workers_.done(batch->placed))) continue;
    memory_.give(batch->done_by(), std::move(batch->rows));
  }
}

void RowBatches::hand_over() {
  take_back_rows();
  under_way_.push_back(std::move(filling_));
  workers_.submit(*under_way_.back());
}

void RowBatches::commit_ready() {
  while (!under_way_.empty() && workers_.done(*under_way_.front())) commit_oldest();
}

void RowBatches::put(Batch& batch, size_t from, size_t to) {
  if (from == to) return;
  const std::string_view rows(batch.rows.data() + from, to - from);
  if (out_.has_places())
    out_.place(batch.placed, rows);
  else
    out_.append_rows(rows);
}

void RowBatches::commit_oldest() {
  Batch& batch = *under_way_.front();
  workers_.wait(batch);
  size_t put_end = 0, rows_end = 0;  // rows of consecutive chunks are put as one
  for (size_t i = 0; i < batch.used; ++i) {
    Item& item = batch.items[i];
    const size_t before = std::exchange(rows_end, item.owners ? rows_end : item.rows_end);
    if (!item.owners && item.apart != Apart::no) {
      const bool wanted = main_.note_words(item.chunk.words, item.chunk.memory);
      if (!item.complaint.empty()) main_.complain(item.complaint);
      const bool again = item.apart == Apart::unless_dispatch &&
                         dispatch_.contains(core_of(shm::header_of(item.chunk.words)));
      if (wanted && !again) continue;
      put(batch, put_end, before);
      put_end = rows_end;
      if (wanted) main_.repeat(item.chunk.words, format_);
      continue;
    }
    put(batch, put_end, before);
    put_end = rows_end;
    if (item.chunk.words.empty()) {
      main_.lost_beginning();
      continue;
    }
    if (!item.owners) dispatch_.insert(core_of(shm::header_of(item.chunk.words)));
    main_.push(item.chunk.words, format_);
  }
  put(batch, put_end, rows_end);
  if (out_.has_places()) out_.write(batch.placed, batch.done_by());
  for (size_t i = 0; i < batch.used; ++i) batch.items[i].chunk.memory.reset();
  batch.used = batch.words = 0;
  spare_.push_back(std::move(under_way_.front()));
  under_way_.pop_front();
}

void RowBatches::settle() {
  if (filling_) hand_over();
  while (!under_way_.empty()) commit_oldest();
}

void RowBatches::finish() {
  settle();
  for (const auto& maker : makers_) main_.absorb(*maker->pipeline);
  if (out_.has_places())
    for (const auto& batch : spare_) workers_.wait(batch->placed);
}

void RowBatches::Batch::run() {
  Maker& maker = *of_.makers_[done_by()];
  try {
    for (size_t i = 0; i < used; ++i) {
      Item& item = items[i];
      if (item.owners) continue;
      item.apart = maker.pipeline->push_apart(item.chunk.words, *maker.format);
      item.rows_end = maker.rows.bytes_in_memory();
      item.complaint = maker.pipeline->take_complaint();
    }
    rows = maker.rows.take_rows(of_.memory_.take(done_by()));
  } catch (...) {
    maker.rows.forget();
    throw;
  }
}

}  // namespace ttc::tools
