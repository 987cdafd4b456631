#include "ttcollect/loss_view.hpp"

#include <algorithm>
#include <cstring>
#include <vector>

#include "collector/loss/chunk_gaps.hpp"

namespace ttc::collect {

struct LossView::Parts {
  explicit Parts(std::optional<shm::LossCause> missing) {
    if (missing)
      gaps.emplace(*missing,
                   [this](uint64_t session, const shm::LossRecord& r) { found[session][r.id] = r; });
  }

  Sessions reported, found;
  std::optional<ChunkGaps> gaps;
};

LossView::LossView(std::optional<shm::LossCause> missing) : parts_(std::make_unique<Parts>(missing)) {}
LossView::~LossView() = default;
LossView::LossView(LossView&&) noexcept = default;
LossView& LossView::operator=(LossView&&) noexcept = default;

const shm::LossRecord* LossView::push(std::span<const uint64_t> chunk,
                                      const std::shared_ptr<const void>& memory) {
  const shm::ChunkHeader& h = shm::header_of(chunk);
  Intervals& intervals = parts_->reported[h.session];
  if (parts_->gaps) parts_->gaps->push(chunk, memory);
  if (h.kind != shm::ChunkKind::loss) return nullptr;
  shm::LossRecord record;
  std::memcpy(&record, shm::body_of(chunk).data(), sizeof record);
  const auto [known, fresh] = intervals.try_emplace(record.id, record);
  if (!fresh && std::memcmp(&known->second, &record, sizeof record) == 0) return nullptr;
  known->second = record;
  return &known->second;
}

void LossView::lost_beginning(std::optional<shm::LossCause> cause) {
  if (parts_->gaps) parts_->gaps->lost_beginning(cause);
}

void LossView::broke_off() {
  if (parts_->gaps) parts_->gaps->broke_off();
}

void LossView::finish() {
  if (!parts_->gaps) return;
  parts_->gaps->finish();
  for (auto& [session, found] : parts_->found) {
    Intervals taken = parts_->reported[session];
    uint64_t next = taken.empty() ? 0 : taken.rbegin()->first + 1;
    Intervals kept;
    for (auto& [id, r] : found) {
      const bool to_the_end = r.to_cycles == shm::kOpenEnd && parts_->gaps->unsure(session);
      if (!to_the_end && covers(parts_->reported[session], r)) continue;
      if (taken.contains(r.id)) r.id = std::max(next, ChunkGaps::kFirstId);  // an earlier view's, in a file
      next = std::max(next, r.id) + 1;
      taken[r.id] = kept[r.id] = r;
    }
    found = std::move(kept);
  }
}

const LossView::Sessions& LossView::reported() const {
  return parts_->reported;
}
const LossView::Sessions& LossView::found() const {
  return parts_->found;
}

LossView::Sessions LossView::all() const {
  Sessions all = parts_->reported;
  for (const auto& [session, found] : parts_->found) all[session].insert(found.begin(), found.end());
  return all;
}

size_t LossView::reported_count() const {
  size_t count = 0;
  for (const auto& [session, intervals] : parts_->reported) count += intervals.size();
  return count;
}

uint64_t LossView::missing_chunks() const {
  return parts_->gaps ? parts_->gaps->missing_chunks() : 0;
}
uint64_t LossView::chunks_before() const {
  return parts_->gaps ? parts_->gaps->chunks_before() : 0;
}
size_t LossView::without_end() const {
  return parts_->gaps ? parts_->gaps->without_end() : 0;
}
uint64_t LossView::missing_words() const {
  return parts_->gaps ? parts_->gaps->missing_words() : 0;
}

bool covers(const LossView::Intervals& intervals, const shm::LossRecord& gap) {
  std::vector<shm::LossRecord> lane;
  for (const auto& [id, r] : intervals)
    if (r.core_x == gap.core_x && r.core_y == gap.core_y && r.risc == gap.risc) lane.push_back(r);
  std::sort(lane.begin(), lane.end(),
            [](const auto& a, const auto& b) { return a.from_cycles < b.from_cycles; });
  // A lane that did not come again: the interval that begins there is of the recorder that left the chunks
  // out.
  if (gap.to_cycles == shm::kOpenEnd)
    return std::any_of(lane.begin(), lane.end(), [&](const auto& r) {
      return r.from_cycles <= gap.from_cycles && r.to_cycles > gap.from_cycles + 1;
    });
  uint64_t covered = gap.from_cycles;  // up to here
  for (const shm::LossRecord& r : lane)
    // An interval begins at the last marker before it, so one that begins where another ends joins it.
    if (r.from_cycles <= covered && r.to_cycles > covered)
      covered = r.to_cycles == shm::kOpenEnd ? shm::kOpenEnd : r.to_cycles - 1;
  return covered == shm::kOpenEnd || covered + 1 >= gap.to_cycles;
}

}  // namespace ttc::collect
