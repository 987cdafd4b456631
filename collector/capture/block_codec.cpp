#include "collector/capture/block_codec.hpp"

#include <xxhash.h>
#include <zstd.h>

#include <algorithm>
#include <cstring>
#include <new>

#include "collector/capture/block_joiner.hpp"
#include "collector/capture/block_splitter.hpp"
#include "collector/capture/key_codec.hpp"

namespace ttc::collect {

namespace {

constexpr size_t kWorthZstd = 48;
constexpr size_t kWorthKeys = 64;

// How much a block can hold that is so long: what a header claims beyond it is refused before memory is taken
// for it. Writers make blocks of 2 MiB that pack to some hundred bytes at best, and of larger chunks some
// thousandth. Of a chunk's bytes each is in one section, or two that are hardly larger.
constexpr uint64_t kMostInAny = 16 << 20;
constexpr uint64_t kMostRatio = 16384;
constexpr uint64_t kMostSections = 4;
constexpr uint64_t kSectionsOfAny = 1 << 20;

uint64_t align_block(uint64_t bytes) {
  return (bytes + kCaptureAlign - 1) & ~(kCaptureAlign - 1);
}

BlockHeader header_in(std::span<const std::byte> bytes) {
  BlockHeader h;
  std::memcpy(static_cast<void*>(&h), bytes.data(), sizeof h);
  return h;
}

bool keyed(const SectionEntry& e) {
  return e.codec == SectionCodec::keys && e.section == Section::shape_keys;
}

struct FreeContext {
  void operator()(ZSTD_DCtx* zstd) const { ZSTD_freeDCtx(zstd); }
};
using Inflater = std::unique_ptr<ZSTD_DCtx, FreeContext>;

Inflater make_inflater() {
  Inflater zstd(ZSTD_createDCtx());
  if (!zstd) throw std::bad_alloc();
  return zstd;
}

// The section's contents: unpacked into `to`, or in place.
std::span<const uint8_t> inflate(const SectionEntry& e, const std::byte* from, ZSTD_DCtx* zstd,
                                 Scratch<uint8_t>& to) {
  if (e.raw_bytes > kLargestBlock) throw BlockError("a section of it is too long");
  if (e.codec == SectionCodec::stored) {
    if (e.raw_bytes != e.stored_bytes) throw BlockError("a stored section of it has two lengths");
    return {reinterpret_cast<const uint8_t*>(from), e.stored_bytes};
  }
  if (e.codec != SectionCodec::zstd && !keyed(e))
    throw BlockError("a section of it is packed in an unknown way");
  if (ZSTD_getFrameContentSize(from, e.stored_bytes) != e.raw_bytes)
    throw BlockError("a section of it has two lengths");
  const std::span<uint8_t> bytes = to.take(e.raw_bytes);
  const size_t got = ZSTD_decompressDCtx(zstd, bytes.data(), bytes.size(), from, e.stored_bytes);
  if (ZSTD_isError(got) || got != bytes.size())
    throw BlockError(std::string("a section of it cannot be unpacked: ") +
                     (ZSTD_isError(got) ? ZSTD_getErrorName(got) : "another length"));
  return bytes;
}

}  // namespace

uint64_t checksum_of(const void* bytes, size_t size) {
  return XXH3_64bits(bytes, size);
}

BlockEncoder::BlockEncoder(int zstd_level) : zstd_(ZSTD_createCCtx()), level_(zstd_level) {
  if (!zstd_) throw std::bad_alloc();
}
BlockEncoder::~BlockEncoder() {
  ZSTD_freeCCtx(zstd_);
}

// `packed_as` keys: only packed can they be distinguished from keys that are not.
void BlockEncoder::put_section(Section section, std::span<const uint8_t> bytes, SectionCodec packed_as,
                               AlignedBytes& block) {
  SectionEntry e;
  e.section = section;
  e.raw_bytes = static_cast<uint32_t>(bytes.size());
  size_t packed = bytes.size();
  if (bytes.size() >= kWorthZstd) {
    block.resize(at_ + ZSTD_compressBound(bytes.size()));
    packed =
        ZSTD_compressCCtx(zstd_, block.data() + at_, block.size() - at_, bytes.data(), bytes.size(), level_);
    if (!ZSTD_isError(packed) && (packed < bytes.size() || packed_as == SectionCodec::keys))
      e.codec = packed_as;
  }
  if (e.codec == SectionCodec::stored) {
    packed = bytes.size();
    block.resize(at_ + packed);
    if (packed) std::memcpy(block.data() + at_, bytes.data(), packed);
  }
  e.stored_bytes = static_cast<uint32_t>(packed);
  at_ += packed;
  table_.push_back(e);
}

BlockHeader BlockEncoder::encode(const ChunkBatch& chunks, uint64_t number, AlignedBytes& block) {
  Sections sections;
  BlockHeader h;
  h.number = number;
  h.raw_bytes = chunks.bytes();
  h.chunks = static_cast<uint32_t>(chunks.size());
  Splitter(sections).split(chunks, h);
  SectionBytes& keys = sections[Section::shape_keys];
  const bool keyed = sections.keys.size() >= kWorthKeys && put_keys(keys, sections.keys);
  if (!keyed) put_planes(keys, sections.keys);

  size_t used = 0;
  for (const SectionBytes& s : sections.bytes) used += !s.empty();
  h.sections = static_cast<uint32_t>(used);
  const size_t table_at = sizeof h;
  at_ = table_at + used * sizeof(SectionEntry);
  table_.clear();
  block.resize(at_);
  h.facts_end = static_cast<uint32_t>(at_);
  for (size_t i = 0; i < sections.bytes.size(); ++i) {
    if (sections.bytes[i].empty()) continue;
    const auto section = static_cast<Section>(i);
    put_section(section, sections.bytes[i],
                keyed && section == Section::shape_keys ? SectionCodec::keys : SectionCodec::zstd, block);
    if (i <= static_cast<size_t>(Section::facts)) h.facts_end = static_cast<uint32_t>(at_);
  }
  h.content_bytes = at_;
  h.bytes = align_block(at_);
  block.resize(h.bytes);
  std::memset(block.data() + at_, 0, h.bytes - at_);
  if (used) std::memcpy(block.data() + table_at, table_.data(), used * sizeof(SectionEntry));
  h.content_checksum = checksum_of(block.data() + sizeof h, at_ - sizeof h);
  h.facts_checksum = static_cast<uint32_t>(checksum_of(block.data() + sizeof h, h.facts_end - sizeof h));
  h.header_checksum = checksum_of(&h, offsetof(BlockHeader, header_checksum));
  std::memcpy(block.data(), &h, sizeof h);
  return h;
}

void encode_index(std::span<const IndexEntry> entries, uint64_t number, uint64_t offset,
                  AlignedBytes& block) {
  BlockHeader h;
  h.kind = BlockKind::index;
  h.number = number;
  h.sections = 1;
  SectionEntry e;
  e.section = kIndexSection;
  e.raw_bytes = static_cast<uint32_t>(entries.size_bytes());
  const size_t at = sizeof h + sizeof e;
  block.resize(at + ZSTD_compressBound(entries.size_bytes()));
  const size_t packed =
      ZSTD_compress(block.data() + at, block.size() - at, entries.data(), entries.size_bytes(), 1);
  if (ZSTD_isError(packed)) throw BlockError(ZSTD_getErrorName(packed));
  e.codec = SectionCodec::zstd;
  e.stored_bytes = static_cast<uint32_t>(packed);
  h.facts_end = static_cast<uint32_t>(at);
  h.content_bytes = at + packed;
  h.bytes = align_block(h.content_bytes + sizeof(Trailer));
  block.resize(h.bytes);
  std::memset(block.data() + h.content_bytes, 0, h.bytes - h.content_bytes);
  std::memcpy(block.data() + sizeof h, &e, sizeof e);
  h.content_checksum = checksum_of(block.data() + sizeof h, h.content_bytes - sizeof h);
  h.header_checksum = checksum_of(&h, offsetof(BlockHeader, header_checksum));
  std::memcpy(block.data(), &h, sizeof h);
  Trailer trailer;
  trailer.index_offset = offset;
  trailer.blocks = entries.size();
  trailer.checksum = checksum_of(&trailer, offsetof(Trailer, checksum));
  std::memcpy(block.data() + h.bytes - sizeof trailer, &trailer, sizeof trailer);
}

std::vector<IndexEntry> decode_index(std::span<const std::byte> block, uint64_t entries_at_most) {
  if (const std::string why = check_block_header(block); !why.empty()) throw BlockError(why);
  const BlockHeader h = header_in(block);
  if (h.kind != BlockKind::index || h.sections != 1 || h.content_bytes > block.size())
    throw BlockError("it is no index");
  if (h.content_checksum != checksum_of(block.data() + h.header_bytes, h.content_bytes - h.header_bytes))
    throw BlockError("its contents are damaged");
  SectionEntry e;
  std::memcpy(static_cast<void*>(&e), block.data() + h.header_bytes, sizeof e);
  const size_t at = h.header_bytes + sizeof e;
  if (e.section != kIndexSection || e.stored_bytes > h.content_bytes - at ||
      e.raw_bytes % sizeof(IndexEntry) || e.raw_bytes / sizeof(IndexEntry) > entries_at_most)
    throw BlockError("it is no index");
  Scratch<uint8_t> room;
  const auto bytes = inflate(e, block.data() + at, make_inflater().get(), room);
  std::vector<IndexEntry> entries(bytes.size() / sizeof(IndexEntry));
  if (!entries.empty()) std::memcpy(static_cast<void*>(entries.data()), bytes.data(), bytes.size());
  return entries;
}

std::string check_block_header(std::span<const std::byte> bytes) {
  if (bytes.size() < sizeof(BlockHeader)) return "it is cut inside its header";
  const BlockHeader h = header_in(bytes);
  if (h.magic != kBlockMagic) return "no block begins there";
  if (h.header_checksum != checksum_of(bytes.data(), offsetof(BlockHeader, header_checksum)))
    return "its header is damaged";
  const uint64_t table_end = h.header_bytes + uint64_t{h.sections} * sizeof(SectionEntry);
  if (h.header_bytes < sizeof h || h.bytes == 0 || h.bytes % kCaptureAlign || h.bytes > 2 * kLargestBlock ||
      h.content_bytes > h.bytes || table_end > h.content_bytes || h.raw_bytes > kLargestBlock)
    return "its header contradicts itself";
  if (h.kind == BlockKind::chunks && (h.facts_end < table_end || h.facts_end > h.content_bytes))
    return "its header contradicts itself";
  return {};
}

struct BlockDecoder::Memory {
  Inflater zstd = make_inflater();
  std::array<Scratch<uint8_t>, static_cast<size_t>(Section::count)> sections;
  ColumnMemory columns;
  Scratch<std::byte> block;
};

BlockDecoder::BlockDecoder() : memory_(std::make_unique<Memory>()) {}
BlockDecoder::~BlockDecoder() = default;
BlockDecoder::BlockDecoder(BlockDecoder&&) noexcept = default;

void BlockDecoder::give_back() {
  memory_->sections = {};
  memory_->columns = {};
  memory_->block = {};
}

std::span<std::byte> BlockDecoder::room(size_t bytes) {
  return memory_->block.take(bytes);
}

void BlockDecoder::decode(std::span<const std::byte> block, bool facts_only, ChunkBatch& chunks) {
  if (const std::string why = check_block_header(block); !why.empty()) throw BlockError(why);
  const BlockHeader h = header_in(block);
  const uint64_t end = facts_only ? h.facts_end : h.content_bytes;
  if (block.size() < end) throw BlockError("it is cut");
  const uint64_t sum = checksum_of(block.data() + h.header_bytes, end - h.header_bytes);
  if (facts_only ? static_cast<uint32_t>(sum) != h.facts_checksum : sum != h.content_checksum)
    throw BlockError("its contents are damaged");
  if (h.raw_bytes > kMostInAny && h.raw_bytes / kMostRatio > h.content_bytes)
    throw BlockError("it cannot hold the " + std::to_string(h.raw_bytes) + " bytes that it claims");
  uint64_t sections_left = kMostSections * h.raw_bytes + kSectionsOfAny;
  SectionViews sections;
  uint64_t at = h.header_bytes + uint64_t{h.sections} * sizeof(SectionEntry);
  for (uint32_t i = 0; i < h.sections; ++i) {
    SectionEntry e;
    std::memcpy(static_cast<void*>(&e), block.data() + h.header_bytes + i * sizeof e, sizeof e);
    if (e.stored_bytes > h.content_bytes - at) throw BlockError("a section of it is outside of the block");
    const bool wanted = !facts_only || e.section <= Section::facts;
    if (wanted && at + e.stored_bytes > end) throw BlockError("its facts do not come first");
    if (wanted && e.section < Section::count) {
      if (e.raw_bytes > sections_left) throw BlockError("its sections claim more than its chunks can hold");
      sections_left -= e.raw_bytes;
      Scratch<uint8_t>& to = memory_->sections[static_cast<size_t>(e.section)];
      sections[e.section] = inflate(e, block.data() + at, memory_->zstd.get(), to);
      if (e.section == Section::shape_keys) sections.keyed = keyed(e);
    }
    at += e.stored_bytes;
  }
  const size_t before = chunks.size();
  try {
    Joiner joiner(sections, h, memory_->columns, chunks);
    if (facts_only)
      joiner.join_facts();
    else
      joiner.join();
  } catch (...) {
    chunks.shrink_to(before);
    throw;
  }
}

}  // namespace ttc::collect
