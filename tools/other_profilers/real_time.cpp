#include "tools/other_profilers/real_time.hpp"

#include <algorithm>
#include <array>

namespace ttc::other_profilers {
namespace {

constexpr uint32_t kSyncMark = 0xFFFFFFFF;
constexpr uint32_t kHeadWords = kRealTimeHeadBytes / 4, kSlotWords = kRealTimeSlotBytes / 4;
constexpr uint32_t kEnough = 8;       // records that must be in order
constexpr uint32_t kUnderWay = 16;    // slots that may be written while they are read
constexpr uint32_t kMostAtOnce = 64;  // slots of one copy
constexpr uint64_t kLongestProgram = uint64_t{1} << 44;

uint32_t word_of(std::span<const uint64_t> raw, size_t word) {
  return static_cast<uint32_t>(raw[word / 2] >> (word % 2 * 32));
}

OpRecord record_at(std::span<const uint64_t> raw, size_t first_word, uint32_t index) {
  const auto time = [&](size_t high) {
    return uint64_t{word_of(raw, first_word + high)} << 32 | word_of(raw, first_word + high + 1);
  };
  return {index, word_of(raw, first_word + 2), word_of(raw, first_word + 3) == kSyncMark, time(0), time(4)};
}

bool plausible(const OpRecord& r) {
  return r.start != 0 && r.end >= r.start && r.end - r.start < kLongestProgram;
}

bool is_ring(std::span<const uint64_t> image, size_t at_word) {
  const uint32_t written = word_of(image, at_word), taken = word_of(image, at_word + 1);
  if (written < kEnough || written - taken > kRealTimeSlots || word_of(image, at_word + 2) > 1) return false;
  for (size_t pad = 3; pad < kHeadWords; ++pad)
    if (word_of(image, at_word + pad) != 0) return false;
  uint64_t before = 0;
  for (uint32_t index = written - kEnough; index != written; ++index) {
    const OpRecord r =
        record_at(image, at_word + kHeadWords + size_t{index % kRealTimeSlots} * kSlotWords, index);
    if (!plausible(r) || r.end < before) return false;
    before = r.end;
  }
  return true;
}

}  // namespace

std::optional<uint32_t> find_real_time_ring(std::span<const uint64_t> image, uint32_t address) {
  const size_t bytes = image.size() * sizeof image[0];
  for (size_t at = 0; at + kRealTimeBytes <= bytes; at += kRealTimeHeadBytes)
    if (is_ring(image, at / 4)) return address + static_cast<uint32_t>(at);
  return std::nullopt;
}

bool RealTimeRing::read_index(uint32_t& written) {
  std::array<uint64_t, 2> head{};
  if (!read_(address_, head)) return false;
  written = word_of(head, 0);
  terminated_ = word_of(head, 2) != 0;
  return true;
}

// The index before and behind the copy: what the producer may have overwritten meanwhile is counted and not used.
bool RealTimeRing::look(std::vector<OpRecord>& records) {
  uint32_t written = 0;
  if (!read_index(written)) return false;
  if (next_ && written - *next_ > ~uint32_t{0} / 2) {  // the device was opened again
    ++restarts_;
    next_ = 0;
  }
  if (!next_) next_ = written - std::min(written, kRealTimeSlots - kUnderWay);
  std::vector<uint64_t> raw(size_t{kMostAtOnce} * kRealTimeSlotBytes / 8);
  while (*next_ != written) {
    if (const uint32_t behind = written - *next_; behind > kRealTimeSlots - kUnderWay) {
      missed_ += behind - (kRealTimeSlots - kUnderWay);
      *next_ += behind - (kRealTimeSlots - kUnderWay);
    }
    const uint32_t slot = *next_ % kRealTimeSlots;
    const uint32_t count = std::min({written - *next_, kMostAtOnce, kRealTimeSlots - slot});
    const std::span<uint64_t> some(raw.data(), size_t{count} * kRealTimeSlotBytes / 8);
    uint32_t behind_it = 0;
    if (!read_(address_ + kRealTimeHeadBytes + slot * kRealTimeSlotBytes, some) || !read_index(behind_it))
      return false;
    for (uint32_t i = 0; i < count; ++i) {
      const uint32_t index = *next_ + i;
      if (behind_it - index > kRealTimeSlots - kUnderWay) {
        ++missed_;
        continue;
      }
      const OpRecord r = record_at(some, size_t{i} * kSlotWords, index);
      if (!plausible(r)) {
        ++doubtful_;
        continue;
      }
      ++records_;
      records.push_back(r);
    }
    *next_ += count;
  }
  return true;
}

}  // namespace ttc::other_profilers
