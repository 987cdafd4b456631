#include "collector/block_codec.hpp"

#include <xxhash.h>
#include <zstd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>
#include <unordered_map>

#include "lane_columns.hpp"

namespace ttc::collect {

using shm::ChunkHeader;
using shm::ChunkKind;
using shm::SpanEntry;

namespace {

constexpr size_t kRiscs = 8;  // of a core that columns know; chunks that name others are kept as they are
constexpr size_t kCores = 0x10000;
constexpr uint32_t kFirstData = sizeof(ChunkHeader) + 5 * sizeof(SpanEntry);  // where a collector puts it
constexpr size_t kSpanRow = 16;  // a span entry without its digest
constexpr size_t kWorthZstd = 48;

constexpr uint32_t align8(uint32_t bytes) {
  return (bytes + 7) & ~7u;
}
uint64_t align_block(uint64_t bytes) {
  return (bytes + kCaptureAlign - 1) & ~(kCaptureAlign - 1);
}

// What is known of a core and of its lanes when their next chunk is predicted.
struct CorePast {
  ChunkHeader header;
  uint32_t next_word[kRiscs] = {};
  uint32_t lane[kRiscs];
};

struct HeadPast {
  uint64_t sequence = ~uint64_t{0};
  uint64_t read_time_ns = 0;
};

using Row = std::array<uint8_t, sizeof(ChunkHeader)>;

void xor_with(Row& row, const ChunkHeader& header) {
  const auto* bytes = reinterpret_cast<const uint8_t*>(&header);
  for (size_t i = 0; i < row.size(); ++i) row[i] ^= bytes[i];
}
// Fields that count are differences, all others are or-ed exclusively with the core's last header.
Row row_of(const ChunkHeader& h, const CorePast& core, const HeadPast& past, uint32_t expected_bytes) {
  Row row;
  std::memcpy(row.data(), &h, sizeof h);
  xor_with(row, core.header);
  ChunkHeader d;
  d.bytes = h.bytes - expected_bytes;
  d.sequence = h.sequence - past.sequence - 1;
  d.read_time_ns = h.read_time_ns - past.read_time_ns;
  d.run_counter = h.run_counter - core.header.run_counter;
  const auto put = [&](auto member, size_t offset) {
    std::memcpy(row.data() + offset, &member, sizeof member);
  };
  put(d.bytes, offsetof(ChunkHeader, bytes));
  put(d.sequence, offsetof(ChunkHeader, sequence));
  put(d.read_time_ns, offsetof(ChunkHeader, read_time_ns));
  put(d.run_counter, offsetof(ChunkHeader, run_counter));
  return row;
}
// `bytes` stays a difference: what is expected depends on spans.
ChunkHeader header_from(Row row, const CorePast& core, const HeadPast& past) {
  ChunkHeader d;
  std::memcpy(static_cast<void*>(&d), row.data(), sizeof d);
  xor_with(row, core.header);
  ChunkHeader h;
  std::memcpy(static_cast<void*>(&h), row.data(), sizeof h);
  h.bytes = d.bytes;
  h.sequence = d.sequence + past.sequence + 1;
  h.read_time_ns = d.read_time_ns + past.read_time_ns;
  h.run_counter = d.run_counter + core.header.run_counter;
  return h;
}

// Rows of equal length by column: all first bytes, then all second ones. Most columns are all zeros then.
void transpose(std::span<const uint8_t> rows, size_t width, SectionBytes& to) {
  const size_t n = rows.size() / width;
  to.resize(rows.size());
  for (size_t i = 0; i < n; ++i)
    for (size_t b = 0; b < width; ++b) to[b * n + i] = rows[i * width + b];
}
SectionBytes transposed_back(std::span<const uint8_t> columns, size_t width) {
  const size_t n = columns.size() / width;
  SectionBytes rows(n * width);
  for (size_t b = 0; b < width; ++b)
    for (size_t i = 0; i < n; ++i) rows[i * width + b] = columns[b * n + i];
  return rows;
}

// Words of one span on their way between a chunk and the columns of its lane.
struct SpanPlace {
  uint32_t lane;
  uint32_t words;
  const uint32_t* at;
  const uint8_t* digest;
};

// By lane, each lane's in their order.
std::vector<SpanPlace> by_lane(const std::vector<SpanPlace>& places, size_t lanes) {
  std::vector<size_t> begin(lanes + 1, 0);
  for (const SpanPlace& p : places) ++begin[p.lane + 1];
  for (size_t i = 0; i < lanes; ++i) begin[i + 1] += begin[i];
  std::vector<SpanPlace> sorted(places.size());
  for (const SpanPlace& p : places) sorted[begin[p.lane]++] = p;
  return sorted;
}

void note_lane(BlockHeader& h, uint32_t lane) {
  h.lane_from = std::min(h.lane_from, lane);
  h.lane_to = std::max(h.lane_to, lane);
}

uint32_t kind_bit(ChunkKind kind) {
  return 1u << std::min<uint32_t>(static_cast<uint32_t>(kind), 31);
}

// Turns chunks into sections.
class Splitter {
 public:
  explicit Splitter(Sections& s) : s_(s), lanes_(s) {}

