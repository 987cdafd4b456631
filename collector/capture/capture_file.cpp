#include "collector/capture/capture_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace ttc::collect {

static_assert(kCaptureHeadBytes == std::max(sizeof(CaptureHeader), sizeof(FileHeader)));
namespace {

constexpr uint64_t kLargestFileHeader = 1 << 20;
constexpr size_t kScanBytes = 1 << 20;  // read at once where no block is
constexpr size_t kMostDamage = 1000;    // parts that are remembered

bool has_blocks(uint32_t version) {
  return version == 2 || version == kCaptureVersion;
}

}  // namespace

CaptureFile::CaptureFile(const std::string& path, Open how) : path_(path) {
  fd_ = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd_ < 0) throw CaptureError("capture " + path + " cannot be opened: " + std::strerror(errno));
  struct stat info {};
  if (fstat(fd_, &info) == 0 && S_ISREG(info.st_mode)) bytes_ = static_cast<uint64_t>(info.st_size);
  try {
    const bool sound = read_header();
    if (how == Open::by_scan && !sound) version_ = kCaptureVersion;
    if (version_ == 1) return;
    if (how == Open::by_scan || !open_index()) scan();
  } catch (...) {
    close(fd_);
    throw;
  }
}

CaptureFile::~CaptureFile() {
  close(fd_);
}

