// Puts memory written by real firmware onto an emulated card, epoch after epoch.
#pragma once
#include <atomic>
#include <cstdint>
#include <optional>
#include <vector>

#include "driver_iface/emulated_card.hpp"
#include "tools/pipeline/memory_image.hpp"

namespace ttc::emulation {

// The latest time that the firmware recorded there, on a clock of 44 bits; nothing where it recorded none.
std::optional<uint64_t> latest_time(const tools::MemoryImage& image);

class ImageLoader {
 public:
  // Reads the files of all epochs: throws ImageError before a word is on the card.
  ImageLoader(card::EmulatedCard& card, const tools::MemoryImage& image);

  // The whole-vector reset that a host's results read leaves behind.
  void reset();
  // Data of one epoch, then its vectors.
  void load_epoch(unsigned epoch);
  // Waits until observers have fetched every word that is there and examined the cores some times more.
  bool wait_read(const std::atomic<bool>& stop, uint64_t no_observer_ns);
  // Words of the epoch's logs that no reader fetched.
  uint64_t unread_words() const;

 private:
  card::EmulatedCard& card_;
  const tools::MemoryImage& image_;
  std::vector<std::vector<tools::MemoryImage::CoreMemory>> memory_;  // by epoch and core
  unsigned resets_ = 0;
  std::vector<std::pair<uint32_t, uint32_t>> lane_words_;  // lane, words, of the epoch loaded last
};

}  // namespace ttc::emulation
