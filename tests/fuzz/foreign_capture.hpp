// Any bytes as a .ttc. The first byte chooses what is put in front of them: nothing, a header of version 1, a
// header of version 2, or that and the header of a block whose checksums fit, so that the code after the
// checksum tests is reached, too.
#pragma once
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "collector/capture/block_codec.hpp"
#include "shm/chunk.hpp"

namespace ttc::collect {

template <class T>
void put(std::string& to, const T& value) {
  to.append(reinterpret_cast<const char*>(&value), sizeof value);
}

inline void put_file_header(std::string& to) {
  FileHeader h;
  h.checksum = checksum_of(&h, offsetof(FileHeader, checksum));
  put(to, h);
  to.resize(kCaptureAlign);
}

// The input begins with the numbers that a checksum cannot make right.
inline void put_block(std::string& to, const uint8_t* data, size_t size) {
  BlockHeader h;
  h.kinds = ~0u;
  if (size >= 4) {
    h.sections = data[0] % 20;
    h.chunks = data[1];
    h.raw_bytes = (uint64_t{data[2]} | uint64_t{data[3]} << 8) * 8;
    data += 4, size -= 4;
  }
  h.facts_end = static_cast<uint32_t>(sizeof h + std::min<size_t>(size, h.sections * sizeof(SectionEntry)));
  h.content_bytes = sizeof h + size;
  h.bytes = (h.content_bytes + kCaptureAlign - 1) / kCaptureAlign * kCaptureAlign;
  h.content_checksum = checksum_of(data, size);
  h.facts_checksum = static_cast<uint32_t>(checksum_of(data, h.facts_end - sizeof h));
  h.header_checksum = checksum_of(&h, offsetof(BlockHeader, header_checksum));
  put(to, h);
  to.append(reinterpret_cast<const char*>(data), size);
  to.resize((to.size() + kCaptureAlign - 1) / kCaptureAlign * kCaptureAlign);
}

inline std::string file_of(const uint8_t* data, size_t size) {
  std::string file;
  const unsigned form = data[0] & 3;
  ++data, --size;
  if (form == 1) put(file, CaptureHeader{});
  if (form >= 2) put_file_header(file);
  if (form == 3)
    put_block(file, data, size);
  else
    file.append(reinterpret_cast<const char*>(data), size);
  return file;
}

// A file with a path of its own for the lifetime of the object.
class ForeignFile {
 public:
  explicit ForeignFile(const std::string& bytes) : fd_(memfd_create("capture", MFD_CLOEXEC)) {
    if (fd_ < 0 || write(fd_, bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size())) std::abort();
  }
  ForeignFile(const ForeignFile&) = delete;
  ~ForeignFile() { close(fd_); }
  std::string path() const { return "/proc/self/fd/" + std::to_string(fd_); }

 private:
  int fd_;
};

}  // namespace ttc::collect
