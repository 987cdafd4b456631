// Any bytes as a .ttc. The first byte chooses whether a sound file header is put in front of them.
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "collector/capture_format.hpp"
#include "collector/capture_reader.hpp"
#include "shm/chunk.hpp"

using namespace ttc;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const bool headed = data[0] & 1;
  ++data, --size;
  const int fd = memfd_create("capture", MFD_CLOEXEC);
  const collect::CaptureHeader head;
  if (fd < 0 || (headed && write(fd, &head, sizeof head) != sizeof head) ||
      write(fd, data, size) != static_cast<ssize_t>(size))
    std::abort();
  try {
    collect::CaptureReader reader("/proc/self/fd/" + std::to_string(fd));
    std::vector<uint64_t> chunk;
    uint64_t sum = 0;
    while (reader.next(chunk)) {
      if (!shm::check_chunk(chunk).empty()) std::abort();
      if (shm::header_of(chunk).kind == shm::ChunkKind::device_words)
        for (const auto& s : shm::spans_of(chunk))
          for (const uint32_t w : shm::words_of(chunk, s)) sum += w;
      for (const char c : shm::body_of(chunk)) sum += static_cast<unsigned char>(c);
    }
    if (reader.offset() > size + sizeof head) std::abort();
    asm volatile("" : : "r"(sum));
  } catch (const collect::CaptureError&) {
  }
  close(fd);
  return 0;
}
