#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>

#include "collector/capture/capture_file.hpp"
#include "ttcollect/capture_reader.hpp"

namespace ttc::collect {
namespace {

// A file system gives no notice of a block that is whole; the writer makes one every 0.2 s.
constexpr std::chrono::milliseconds kLookAgain{20};

}  // namespace

struct CaptureFollower::Parts {
  explicit Parts(const std::string& name) : path(name) {
    fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0) throw CaptureError("capture " + path + " cannot be opened: " + std::strerror(errno));
    try {
      const CaptureFile file(path);
      if (file.version() == 1)
        throw CaptureError(path + " is a capture of version 1, which is no longer written");
    } catch (...) {
      close(fd);
      throw;
    }
  }
  ~Parts() { close(fd); }
  Parts(const Parts&) = delete;
  Parts& operator=(const Parts&) = delete;

  bool read_at(uint64_t from, std::span<std::byte> to) const {
    size_t done = 0;
    while (done < to.size()) {
      const ssize_t got = pread(fd, to.data() + done, to.size() - done, static_cast<off_t>(from + done));
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) return false;
      done += static_cast<size_t>(got);
    }
    return true;
  }

  // The last 32 bytes are those of a file that was ended in order.
  bool ended() const {
    struct stat info {};
    Trailer trailer;
    if (fstat(fd, &info) != 0 || static_cast<uint64_t>(info.st_size) < kCaptureAlign) return false;
    const auto bytes = static_cast<uint64_t>(info.st_size);
    return read_at(bytes - sizeof trailer, std::as_writable_bytes(std::span(&trailer, 1))) &&
           trailer.magic == kTrailerMagic &&
           trailer.checksum == checksum_of(&trailer, offsetof(Trailer, checksum));
  }

  // Whether there is one more block, whole. Of a block that is being written the checksums do not hold yet.
  bool take_block() {
    std::byte head[sizeof(BlockHeader)];
    if (!read_at(offset, head) || !check_block_header(head).empty()) return false;
    BlockHeader header;
    std::memcpy(static_cast<void*>(&header), head, sizeof header);
    if (header.kind == BlockKind::chunks) {
      batch.clear();
      at = 0;
      const std::span<std::byte> bytes = decoder.room(header.content_bytes);
      if (!read_at(offset, bytes)) return false;
      try {
        decoder.decode(bytes, false, batch);
      } catch (const BlockError&) {
        return false;
      }
      ++blocks;
    } else if (header.kind == BlockKind::index && !ended()) {
      return false;
    }
    offset += header.bytes;
    return true;
  }

  void judge() {
    try {
      const CaptureFile file(path);
      if (!file.indexed())
        why = "it was not ended in order";
      else if (!file.damage().empty())
        why = "a part of it is damaged";
      else if (file.lacks_blocks())
        why = "blocks of it were not kept";
      else if (file.blocks().size() != blocks)
        why = "it has " + std::to_string(file.blocks().size()) + " blocks, and " + std::to_string(blocks) +
              " came";
    } catch (const CaptureError& e) {
      why = e.what();
    }
  }

  const std::string path;
  int fd = -1;
  uint64_t offset = kCaptureAlign, blocks = 0;
  BlockDecoder decoder;
  ChunkBatch batch;
  size_t at = 0;
  bool over = false;
  std::string why;
};

CaptureFollower::CaptureFollower(const std::string& path) : parts_(std::make_unique<Parts>(path)) {}
CaptureFollower::~CaptureFollower() = default;
CaptureFollower::CaptureFollower(CaptureFollower&&) noexcept = default;
CaptureFollower& CaptureFollower::operator=(CaptureFollower&&) noexcept = default;

CaptureFollower::Next CaptureFollower::next(std::vector<uint64_t>& chunk, unsigned wait_ms) {
  Parts& p = *parts_;
  const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(wait_ms);
  while (p.at == p.batch.size()) {
    if (p.over) return Next::end;
    const bool ended = p.ended();  // in front of the look for a block: what it ended with is there then
    if (p.take_block()) continue;
    if (ended) {
      p.over = true;
      p.judge();
      continue;
    }
    const auto now = std::chrono::steady_clock::now();
    if (now >= until) return Next::idle;
    std::this_thread::sleep_for(std::min<std::chrono::steady_clock::duration>(kLookAgain, until - now));
  }
  const auto found = p.batch[p.at++];
  chunk.assign(found.begin(), found.end());
  return Next::chunk;
}

const std::string& CaptureFollower::why_not_whole() const {
  return parts_->why;
}

}  // namespace ttc::collect
