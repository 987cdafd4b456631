// Any bytes as a .ttc (foreign_capture.hpp).
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "tests/fuzz/foreign_capture.hpp"
#include "ttcollect/capture_reader.hpp"

using namespace ttc;
using namespace ttc::collect;

namespace {

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
  const ForeignFile file(file_of(data, size));
  try {
    Wanted nothing;
    nothing.read_from_ns = ~uint64_t{0};
    const uint64_t sum = read_all(file.path(), {}) + read_all(file.path(), nothing);
    asm volatile("" : : "r"(sum));
  } catch (const CaptureError&) {
  }
  return 0;
}
