// Buffered output to a file that appears complete or not at all (temporary name, then rename), to a file that
// grows under the eyes of its reader, or to standard output.
#pragma once
#include <cstddef>
#include <cstring>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace ttc::tools {

struct OutputError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

class Output {
 public:
  // "-" is standard output. `growing`: write under the final name at once.
  Output(const std::string& path, bool growing);
  ~Output();  // without commit(): a temporary file is removed
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;

  // Room for `bytes` more; what was written there counts after advance().
  char* room(size_t bytes) {
    if (buffer_.size() - used_ < bytes) make_room(bytes);
    return buffer_.data() + used_;
  }
  void advance(size_t bytes) { used_ += bytes; }
  void append(std::string_view text) {
    std::memcpy(room(text.size()), text.data(), text.size());
    advance(text.size());
  }
  void flush();
  void commit();  // flush, close, rename into place

 private:
  void make_room(size_t bytes);

  std::string path_, temporary_;
  int fd_ = -1;
  std::vector<char> buffer_;
  size_t used_ = 0;
};

}  // namespace ttc::tools