  void split(const ChunkBatch& chunks, BlockHeader& h) {
    h.lane_from = ~0u;
    lanes_.reserve(chunks.bytes() / 4);
    for (size_t i = 0; i < chunks.size(); ++i) {
      const ChunkHeader& c = shm::header_of(chunks[i]);
      h.kinds |= kind_bit(c.kind);
      const bool words = takes(chunks[i]);
      s_[Section::order].push_back(words);
      if (words)
        take(chunks[i], h);
      else
        take_fact(chunks[i]);
    }
    transpose(heads_, sizeof(ChunkHeader), s_[Section::heads]);
    transpose(spans_, kSpanRow, s_[Section::spans]);
    encode_lanes();
    lanes_.finish();
    h.markers = static_cast<uint32_t>(lanes_.markers());
    h.cycles_from = lanes_.earliest();
    h.cycles_to = lanes_.latest();
    if (h.lane_from == ~0u) h.lane_from = 0;
  }

 private:
  bool takes(std::span<const uint64_t> chunk) {
    const ChunkHeader& h = shm::header_of(chunk);
    if (h.kind != ChunkKind::device_words) return false;
    for (const SpanEntry& s : shm::spans_of(chunk))
      if (s.risc >= kRiscs) return false;
    return core_of(h) < kCores;
  }

  // Chunks that share a number are predicted from each other; that they are of one core makes it a good
  // prediction, no more.
  size_t core_of(const ChunkHeader& h) {
    const uint64_t key =
        h.session * 0x9e3779b97f4a7c15 + (uint64_t{h.device} << 16 | h.core_x << 8 | h.core_y);
    const auto [it, fresh] = core_numbers_.try_emplace(key, cores_.size());
    if (fresh) {
      cores_.emplace_back();
      std::fill_n(cores_.back().lane, kRiscs, kNoLane);
    }
    return it->second;
  }

  void take_fact(std::span<const uint64_t> chunk) {
    const auto* bytes = reinterpret_cast<const uint8_t*>(chunk.data());
    s_[Section::facts].insert(s_[Section::facts].end(), bytes, bytes + chunk.size_bytes());
  }

