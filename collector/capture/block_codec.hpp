// Chunks to a block of a capture file, and back. Decoded chunks are the encoded ones bit for bit, but for
// bytes that no field of a chunk refers to: those come back as zeros.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "collector/capture/capture_format.hpp"
#include "shm/chunk.hpp"

struct ZSTD_CCtx_s;

namespace ttc::collect {

// A block's contents contradict each other; the sentence part names the contradiction.
struct BlockError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Chunks one behind the other. Grows as needed, is cleared without giving memory back.
class ChunkBatch {
 public:
  void add(std::span<const uint64_t> chunk);
  // Room for one more chunk of so many words, to be filled in; what it holds is not defined.
  std::span<uint64_t> add_room(size_t words);
  void reserve(size_t words);
  void clear() { shrink_to(0); }
  // Keeps the first `chunks` chunks.
  void shrink_to(size_t chunks) { begins_.resize(chunks + 1), used_ = begins_.back(); }
  size_t size() const { return begins_.size() - 1; }
  bool empty() const { return size() == 0; }
  size_t bytes() const { return used_ * 8; }
  std::span<const uint64_t> operator[](size_t i) const {
    return {words_.get() + begins_[i], begins_[i + 1] - begins_[i]};
  }

 private:
  std::unique_ptr<uint64_t[]> words_;
  size_t capacity_ = 0, used_ = 0;
  std::vector<size_t> begins_{0};
};

// Memory as direct I/O requires it, at multiples of kCaptureAlign.
class AlignedBytes {
 public:
  std::byte* data() const { return bytes_.get(); }
  size_t size() const { return size_; }
  std::span<const std::byte> bytes() const { return {data(), size_}; }
  void resize(size_t bytes);  // contents are kept up to the smaller of both sizes

 private:
  struct Free {
    void operator()(std::byte* p) const;
  };
  std::unique_ptr<std::byte, Free> bytes_;
  size_t size_ = 0, capacity_ = 0;
};

// One thread's.
class BlockEncoder {
 public:
  explicit BlockEncoder(int zstd_level = kDefaultLevel);
  ~BlockEncoder();
  BlockEncoder(const BlockEncoder&) = delete;

  static constexpr int kDefaultLevel = 1;

  // The whole block, with header and padding.
  BlockHeader encode(const ChunkBatch& chunks, uint64_t number, AlignedBytes& block);

 private:
  void put_section(Section section, std::span<const uint8_t> bytes, SectionCodec packed_as,
                   AlignedBytes& block);

  ZSTD_CCtx_s* zstd_;
  int level_;
  std::vector<SectionEntry> table_;
  size_t at_ = 0;  // in the block being made
};

// Checks `bytes`, which begin with a block header. Empty if the header is sound and its own checksum holds. What
// follows the header is not checked.
std::string check_block_header(std::span<const std::byte> bytes);

// One thread's: it keeps its memory from block to block.
class BlockDecoder {
 public:
  BlockDecoder();
  ~BlockDecoder();
  BlockDecoder(BlockDecoder&&) noexcept;

  // `block`: header.content_bytes of it, or header.facts_end of it with `facts_only`, which leaves out all
  // chunks of device words. Appends to `chunks`. Throws BlockError, `chunks` then holds what it held before.
  void decode(std::span<const std::byte> block, bool facts_only, ChunkBatch& chunks);
  void give_back();  // the memory that it keeps
  // Room for a block to be decoded, until the next call.
  std::span<std::byte> room(size_t bytes);

 private:
  struct Memory;
  std::unique_ptr<Memory> memory_;
};

// The index of a file: its entries with a block's header and padding, the trailer in the last bytes.
void encode_index(std::span<const IndexEntry> entries, uint64_t number, uint64_t offset, AlignedBytes& block);
// Throws BlockError.
std::vector<IndexEntry> decode_index(std::span<const std::byte> block, uint64_t entries_at_most);

// Largest block that is taken for one: the largest chunk there can be, and some.
inline constexpr uint64_t kLargestBlock = uint64_t{320} << 20;

uint64_t checksum_of(const void* bytes, size_t size);

}  // namespace ttc::collect
