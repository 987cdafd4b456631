// A gzip stream (RFC 1952) of blocks of one input size, each compressed by any thread. Where blocks begin depends on the input alone, so that
// the stream is the same byte for byte for every number of threads.
//
//   one         the blocks are parts of one deflate stream: each ends at a byte (Z_SYNC_FLUSH), and refers to the 32 KiB before it, which are
//               its dictionary. Any reader of gzip reads it. It has its end only after finish()
//   of_blocks   each block is a member (RFC 1952, 2.2), so that what was written so far always has an end. flush() ends a block
//   of_appends  what comes by one append() is a block and a member: a member holds whole records, where an append does
//
// Memory: two blocks for each thread, each with its compressed form and 0.3 MB for zlib.
#pragma once
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "ttcollect/workers.hpp"

namespace ttc::tools {

class GzipBlocks {
 public:
  static constexpr size_t kBlockBytes = 1 << 20;
  enum class Members : uint8_t { one, of_blocks, of_appends };
  using Write = std::function<void(std::string_view)>;
  // `workers`, null: none, compress; `write` gets the stream, in order, in the calls below. What it throws ends the stream.
  GzipBlocks(jobs::Workers* workers, Members members, Write write);
  ~GzipBlocks();
  GzipBlocks(const GzipBlocks&) = delete;
  GzipBlocks& operator=(const GzipBlocks&) = delete;

  void append(std::string_view bytes);
  // Everything so far is written; does nothing where there is one member.
  void flush();
  // The stream has its end. Nothing may be appended after it.
  void finish();

 private:
  class Block;
  Block& filling();
  void hand_over(bool last);
  void write_oldest();

  jobs::Workers* const workers_;
  const Members members_;
  const Write write_;
  const size_t most_blocks_;
  std::deque<std::unique_ptr<Block>> blocks_;  // oldest first; the last one may be filling_
  std::vector<std::unique_ptr<Block>> spare_;
  std::vector<char> dictionary_;  // of the next block
  bool filling_ = false, begun_ = false;
  uint64_t checksum_ = 0, bytes_ = 0;  // of what was written of the one member
};

}  // namespace ttc::tools
