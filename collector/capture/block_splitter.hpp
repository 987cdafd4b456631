// Chunks to the sections of a block.
#pragma once
#include <unordered_map>

#include "collector/capture/chunk_prediction.hpp"
#include "ttcollect/capture_reader.hpp"

namespace ttc::collect {

inline void note_lane(BlockHeader& h, uint32_t lane) {
  h.lane_from = std::min(h.lane_from, lane);
  h.lane_to = std::max(h.lane_to, lane);
}

inline uint32_t kind_bit(ChunkKind kind) {
  return 1u << std::min<uint32_t>(static_cast<uint32_t>(kind), 31);
}

// Turns chunks into sections.
class Splitter {
 public:
  explicit Splitter(Sections& s) : s_(s), lanes_(s) {}

  void split(const ChunkBatch& chunks, BlockHeader& h) {
    h.lane_from = ~0u;
    lanes_.reserve(chunks.bytes() / 4);
    s_[Section::facts].reserve(facts_bytes(chunks));
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
  static size_t facts_bytes(const ChunkBatch& chunks) {
    size_t bytes = 0;
    for (size_t i = 0; i < chunks.size(); ++i)
      if (shm::header_of(chunks[i]).kind != ChunkKind::device_words) bytes += chunks[i].size_bytes();
    return bytes;
  }

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

}  // namespace ttc::collect
