// Bytes that are written once and read back any number of times. The first of them stay in memory, the others
// go into a file without a name in $TMPDIR (else /tmp), which is gone with the process.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace ttc::report {

class Spill {
 public:
  static constexpr size_t kInMemory = 2 << 20;  // bytes
  explicit Spill(size_t in_memory = kInMemory) : most_(in_memory) {}
  ~Spill();
  Spill(const Spill&) = delete;
  Spill& operator=(const Spill&) = delete;

  // Gives the place of the bytes. Throws std::runtime_error when the file cannot be made or is full.
  uint64_t append(std::string_view bytes);
  // `size` bytes at a place that was given; valid until the next call. Throws std::runtime_error.
  std::string_view at(uint64_t place, size_t size);
  // The same bytes into `to`; what at() gave stays valid.
  void read(uint64_t place, char* to, size_t size) const;
  uint64_t size() const { return filed_ + tail_.size(); }

 private:
  void flush();

  size_t most_;
  int file_ = -1;
  uint64_t filed_ = 0;  // bytes in the file
  std::string tail_;    // what follows them
  std::string window_;  // of the file, read last
  uint64_t window_at_ = 0;
};

}  // namespace ttc::report
