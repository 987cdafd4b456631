#include "collector/record/dropped_blocks.hpp"

#include <cstring>

#include "collector/loss/span_time.hpp"
#include "firmware_markers/frame.hpp"

namespace ttc::collect {
namespace {

// Limit of facts that wait to be kept in a later block. Beyond it clock and telemetry chunks are dropped: the disk has then been
// stalled for long.
constexpr size_t kMostFacts = 8 << 20;

bool may_be_given_up(shm::ChunkKind kind) {
  return kind == shm::ChunkKind::clock || kind == shm::ChunkKind::telemetry;
}

}  // namespace

void add_loss_chunk(ChunkBatch& to, uint64_t session, const shm::LossRecord& record) {
  shm::ChunkHeader h;
  h.bytes = sizeof h + sizeof record;
  h.kind = shm::ChunkKind::loss;
  h.flags = shm::kStanding;
  h.session = session;
  h.device = record.device;
  h.core_x = record.core_x;
  h.core_y = record.core_y;
  h.epoch = record.epoch;
  const auto room = to.add_room(h.bytes / 8);
  std::memcpy(room.data(), &h, sizeof h);
  std::memcpy(room.data() + sizeof h / 8, &record, sizeof record);
}

void add_loss_totals_chunk(ChunkBatch& to, uint64_t session, std::span<const shm::LossTotal> totals) {
  shm::ChunkHeader h;
  h.bytes = static_cast<uint32_t>(sizeof h + totals.size_bytes());
  h.kind = shm::ChunkKind::loss_totals;
  h.flags = shm::kStanding;
  h.session = session;
  const auto room = to.add_room(h.bytes / 8);
  std::memcpy(room.data(), &h, sizeof h);
  if (!totals.empty()) std::memcpy(room.data() + sizeof h / 8, totals.data(), totals.size_bytes());
}

void DroppedBlocks::changed(size_t entry) {
  if (entries_[entry].reported) unreported_.push_back(entry);
  entries_[entry].reported = false;
}

void DroppedBlocks::drop_span(const shm::ChunkHeader& h, const shm::SpanEntry& span,
                              std::span<const uint32_t> words, shm::LossCause cause) {
  markers::FrameDigest before;
  std::memcpy(&before, span.digest, sizeof before);
  const uint64_t from = before.known ? before.last_time : 0;
  const uint64_t last = last_time_of(h, span, words);
  const LaneKey lane{h.session, h.core_x, h.core_y, span.risc};
  if (const auto it = latest_.find(lane); it != latest_.end()) {
    Entry& e = entries_[it->second];
    if (e.record.cause == cause && e.record.to_cycles == from + 1) {  // no block was kept in between
      e.record.words += words.size();
      if (last) e.record.to_cycles = last + 1;
      return changed(it->second);
    }
  }
  Entry e;
  e.session = h.session;
  shm::LossRecord& r = e.record;
  r.id = kFirstId + entries_.size();
  r.core_x = h.core_x, r.core_y = h.core_y, r.risc = span.risc;
  r.cause = cause;
  r.precision = shm::LossPrecision::exact_words;
  r.epoch = h.epoch;
  r.device = h.device;
  r.from_cycles = from;
  r.to_cycles = last ? last + 1 : shm::kOpenEnd;
  r.words = words.size();
  if (const auto into = merge_.joins(h.session, r)) {
    const size_t entry = *into - kFirstId;
    take_in(entries_[entry].record, r);
    latest_[lane] = entry;
    return changed(entry);
  }
  latest_[lane] = entries_.size();
  unreported_.push_back(entries_.size());
  entries_.push_back(e);
}

void DroppedBlocks::drop(const ChunkBatch& chunks, shm::LossCause cause) {
  const std::lock_guard lock(mutex_);
  for (size_t i = 0; i < chunks.size(); ++i) {
    const shm::ChunkHeader& h = shm::header_of(chunks[i]);
    if (h.kind == shm::ChunkKind::host_events) {  // a jump of the sequence is all that is left of them
      dropped_bytes_ += chunks[i].size_bytes();
      ++dropped_chunks_;
      continue;
    }
    if (h.kind != shm::ChunkKind::device_words) {
      if (facts_.bytes() < kMostFacts || !may_be_given_up(h.kind)) facts_.add(chunks[i]);
      continue;
    }
    dropped_bytes_ += chunks[i].size_bytes();
    ++dropped_chunks_;
    for (const shm::SpanEntry& span : shm::spans_of(chunks[i]))
      drop_span(h, span, shm::words_of(chunks[i], span), cause);
  }
}

void DroppedBlocks::add(uint64_t session, const shm::LossRecord& record) {
  const std::lock_guard lock(mutex_);
  const auto [it, fresh] = of_others_.try_emplace({session, record.id}, entries_.size());
  if (!fresh) {
    entries_[it->second].record = record;
    return changed(it->second);
  }
  unreported_.push_back(entries_.size());
  entries_.push_back({session, record, false});
}

ChunkBatch DroppedBlocks::take() {
  const std::lock_guard lock(mutex_);
  ChunkBatch taken = std::move(facts_);
  facts_ = {};
  for (const size_t i : unreported_) {
    add_loss_chunk(taken, entries_[i].session, entries_[i].record);
    entries_[i].reported = true;
  }
  unreported_.clear();
  return taken;
}

uint64_t DroppedBlocks::dropped_bytes() const {
  const std::lock_guard lock(mutex_);
  return dropped_bytes_;
}
uint64_t DroppedBlocks::dropped_chunks() const {
  const std::lock_guard lock(mutex_);
  return dropped_chunks_;
}
std::vector<shm::LossRecord> DroppedBlocks::records(uint64_t session) const {
  const std::lock_guard lock(mutex_);
  std::vector<shm::LossRecord> all;
  for (const Entry& e : entries_)
    if (e.session == session) all.push_back(e.record);
  return all;
}

}  // namespace ttc::collect