  void take(std::span<const uint64_t> chunk, BlockHeader& block) {
    const ChunkHeader& h = shm::header_of(chunk);
    const size_t number = core_of(h);
    CorePast& core = cores_[number];
    s_[Section::cores].push_back(static_cast<uint8_t>(number));
    s_[Section::cores].push_back(static_cast<uint8_t>(number >> 8));
    uint32_t expected = kFirstData;
    uint8_t risc = 0;
    for (const SpanEntry& span : shm::spans_of(chunk)) {
      SpanEntry d = span;
      d.risc = static_cast<uint8_t>(span.risc - risc);
      d.word_offset = span.word_offset - core.next_word[span.risc];
      d.data_offset = span.data_offset - align8(expected);
      const auto* row = reinterpret_cast<const uint8_t*>(&d);
      spans_.insert(spans_.end(), row, row + kSpanRow);
      risc = static_cast<uint8_t>(span.risc + 1);
      core.next_word[span.risc] = span.word_offset + span.word_count;
      expected = span.data_offset + span.word_count * 4;
      uint32_t& lane = core.lane[span.risc];
      if (lane == kNoLane) lane = lane_count_++;
      places_.push_back({lane, span.word_count, shm::words_of(chunk, span).data(), span.digest});
      note_lane(block, lane_number(h.device, h.core_x, h.core_y, span.risc));
    }
    const Row row = row_of(h, core, past_, expected);
    heads_.insert(heads_.end(), row.begin(), row.end());
    past_ = {h.sequence, h.read_time_ns};
    core.header = h;
    if (block.read_to_ns == 0) block.read_from_ns = h.read_time_ns;
    block.read_from_ns = std::min(block.read_from_ns, h.read_time_ns);
    block.read_to_ns = std::max(block.read_to_ns, h.read_time_ns);
  }

  void encode_lanes() {
    LanePast past;
    uint32_t lane = kNoLane;
    for (const SpanPlace& p : by_lane(places_, lane_count_)) {
      if (p.lane != lane) past = {};
      lane = p.lane;
      const auto expected = past.digest();
      const bool other = std::memcmp(expected.data(), p.digest, expected.size()) != 0;
      s_[Section::digests].push_back(other);
      if (other)
        s_[Section::digest_bytes].insert(s_[Section::digest_bytes].end(), p.digest,
                                         p.digest + expected.size());
      lanes_.encode({p.at, p.words}, past);
    }
  }

  static constexpr uint32_t kNoLane = ~0u;
  Sections& s_;
  ColumnEncoder lanes_;
  std::unordered_map<uint64_t, size_t> core_numbers_;
  std::vector<CorePast> cores_;
  HeadPast past_;
  std::vector<uint8_t> heads_, spans_;
  std::vector<SpanPlace> places_;
  uint32_t lane_count_ = 0;
};

// Puts chunks together again.
class Joiner {
 public:
  Joiner(const Sections& s, const BlockHeader& block, ChunkBatch& chunks)
      : s_(s),
        block_(block),
        chunks_(chunks),
        facts_(s[Section::facts], "facts"),
        cores_in_(s[Section::cores], "cores"),
        heads_(transposed_back(s[Section::heads], sizeof(ChunkHeader))),
        spans_(transposed_back(s[Section::spans], kSpanRow)) {}

  void join() {
    chunks_.reserve(block_.raw_bytes / 8);
    if (s_[Section::order].size() != block_.chunks)
      throw BlockError("it holds another number of chunks than it says");
    for (const uint8_t words : s_[Section::order]) {
      if (words > 1) throw BlockError("a chunk of it is of an unknown form");
      if (words)
        put_words();
      else
        put_fact();
    }
    if (facts_.left() || cores_in_.left() || head_at_ != heads_.size() || span_at_ != spans_.size() ||
        raw_bytes_ != block_.raw_bytes)
      throw BlockError("its sections hold more than its chunks do");
    decode_lanes();
  }

  void join_facts() {
    for (const uint8_t words : s_[Section::order])
      if (!words) put_fact();
  }

 private:
  std::span<uint64_t> room(uint64_t bytes) {
    raw_bytes_ += (bytes + 7) / 8 * 8;
    if (raw_bytes_ > block_.raw_bytes) throw BlockError("its chunks are longer than it says");
    return chunks_.add_room((bytes + 7) / 8);
  }

  void put_fact() {
    if (facts_.left() < sizeof(ChunkHeader)) facts_.fail();
    uint32_t bytes;
    std::memcpy(&bytes, facts_.take(0), sizeof bytes);
    if (bytes < sizeof(ChunkHeader) || bytes > facts_.left()) facts_.fail();
    const auto to = room(bytes);
    std::memcpy(to.data(), facts_.take(to.size_bytes()), to.size_bytes());
    if (const std::string why = shm::check_chunk(to); !why.empty()) throw BlockError("a chunk of it: " + why);
  }

