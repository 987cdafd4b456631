#include "shm/clock_table.hpp"

#include "shm/ring.hpp"

namespace ttc::shm {

void ClockTableWriter::publish(std::span<const uint64_t> words) {
  ++version_;
  control_.intent.store(version_, std::memory_order_relaxed);  // W1: the releases below carry it
  uint64_t* to = slots_ + version_ % 2 * kClockSlotWords;
  store_word(to, words.size());  // W2, as the next ones
  for (const uint64_t word : words) store_word(++to, word);
  control_.version.store(version_, std::memory_order_release);  // P: the words are visible before it
}

bool read_clock_table(const ClockTableControl& control, const uint64_t* slots, std::vector<uint64_t>& words) {
  for (int attempt = 0; attempt < 100; ++attempt) {
    const uint64_t version = control.version.load(std::memory_order_acquire);  // Q
    if (version == 0) return false;
    const uint64_t* from = slots + version % 2 * kClockSlotWords;
    const uint64_t count_untrusted = __atomic_load_n(from, __ATOMIC_ACQUIRE);  // R2, as the next ones
    const bool sound = count_untrusted < kClockSlotWords;
    if (sound) {
      words.resize(count_untrusted);
      for (uint64_t& word : words) word = __atomic_load_n(++from, __ATOMIC_ACQUIRE);
    }
    if (control.intent.load(std::memory_order_relaxed) < version + 2) return sound;  // R1
  }
  return false;
}

}  // namespace ttc::shm
