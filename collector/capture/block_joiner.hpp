// The sections of a block to its chunks. Whatever the sections hold, it ends with chunks that hold or
// BlockError.
#pragma once
#include <string>

#include "collector/capture/chunk_prediction.hpp"

namespace ttc::collect {

// Puts chunks together again.
class Joiner {
 public:
  Joiner(const SectionViews& s, const BlockHeader& block, ColumnMemory& memory, ChunkBatch& chunks)
      : s_(s),
        memory_(memory),
        block_(block),
        chunks_(chunks),
        facts_(s[Section::facts], "facts"),
        cores_in_(s[Section::cores], "cores"),
        heads_(transposed_back(s[Section::heads], sizeof(ChunkHeader))),
        spans_(transposed_back(s[Section::spans], kSpanRow)) {}

  void join() {
    chunks_.reserve(block_.raw_bytes / 8);  // chunks must stay where they are
    if (s_[Section::order].size() != block_.chunks)
      throw BlockError("its number of chunks is not that in its header");
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
    if (raw_bytes_ > block_.raw_bytes) throw BlockError("its chunks are longer than the size in its header");
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
    ColumnDecoder lanes(s_, memory_);
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
  const SectionViews& s_;
  ColumnMemory& memory_;
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

}  // namespace ttc::collect
