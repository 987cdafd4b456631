#include "ttcollect/loss_book.hpp"

#include <algorithm>
#include <cstring>

namespace ttc::collect {

LossBook::LossBook(shm::LossCause cause)
    : gaps_(cause, [this](uint64_t session, const shm::LossRecord& r) { found_[session][r.id] = r; }) {}

void LossBook::push(std::span<const uint64_t> chunk) {
  const shm::ChunkHeader& h = shm::header_of(chunk);
  Records& records = sessions_[h.session];
  gaps_.push(chunk);
  if (h.kind != shm::ChunkKind::loss) return;
  shm::LossRecord record;
  std::memcpy(&record, shm::body_of(chunk).data(), sizeof record);
  records[record.id] = record;  // the same interval again has grown
}

void LossBook::finish() {
  gaps_.finish();
  for (auto& [session, found] : found_) {
    Records& records = sessions_[session];
    std::erase_if(found, [&](const auto& r) { return covers(records, r.second); });
    uint64_t next = records.empty() ? 0 : records.rbegin()->first + 1;
    for (auto& [id, r] : found) {
      if (records.contains(r.id)) r.id = std::max(next, ChunkGaps::kFirstId);  // an earlier book's, in a file
      next = std::max(next, r.id) + 1;
      records[r.id] = r;
    }
  }
}

bool covers(const LossBook::Records& records, const shm::LossRecord& gap) {
  std::vector<shm::LossRecord> lane;
  for (const auto& [id, r] : records)
    if (r.core_x == gap.core_x && r.core_y == gap.core_y && r.risc == gap.risc) lane.push_back(r);
  std::sort(lane.begin(), lane.end(),
            [](const auto& a, const auto& b) { return a.from_cycles < b.from_cycles; });
  // A lane that did not come again: the record that begins there is by whoever left the chunks out.
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
