// Puts memory written by real firmware onto an emulated card: a directory with meta.json and epochNNNN/
// folders of cv_XX_YY.bin, l1_XX_YY.bin (the five RISC buffers) and dram_XX_YY_rR.bin, epoch after epoch.
#pragma once
#include <atomic>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "driver_iface/emulated_card.hpp"
#include "firmware_markers/layout.hpp"

namespace ttc::emulation {

struct LoadError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct MemoryImage {
  std::string directory;
  std::string arch;  // wormhole_b0, blackhole
  std::string board;
  const markers::Layout* layout = nullptr;
  uint32_t control_address = 0, buffer_address = 0, magic_address = 0;
  uint32_t cores_per_bank = 0, bytes_per_risc = 0, dram_base = 0;
  unsigned epochs = 0;
  struct Core {
    card::Coord at;
    uint8_t flat_id;
    uint32_t bank;
  };
  std::vector<Core> cores;
  std::vector<std::string> notes;  // zone strings of its log
};

MemoryImage read_image_description(const std::string& directory);  // throws LoadError

class ImageLoader {
 public:
  ImageLoader(card::EmulatedCard& card, const MemoryImage& image);

  // The whole-vector reset that a host's results read leaves behind.
  void reset();
  // Data of one epoch, then its vectors.
  void load_epoch(unsigned epoch);
  // Waits until observers have fetched every word that is there and looked at the cores some times more.
  bool wait_read(const std::atomic<bool>& stop, uint64_t no_observer_ns);
  // Words of the epoch's logs nobody fetched.
  uint64_t unread_words() const;

 private:
  std::vector<uint32_t> file(unsigned epoch, const std::string& name) const;

  card::EmulatedCard& card_;
  const MemoryImage& image_;
  unsigned resets_ = 0;
  std::vector<std::pair<uint32_t, uint32_t>> lane_words_;  // lane, words, of the epoch loaded last
};

}  // namespace ttc::emulation