  void put_words() {
    const uint8_t* two = cores_in_.take(2);
    const size_t number = two[0] | static_cast<size_t>(two[1]) << 8;
    if (number > cores_.size()) throw BlockError("it names a core out of order");
    if (number == cores_.size()) {
      cores_.emplace_back();
      std::fill_n(cores_.back().lane, kRiscs, kNoLane);
    }
    CorePast& core = cores_[number];
    if (heads_.size() - head_at_ < sizeof(ChunkHeader)) throw BlockError("its section of heads is too short");
    Row row;
    std::memcpy(row.data(), heads_.data() + head_at_, row.size());
    head_at_ += row.size();
    ChunkHeader h = header_from(row, core, past_);
    if (h.kind != ChunkKind::device_words) throw BlockError("a chunk of words is of another kind");
    spans_now_.clear();
    uint32_t expected = kFirstData;
    uint8_t risc = 0;
    for (unsigned i = 0; i < h.span_count; ++i) {
      if (spans_.size() - span_at_ < kSpanRow) throw BlockError("its section of spans is too short");
      SpanEntry s;
      std::memcpy(static_cast<void*>(&s), spans_.data() + span_at_, kSpanRow);
      span_at_ += kSpanRow;
      s.risc = static_cast<uint8_t>(s.risc + risc);
      if (s.risc >= kRiscs) throw BlockError("a span of it names RISC " + std::to_string(s.risc));
      s.word_offset += core.next_word[s.risc];
      s.data_offset += align8(expected);
      risc = static_cast<uint8_t>(s.risc + 1);
      core.next_word[s.risc] = s.word_offset + s.word_count;
      expected = s.data_offset + s.word_count * 4;
      spans_now_.push_back(s);
    }
    h.bytes += expected;
    if (h.bytes < sizeof h || h.bytes < sizeof h + spans_now_.size() * sizeof(SpanEntry))
      throw BlockError("a chunk of it is shorter than its own head");
    past_ = {h.sequence, h.read_time_ns};
    core.header = h;
    lay_out(h, core);
  }

  void lay_out(const ChunkHeader& h, CorePast& core) {
    const auto to = room(h.bytes);
    auto* bytes = reinterpret_cast<uint8_t*>(to.data());
    const size_t head = sizeof h + spans_now_.size() * sizeof(SpanEntry);
    std::memcpy(bytes, &h, sizeof h);
    if (!spans_now_.empty())
      std::memcpy(bytes + sizeof h, spans_now_.data(), spans_now_.size() * sizeof(SpanEntry));
    if (const std::string why = shm::check_chunk(to); !why.empty()) throw BlockError("a chunk of it: " + why);
    zero_gaps(bytes, head, to.size_bytes());
    for (unsigned i = 0; i < h.span_count; ++i) {
      const SpanEntry& s = spans_now_[i];
      uint32_t& lane = core.lane[s.risc];
      if (lane == kNoLane) lane = lane_count_++;
      places_.push_back({lane, s.word_count, reinterpret_cast<const uint32_t*>(bytes + s.data_offset),
                         bytes + sizeof h + i * sizeof s + offsetof(SpanEntry, digest)});
    }
  }

  // Spans that do not follow each other are no collector's; then all is zeroed.
  void zero_gaps(uint8_t* bytes, size_t head, size_t all) const {
    size_t at = head;
    for (const SpanEntry& s : spans_now_) {
      if (s.data_offset < at) {
        std::memset(bytes + head, 0, all - head);
        return;
      }
      std::memset(bytes + at, 0, s.data_offset - at);
      at = s.data_offset + size_t{s.word_count} * 4;
    }
    std::memset(bytes + at, 0, all - at);
  }