size_t CaptureFile::pread_all(void* to, size_t bytes, uint64_t offset) const {
  size_t done = 0;
  while (done < bytes) {
    const ssize_t got =
        pread(fd_, static_cast<char*>(to) + done, bytes - done, static_cast<off_t>(offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    done += static_cast<size_t>(got);
  }
  return done;
}

// False: it is damaged, and its blocks have to be looked for.
bool CaptureFile::read_header() {
  const size_t got = pread_all(&header_, sizeof header_, 0);
  if (got < sizeof(uint64_t) + 2 * sizeof(uint32_t) || header_.magic != kCaptureMagic) {
    header_ = {};
    // The blocks behind a damaged header are still readable; every writer puts the first at the same offset.
    char block[sizeof(BlockHeader)];
    if (pread_all(block, sizeof block, kCaptureAlign) != sizeof block ||
        !check_block_header(std::as_bytes(std::span(block))).empty())
      throw CaptureError(path_ + " is not a ttcollect capture (no magic word at its start)");
    version_ = kCaptureVersion;
  } else {
    version_ = header_.version;
  }
  if (version_ == 1) {
    if (bytes_ < sizeof(CaptureHeader))
      throw CaptureError(path_ + " is cut inside its header and holds no data");
    if (header_.header_bytes != sizeof(CaptureHeader))
      throw CaptureError(path_ + " is a capture of version 1 with a header of " +
                         std::to_string(header_.header_bytes) + " bytes; there is no such");
    return true;
  }
  const bool sound = got == sizeof header_ &&
                     header_.checksum == checksum_of(&header_, offsetof(FileHeader, checksum)) &&
                     header_.header_bytes % kCaptureAlign == 0 && header_.header_bytes > 0 &&
                     header_.header_bytes <= kLargestFileHeader;
  if (sound && has_blocks(version_)) return true;
  char block[sizeof(BlockHeader)];
  const bool blocks = pread_all(block, sizeof block, kCaptureAlign) == sizeof block &&
                      check_block_header(std::as_bytes(std::span(block))).empty();
  if (!has_blocks(version_) && (sound || !blocks))
    throw CaptureError(path_ + " is a capture of version " + std::to_string(version_) +
                       "; this ttcollect reads versions 1 to 3");
  if (bytes_ < kCaptureAlign) throw CaptureError(path_ + " is cut inside its header and holds no data");
  version_ = kCaptureVersion;
  header_ = {};
  damage_.push_back({0, kCaptureAlign, "its header is damaged"});
  return false;
}

// The index of a file that was ended in order, if everything about it holds.
bool CaptureFile::open_index() {
  Trailer trailer;
  if (bytes_ < header_.header_bytes + kCaptureAlign || bytes_ % kCaptureAlign ||
      pread_all(&trailer, sizeof trailer, bytes_ - sizeof trailer) != sizeof trailer ||
      trailer.magic != kTrailerMagic ||
      trailer.checksum != checksum_of(&trailer, offsetof(Trailer, checksum)) ||
      trailer.index_offset >= bytes_ || trailer.blocks > bytes_ / kCaptureAlign ||
      trailer.index_offset % kCaptureAlign || bytes_ - trailer.index_offset > 2 * kLargestBlock)
    return false;
  std::vector<std::byte> block(bytes_ - trailer.index_offset);
  if (pread_all(block.data(), block.size(), trailer.index_offset) != block.size()) return false;
  try {
    blocks_ = decode_index(block, bytes_ / kCaptureAlign);  // each has as much at least
  } catch (const BlockError&) {
    blocks_.clear();
  }
  const auto outside = [&](const IndexEntry& e) {
    return e.offset < kCaptureAlign || e.offset % kCaptureAlign || e.offset > trailer.index_offset ||
           e.header.bytes > trailer.index_offset - e.offset;
  };
  if (blocks_.size() != trailer.blocks || std::any_of(blocks_.begin(), blocks_.end(), outside)) {
    blocks_.clear();
    return false;
  }
  indexed_ = true;
  return true;
}

// Returns the offset of the next sound block header from `offset` on, or the file's end. Skips holes.
uint64_t CaptureFile::next_block(uint64_t offset) const {
  std::vector<std::byte> buffer(kScanBytes);
  while (offset < bytes_) {
    if (const off_t data = lseek(fd_, static_cast<off_t>(offset), SEEK_DATA);
        data > static_cast<off_t>(offset))
      offset = static_cast<uint64_t>(data) & ~(kCaptureAlign - 1);
    else if (data < 0 && errno == ENXIO)
      return bytes_;
    const size_t got = pread_all(buffer.data(), buffer.size(), offset);
    for (size_t at = 0; at + sizeof(BlockHeader) <= got; at += kCaptureAlign)
      if (check_block_header(std::span(buffer).subspan(at, sizeof(BlockHeader))).empty()) return offset + at;
    if (got < buffer.size()) return bytes_;
    offset += got;
  }
  return bytes_;
}

void CaptureFile::scan() {
  const auto damaged = [this](uint64_t from, uint64_t to, const std::string& why) {
    if (damage_.size() < kMostDamage) damage_.push_back({from, to, why});
  };
  uint64_t offset = header_.header_bytes;
  while (offset < bytes_) {
    std::byte bytes[sizeof(BlockHeader)];
    const size_t got = pread_all(bytes, sizeof bytes, offset);
    const std::string why = check_block_header({bytes, got});
    IndexEntry e;
    e.offset = offset;
    if (why.empty()) std::memcpy(static_cast<void*>(&e.header), bytes, sizeof e.header);
    if (why.empty() && e.header.bytes <= bytes_ - offset) {
      if (e.header.kind == BlockKind::chunks) blocks_.push_back(e);
      offset += e.header.bytes;
      continue;
    }
    const uint64_t next = next_block(offset + kCaptureAlign);
    if (next >= bytes_) {  // no block behind it: where writing stopped
      cut_ = true;
      return;
    }
    damaged(offset, next, why.empty() ? "it is longer than what is left of the file" : why);
    offset = next;
  }
}

bool CaptureFile::lacks_blocks() const {
  if (cut_ || !damage_.empty()) return false;
  uint64_t next = 0;
  for (const IndexEntry& e : blocks_) {
    if (e.header.number >> 62) continue;  // made at the file's beginning or end
    if (next && e.header.number > next) return true;
    next = e.header.number + 1;
  }
  return false;
}

void CaptureFile::read(size_t block, bool facts_only, BlockDecoder& decoder, ChunkBatch& chunks) const {
  const IndexEntry& e = blocks_[block];
  const std::span<std::byte> bytes = decoder.room(facts_only ? e.header.facts_end : e.header.content_bytes);
  if (pread_all(bytes.data(), bytes.size(), e.offset) != bytes.size()) throw BlockError("it is cut");
  if (bytes.size() < sizeof e.header || std::memcmp(bytes.data(), &e.header, sizeof e.header) != 0)
    throw BlockError("its header is not the one that the index has");
  decoder.decode(bytes, facts_only, chunks);
}

}  // namespace ttc::collect
