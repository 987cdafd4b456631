// Any bytes as a .ttc. The first byte chooses what is put in front of them: nothing, a header of version 1, a
// header of version 2, or that and the header of a block whose checksums fit, so that what lies behind the
// checksums is met, too.
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "collector/capture/block_codec.hpp"
#include "shm/chunk.hpp"
#include "ttcollect/capture_reader.hpp"

using namespace ttc;
using namespace ttc::collect;

namespace {

template <class T>
void put(std::string& to, const T& value) {
  to.append(reinterpret_cast<const char*>(&value), sizeof value);
}

void put_file_header(std::string& to) {
  FileHeader h;
  h.checksum = checksum_of(&h, offsetof(FileHeader, checksum));
  put(to, h);
  to.resize(kCaptureAlign);
}

// The input begins with the numbers that a checksum cannot make right.
void put_block(std::string& to, const uint8_t* data, size_t size) {
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

std::string file_of(const uint8_t* data, size_t size) {
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

uint64_t read_all(const std::string& path, const Wanted& wanted) {
  CaptureReader reader(path, wanted);
  std::vector<uint64_t> chunk;
  uint64_t sum = 0;
  while (reader.next(chunk)) {
    if (!shm::check_chunk(chunk).empty()) std::abort();
    if (shm::header_of(chunk).kind == shm::ChunkKind::device_words)
      for (const auto& s : shm::spans_of(chunk))
        for (const uint32_t w : shm::words_of(chunk, s)) sum += w;
    for (const char c : shm::body_of(chunk)) sum += static_cast<unsigned char>(c);
  }
  return sum;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string file = file_of(data, size);
  const int fd = memfd_create("capture", MFD_CLOEXEC);
  if (fd < 0 || write(fd, file.data(), file.size()) != static_cast<ssize_t>(file.size())) std::abort();
  const std::string path = "/proc/self/fd/" + std::to_string(fd);
  try {
    Wanted nothing;
    nothing.read_from_ns = ~uint64_t{0};
    const uint64_t sum = read_all(path, {}) + read_all(path, nothing);
    asm volatile("" : : "r"(sum));
  } catch (const CaptureError&) {
  }
  close(fd);
  return 0;
}
