// Any bytes as a directory of firmware memory: understood, or refused with one sentence.
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <span>
#include <string>

#include "tools/pipeline/memory_image.hpp"

namespace {

namespace fs = std::filesystem;

// A directory of this process, removed when it ends.
struct Directory {
  Directory() : at(fs::temp_directory_path() / ("memory-image-fuzz-" + std::to_string(getpid()))) {
    fs::create_directories(at / "epoch0000");
  }
  ~Directory() {
    std::error_code ignored;  // at exit there is no caller that could handle it
    fs::remove_all(at, ignored);
  }
  const fs::path at;
};

const fs::path& directory() {
  static const Directory own;
  return own.at;
}

// A piece of the input, its length in front of it in two bytes.
std::span<const uint8_t> piece(std::span<const uint8_t>& data) {
  if (data.size() < 2) return {};
  const size_t length = std::min<size_t>(data[0] | data[1] << 8, data.size() - 2);
  const auto found = data.subspan(2, length);
  data = data.subspan(2 + length);
  return found;
}

void write(const fs::path& path, std::span<const uint8_t> bytes) {
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
}

}  // namespace

// meta.json, then vector, buffers and a log of the core at (1,1), then the notes.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  std::span<const uint8_t> data(bytes, size);
  const fs::path epoch = directory() / "epoch0000";
  write(directory() / "meta.json", piece(data));
  write(epoch / "cv_01_01.bin", piece(data));
  write(epoch / "l1_01_01.bin", piece(data));
  write(epoch / "dram_01_01_r0.bin", piece(data));
  write(directory() / "zone_src_locations.log", piece(data));
  try {
    const ttc::tools::MemoryImage image(directory());
    if (!image.layout || !image.placement) std::abort();
    for (const auto& core : image.cores) (void)image.load(core, 0);
  } catch (const ttc::tools::ImageError& refused) {
    if (std::strlen(refused.what()) == 0) std::abort();
  }
  return 0;
}