  void decode_lanes() {
    ColumnDecoder lanes(s_);
    SectionReader digest_bytes(s_[Section::digest_bytes], "digests");
    SectionReader digests(s_[Section::digests], "digests");
    LanePast past;
    uint32_t lane = kNoLane;
    for (const SpanPlace& p : by_lane(places_, lane_count_)) {
      if (p.lane != lane) past = {};
      lane = p.lane;
      auto* digest = const_cast<uint8_t*>(p.digest);
      if (*digests.take(1))
        std::memcpy(digest, digest_bytes.take(sizeof SpanEntry{}.digest), sizeof SpanEntry{}.digest);
      else
        std::memcpy(digest, past.digest().data(), sizeof SpanEntry{}.digest);
      lanes.decode({const_cast<uint32_t*>(p.at), p.words}, past);
    }
    if (digests.left() || digest_bytes.left()) throw BlockError("its sections hold more than its chunks do");
    lanes.finish();
  }

  static constexpr uint32_t kNoLane = ~0u;
  const Sections& s_;
  const BlockHeader& block_;
  ChunkBatch& chunks_;
  SectionReader facts_, cores_in_;
  SectionBytes heads_, spans_;
  size_t head_at_ = 0, span_at_ = 0;
  std::vector<CorePast> cores_;
  std::vector<SpanEntry> spans_now_;
  std::vector<SpanPlace> places_;
  HeadPast past_;
  uint32_t lane_count_ = 0;
  uint64_t raw_bytes_ = 0;
};

BlockHeader header_in(std::span<const std::byte> bytes) {
  BlockHeader h;
  std::memcpy(static_cast<void*>(&h), bytes.data(), sizeof h);
  return h;
}

void inflate(const SectionEntry& e, const std::byte* from, SectionBytes& to) {
  if (e.raw_bytes > kLargestBlock) throw BlockError("a section of it is too long");
  if (e.codec == SectionCodec::stored) {
    if (e.raw_bytes != e.stored_bytes) throw BlockError("a stored section of it has two lengths");
    const auto* bytes = reinterpret_cast<const uint8_t*>(from);
    to.assign(bytes, bytes + e.stored_bytes);
    return;
  }
  if (e.codec != SectionCodec::zstd) throw BlockError("a section of it is packed in an unknown way");
  if (ZSTD_getFrameContentSize(from, e.stored_bytes) != e.raw_bytes)
    throw BlockError("a section of it has two lengths");
  to.resize(e.raw_bytes);
  const size_t got = ZSTD_decompress(to.data(), to.size(), from, e.stored_bytes);
  if (ZSTD_isError(got) || got != to.size())
    throw BlockError(std::string("a section of it cannot be unpacked: ") +
                     (ZSTD_isError(got) ? ZSTD_getErrorName(got) : "another length"));
}

}  // namespace

uint64_t checksum_of(const void* bytes, size_t size) {
  return XXH3_64bits(bytes, size);
}

void ChunkBatch::reserve(size_t words) {
  if (used_ + words <= capacity_) return;
  const size_t capacity = std::max(used_ + words, capacity_ + capacity_ / 2);
  auto larger = std::make_unique_for_overwrite<uint64_t[]>(capacity);
  if (used_) std::memcpy(larger.get(), words_.get(), used_ * 8);
  words_ = std::move(larger);
  capacity_ = capacity;
}

std::span<uint64_t> ChunkBatch::add_room(size_t words) {
  reserve(words);
  const std::span<uint64_t> room(words_.get() + used_, words);
  used_ += words;
  begins_.push_back(used_);
  return room;
}

void ChunkBatch::add(std::span<const uint64_t> chunk) {
  std::memcpy(add_room(chunk.size()).data(), chunk.data(), chunk.size_bytes());
}

void AlignedBytes::Free::operator()(std::byte* p) const {
  std::free(p);
}

void AlignedBytes::resize(size_t bytes) {
  if (bytes > capacity_) {
    const size_t capacity = align_block(std::max(bytes, capacity_ + capacity_ / 2));
    auto* larger = static_cast<std::byte*>(std::aligned_alloc(kCaptureAlign, capacity));
    if (!larger) throw std::bad_alloc();
    if (size_) std::memcpy(larger, bytes_.get(), size_);
    bytes_.reset(larger);
    capacity_ = capacity;
  }
  size_ = bytes;
}

BlockEncoder::BlockEncoder(int zstd_level) : zstd_(ZSTD_createCCtx()), level_(zstd_level) {
  if (!zstd_) throw std::bad_alloc();
}
BlockEncoder::~BlockEncoder() {
  ZSTD_freeCCtx(zstd_);
}

void BlockEncoder::put_section(Section section, std::span<const uint8_t> bytes, AlignedBytes& block) {
  SectionEntry e;
  e.section = section;
  e.raw_bytes = static_cast<uint32_t>(bytes.size());
  size_t packed = bytes.size();
  if (bytes.size() >= kWorthZstd) {
    block.resize(at_ + ZSTD_compressBound(bytes.size()));
    packed =
        ZSTD_compressCCtx(zstd_, block.data() + at_, block.size() - at_, bytes.data(), bytes.size(), level_);
    if (!ZSTD_isError(packed) && packed < bytes.size()) e.codec = SectionCodec::zstd;
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
    put_section(static_cast<Section>(i), sections.bytes[i], block);
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

std::vector<IndexEntry> decode_index(std::span<const std::byte> block) {
  if (const std::string why = check_block_header(block); !why.empty()) throw BlockError(why);
  const BlockHeader h = header_in(block);
  if (h.kind != BlockKind::index || h.sections != 1 || h.content_bytes > block.size())
    throw BlockError("it is no index");
  if (h.content_checksum != checksum_of(block.data() + h.header_bytes, h.content_bytes - h.header_bytes))
    throw BlockError("its contents are damaged");
  SectionEntry e;
  std::memcpy(static_cast<void*>(&e), block.data() + h.header_bytes, sizeof e);
  const size_t at = h.header_bytes + sizeof e;
  if (e.section != kIndexSection || e.stored_bytes > h.content_bytes - at || e.raw_bytes % sizeof(IndexEntry))
    throw BlockError("it is no index");
  SectionBytes bytes;
  inflate(e, block.data() + at, bytes);
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

void decode_block(std::span<const std::byte> block, bool facts_only, ChunkBatch& chunks) {
  if (const std::string why = check_block_header(block); !why.empty()) throw BlockError(why);
  const BlockHeader h = header_in(block);
  const uint64_t end = facts_only ? h.facts_end : h.content_bytes;
  if (block.size() < end) throw BlockError("it is cut");
  const uint64_t sum = checksum_of(block.data() + h.header_bytes, end - h.header_bytes);
  if (facts_only ? static_cast<uint32_t>(sum) != h.facts_checksum : sum != h.content_checksum)
    throw BlockError("its contents are damaged");
  Sections sections;
  uint64_t at = h.header_bytes + uint64_t{h.sections} * sizeof(SectionEntry);
  for (uint32_t i = 0; i < h.sections; ++i) {
    SectionEntry e;
    std::memcpy(static_cast<void*>(&e), block.data() + h.header_bytes + i * sizeof e, sizeof e);
    if (e.stored_bytes > h.content_bytes - at) throw BlockError("a section of it lies outside");
    const bool wanted = !facts_only || e.section <= Section::facts;
    if (wanted && at + e.stored_bytes > end) throw BlockError("its facts do not come first");
    if (wanted && e.section < Section::count) inflate(e, block.data() + at, sections[e.section]);
    at += e.stored_bytes;
  }
  ChunkBatch joined;
  Joiner joiner(sections, h, joined);
  if (facts_only)
    joiner.join_facts();
  else
    joiner.join();
  if (chunks.empty())
    chunks = std::move(joined);
  else
    for (size_t i = 0; i < joined.size(); ++i) chunks.add(joined[i]);
}

}  // namespace ttc::collect
