#include "collector/capture_reader.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "collector/capture_format.hpp"
#include "shm/chunk.hpp"

namespace ttc::collect {
namespace {
constexpr uint32_t kLargestChunk = 256u << 20;  // an eighth of the largest ring anybody can ask for
}

CaptureReader::CaptureReader(const std::string& path) : file_(std::fopen(path.c_str(), "rbe")) {
  if (!file_) throw CaptureError("capture " + path + " cannot be opened: " + std::strerror(errno));
  CaptureHeader header;
  if (std::fread(&header, sizeof header, 1, file_.get()) != 1 || header.magic != kCaptureMagic)
    throw CaptureError(path + " is not a ttcollect capture (no magic word at its start)");
  if (header.version != 1 || header.header_bytes != sizeof header)
    throw CaptureError(path + " is a capture of version " + std::to_string(header.version) +
                       "; this ttcollect reads version 1");
  offset_ = sizeof header;
  struct stat info {};
  if (fstat(fileno(file_.get()), &info) == 0 && S_ISREG(info.st_mode))
    file_bytes_ = static_cast<uint64_t>(info.st_size);
}

bool CaptureReader::next(std::vector<uint64_t>& chunk) {
  if (cut_ || !damage_.empty()) return false;  // nothing behind it can be found
  uint64_t first;
  const size_t got = std::fread(&first, 1, sizeof first, file_.get());
  if (got != sizeof first) {
    cut_ = got != 0;
    return false;
  }
  const auto bytes_untrusted = static_cast<uint32_t>(first);
  if (bytes_untrusted < sizeof(shm::ChunkHeader) || bytes_untrusted > kLargestChunk) {
    damage_ = "at byte " + std::to_string(offset_) + ": a chunk cannot be " +
              std::to_string(bytes_untrusted) + " bytes long";
    return false;
  }
  if (file_bytes_ != 0 && bytes_untrusted > file_bytes_ - std::min(file_bytes_, offset_)) {
    cut_ = true;  // never reserve memory for what is not there
    return false;
  }
  chunk.resize((bytes_untrusted + 7) / 8);
  chunk[0] = first;
  if (std::fread(chunk.data() + 1, 8, chunk.size() - 1, file_.get()) != chunk.size() - 1) {
    cut_ = true;
    return false;
  }
  if (const std::string why = shm::check_chunk(chunk); !why.empty()) {
    damage_ = "at byte " + std::to_string(offset_) + ": " + why;
    return false;
  }
  offset_ += chunk.size() * 8;
  return true;
}

}  // namespace ttc::collect
