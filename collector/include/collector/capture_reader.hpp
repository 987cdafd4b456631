// Reads a .ttc chunk by chunk in constant memory. Every byte is foreign until checked.
#pragma once
#include <cstdint>
#include <cstdio>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace ttc::collect {

struct CaptureError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

class CaptureReader {
 public:
  explicit CaptureReader(const std::string& path);  // throws CaptureError: no file, no capture, newer version

  // False at the end. `cut()` then tells whether the file ends in the middle of a chunk, `damage()` whether a
  // chunk made no sense (nothing behind it can be found).
  bool next(std::vector<uint64_t>& chunk);
  bool cut() const { return cut_; }
  const std::string& damage() const { return damage_; }
  uint64_t offset() const { return offset_; }  // of the next chunk

 private:
  struct Close {
    void operator()(std::FILE* f) const { std::fclose(f); }
  };
  std::unique_ptr<std::FILE, Close> file_;
  uint64_t offset_ = 0;
  uint64_t file_bytes_ = 0;  // 0: no regular file, its end is not known
  bool cut_ = false;
  std::string damage_;
};

}  // namespace ttc::collect
