// Reads a .ttc of any version chunk by chunk, in bounded memory. Every byte is foreign until checked.
#pragma once
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "collector/capture/capture_file.hpp"

namespace ttc::collect {

// Which chunks of device words are wanted. Blocks that have none are not read, apart from their facts.
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
  // `threads` decode ahead of the caller; 0: none. Throws CaptureError: no file, no capture, newer version.
  explicit CaptureReader(const std::string& path, const Wanted& wanted = {}, unsigned threads = 0);
  ~CaptureReader();

  // Of a file of version 2 sessions, names and clock domains come first, as from a segment. False at the end.
  // `cut()` then tells whether the file ends in the middle of a chunk or block, `damage()`
  // whether something made no sense: in a file of version 1 nothing behind it can be found, in one of
  // version 2 the other blocks were read.
  bool next(std::vector<uint64_t>& chunk);
  bool cut() const { return cut_; }
  const std::string& damage() const { return damage_; }
  size_t damaged_parts() const { return damaged_parts_; }
  // A part in front of everything that was delivered so far is damaged. Sessions and names aside.
  bool lost_beginning() const { return lost_beginning_; }
  // At the end: something stood behind all that was delivered, or the file was not ended in order.
  bool broke_off() const { return cut_ || lost_end_ || !file_.indexed(); }
  uint64_t offset() const { return offset_; }  // of the next chunk or block
  double progress() const;                     // 0 to 1
  const CaptureFile& file() const { return file_; }
  // Of a file of version 2.
  uint64_t blocks_read() const { return blocks_read_; }
  uint64_t blocks_of_facts() const { return blocks_of_facts_; }  // of them only the facts were read

 private:
  struct Ahead;
  struct Close {
    void operator()(std::FILE* f) const { std::fclose(f); }
  };
  bool next_of_version_1(std::vector<uint64_t>& chunk);
  bool next_batch();
  void count_from(uint64_t first_ns);
  void note_edges();
  void note_damage(const std::string& why);

  CaptureFile file_;
  Wanted wanted_;
  std::unique_ptr<std::FILE, Close> stream_;  // of version 1
  std::unique_ptr<Ahead> ahead_;
  BlockDecoder decoder_;
  ChunkBatch batch_;
  size_t in_batch_ = 0;
  bool lasting_ = true;  // sessions and names come first
  size_t block_ = 0;     // the next one
  uint64_t offset_ = 0;
  uint64_t blocks_read_ = 0, blocks_of_facts_ = 0;
  uint64_t facts_first_ = 0;  // of those, read for sessions and names before anything else
  bool cut_ = false;
  bool lost_beginning_ = false, lost_end_ = false;
  std::string damage_;
  size_t damaged_parts_ = 0;
};

}  // namespace ttc::collect
