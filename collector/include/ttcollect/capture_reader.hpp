// Reads a .ttc of any version chunk by chunk, in bounded memory. Every byte is foreign until checked.
#pragma once
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "shm/chunk.hpp"

namespace ttc::jobs {
class Workers;
}

namespace ttc::collect {

class CaptureFile;
struct BlockHeader;

// A writer makes the file and then writes its header: a file of fewer bytes is no capture yet.
inline constexpr size_t kCaptureHeadBytes = 64;

// One sentence: what, where, why, what to try.
struct CaptureError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// The order of lanes in a block's header.
constexpr uint32_t lane_number(uint32_t device, uint8_t x, uint8_t y, uint8_t risc) {
  return (device & 0xff) << 24 | uint32_t{x} << 16 | uint32_t{y} << 8 | risc;
}

// Selects chunks of device words. Of blocks without any such chunk only the facts are read.
struct Wanted {
  uint64_t read_from_ns = 0, read_to_ns = ~uint64_t{0};  // when they were read, CLOCK_MONOTONIC_RAW
  bool relative = false;                               // the two above count from the first words of the file
  uint64_t cycles_from = 0, cycles_to = ~uint64_t{0};  // blocks with markers of that time; not exact
  uint32_t lane_from = 0, lane_to = ~uint32_t{0};      // lane_number(); blocks with such lanes; not exact

  bool wants(const BlockHeader& block) const;
  bool wants(const shm::ChunkHeader& chunk) const;
};

class CaptureReader {
 public:
  // `workers` decode blocks ahead of the caller, their owner, and outlive this; null: none. Throws CaptureError: no file, no capture, newer
  // version.
  explicit CaptureReader(const std::string& path, const Wanted& wanted = {},
                         jobs::Workers* workers = nullptr);
  ~CaptureReader();
  CaptureReader(CaptureReader&&) noexcept;
  CaptureReader& operator=(CaptureReader&&) noexcept;

  // In a file of version 2 sessions, names and clock domains come first, as from a segment. Returns false at the end.
  // Then `cut()` returns whether the file ends in the middle of a chunk or block, and `damage()` describes
  // the first damage. Behind damage a file of version 1 cannot be read; of version 2 the other blocks were read.
  bool next(std::vector<uint64_t>& chunk);
  // The same, without a copy: chunks of a block share its memory, which is used again when none of them is kept.
  bool next(shm::KeptChunk& chunk);
  bool cut() const;
  const std::string& damage() const;
  size_t damaged_parts() const;
  // True where the file is damaged in front of the first delivered chunk, sessions and names aside.
  bool lost_beginning() const;
  // Valid at the end: true if chunks follow the last delivered one, or the writer did not close the file.
  bool broke_off() const;
  // Blocks are missing between others without damage: the recorder dropped them.
  bool lacks_blocks() const;
  uint64_t offset() const;  // of the next chunk or block
  double progress() const;  // 0 to 1
  uint32_t version() const;
  bool ended_in_order() const;  // of versions 2 and 3: the file ends with an index
  // The file has version 2 or 3.
  uint64_t blocks_read() const;
  uint64_t blocks_of_facts() const;  // of them only the facts were read
  const CaptureFile& file() const;   // its blocks, for programs of the collector

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

// Reads a capture while it is written: each block once it is complete in the file, in the file's order. Most of the work on a run is thus
// done when the run ends.
//
// Sessions and names come where the file has them, as from a ring, and not first. Where a block with names was dropped, or a part of
// the file is damaged, only a reader of the whole file gets everything: why_not_whole() is then not empty, and the file must be read again.
class CaptureFollower {
 public:
  // Throws CaptureError: no file, or none of version 2 or 3.
  explicit CaptureFollower(const std::string& path);
  ~CaptureFollower();
  CaptureFollower(CaptureFollower&&) noexcept;
  CaptureFollower& operator=(CaptureFollower&&) noexcept;

  enum class Next { chunk, idle, end };
  // Waits at most `wait_ms` for a block. `end`: the writer closed the file. A file that is never closed stays `idle`.
  Next next(std::vector<uint64_t>& chunk, unsigned wait_ms);
  // Valid after the end. Empty if this reader got everything that a reader of the whole file gets.
  const std::string& why_not_whole() const;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace ttc::collect
