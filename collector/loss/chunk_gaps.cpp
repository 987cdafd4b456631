#include "collector/loss/chunk_gaps.hpp"

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>

#include "collector/loss/span_time.hpp"
#include "collector/program/json_text.hpp"
#include "firmware_markers/layout.hpp"

namespace ttc::collect {
namespace {

bool is_standing(shm::ChunkKind kind) {
  return kind == shm::ChunkKind::session || kind == shm::ChunkKind::names ||
         kind == shm::ChunkKind::clock_domains;
}

uint32_t lane_key(const shm::ChunkHeader& h, uint8_t risc) {
  return uint32_t{h.core_x} << 24 | uint32_t{h.core_y} << 16 | risc;
}

bool says(const nlohmann::json& session, const char* key, std::string_view text) {
  const auto found = session.find(key);
  return found != session.end() && found->is_string() && found->get_ref<const std::string&>() == text;
}

// Processors of a core that have a lane.
uint8_t lanes_of(const nlohmann::json& session, unsigned core_kind) {
  if (core_kind != 0) return says(session, "arch", "wormhole_b0") ? 1 : 2;
  return says(session, "mode", markers::to_string(device::Mode::trace_only)) ? 1 : device::kMaxRiscs;
}

bool is_byte(const nlohmann::json& j) {
  return j.is_number_unsigned() && j.get<uint64_t>() < 256;
}

markers::FrameDigest digest_of(const shm::SpanEntry& span) {
  markers::FrameDigest digest;
  std::memcpy(&digest, span.digest, sizeof digest);
  return digest;
}

}  // namespace

// A stream that begins late is no gap: chunks before its first one were not requested, unless they are
// known to have existed.
void ChunkGaps::count(Session& s, const shm::ChunkHeader& h) {
  if (!s.begun) {
    chunks_before_ += h.sequence;
    s.gap = s.late = beginning_lost_ && h.sequence > 0;
    if (s.gap) doubt_all(s);
  }
  if (s.begun && h.sequence > s.next_sequence) {
    missing_chunks_ += h.sequence - s.next_sequence;
    s.gap = s.hole = true;
    for (auto& [key, lane] : s.lanes) {
      lane.in_doubt |= lane.begun;
      copy_latest(lane);
      if (lane.begun && !lane.sure_to) lane.sure_to = last_time_of(lane.header, lane.span, lane.words);
    }
  }
  s.begun = true;
  if (h.sequence >= s.next_sequence) s.next_sequence = h.sequence + 1;
}

void ChunkGaps::copy_latest(Lane& lane) {
  if (lane.chunk.empty()) return;
  lane.header = shm::header_of(lane.chunk);
  lane.span = shm::spans_of(lane.chunk)[lane.place];
  const auto words = shm::words_of(lane.chunk, lane.span);
  lane.words.assign(words.begin(), words.end());
  lane.chunk = {};
}

void ChunkGaps::hold(const std::shared_ptr<const void>& memory) {
  if (memory == memory_) return;
  for (Lane* const lane : lanes_in_memory_) copy_latest(*lane);
  lanes_in_memory_.clear();
  memory_ = memory;
}

void ChunkGaps::doubt_all(Session& s) {
  for (auto& [key, lane] : s.lanes) lane.in_doubt = true;
}

// "cores" of a session: [x, y, flat id, kind] each; older captures have three numbers for Tensix cores.
void ChunkGaps::know_lanes(Session& s, std::span<const char> text) {
  const auto session = program::json_value({text.data(), text.size()});
  if (!session.is_object() || !session.contains("cores") || !session["cores"].is_array()) return;
  for (const auto& core : session["cores"]) {
    if (!core.is_array() || core.size() < 3 || !is_byte(core[0]) || !is_byte(core[1])) continue;
    if (core.size() > 3 && !is_byte(core[3])) continue;
    shm::ChunkHeader h;
    h.core_x = core[0].get<uint8_t>();
    h.core_y = core[1].get<uint8_t>();
    const uint8_t lanes = lanes_of(session, core.size() > 3 ? core[3].get<unsigned>() : 0);
    for (uint8_t risc = 0; risc < lanes; ++risc) {
      const auto [at, fresh] = s.lanes.try_emplace(lane_key(h, risc));
      if (fresh) at->second.header = h, at->second.span.risc = risc;
    }
  }
}

void ChunkGaps::push(std::span<const uint64_t> chunk, const std::shared_ptr<const void>& memory) {
  const shm::ChunkHeader& h = shm::header_of(chunk);
  hold(memory);
  Session& s = sessions_[h.session];
  if (h.kind == shm::ChunkKind::session) know_lanes(s, shm::body_of(chunk));
  if (is_standing(h.kind) || h.flags & shm::kStanding) return;
  s.device = h.device;
  count(s, h);
  s.ended |= h.kind == shm::ChunkKind::end;
  if (h.kind != shm::ChunkKind::device_words) return;
  const std::span<const shm::SpanEntry> spans = shm::spans_of(chunk);
  for (size_t place = 0; place < spans.size(); ++place) {
    const shm::SpanEntry& span = spans[place];
    Lane& lane = s.lanes[lane_key(h, span.risc)];
    // A span from behind a rewound index, or from L1, is no evidence of what precedes it in the log.
    const bool in_log = span.source == shm::SpanSource::dram_log && !(h.flags & shm::kRecovered);
    if (in_log) count_words(lane.log, h.epoch, span);
    if (in_log && (lane.begun ? lane.in_doubt : s.gap)) {
      copy_latest(lane);
      resolve(s, h, span, lane);
      lane.in_doubt = false;
    }
    if (!lane.begun && lane.in_doubt) continue;  // still from its beginning on
    lane.begun = true;
    if (lane.chunk.empty() && memory_) lanes_in_memory_.push_back(&lane);
    lane.chunk = chunk;
    lane.place = place;
    if (!memory_) copy_latest(lane);
  }
}

void ChunkGaps::count_words(LogEnd& log, uint32_t epoch, const shm::SpanEntry& span) {
  if (log.begun && log.epoch == epoch && span.word_offset > log.next_word)
    missing_words_ += span.word_offset - log.next_word;
  log = {epoch, span.word_offset + span.word_count, true};
}

void ChunkGaps::resolve(Session& s, const shm::ChunkHeader& h, const shm::SpanEntry& span, const Lane& lane) {
  const markers::FrameDigest before = digest_of(span);
  const uint64_t from = lane.begun ? last_time_of(lane.header, lane.span, lane.words) : 0;
  const uint64_t until = before.known ? before.last_time : 0;  // of the last marker in front of this span
  const bool same_log = lane.begun && lane.header.epoch == h.epoch &&
                        lane.span.source == shm::SpanSource::dram_log && h.firmware_mode == 0;
  const uint64_t next_word = uint64_t{lane.span.word_offset} + lane.span.word_count;
  if (same_log ? span.word_offset <= next_word : markers::clock_difference(until, from) <= 0) return;
  shm::LossRecord record = record_for(s, h, span.risc, lane.begun);
  record.from_cycles = from;
  record.to_cycles = until ? until + 1 : shm::kOpenEnd;
  if (same_log) {
    record.precision = shm::LossPrecision::exact_words;
    record.words = span.word_offset - next_word;
  }
  put(h.session, s, record);
}

void ChunkGaps::put(uint64_t session, Session& s, shm::LossRecord record) {
  record.id = kFirstId + s.found.size();
  if (const auto into = merge_.joins(session, record)) {
    shm::LossRecord& r = s.found[*into - kFirstId];
    take_in(r, record);
    return found_(session, r);
  }
  s.found.push_back(record);
  found_(session, record);
}

shm::LossRecord ChunkGaps::record_for(const Session& s, const shm::ChunkHeader& h, uint8_t risc,
                                      bool begun) const {
  shm::LossRecord record;
  record.core_x = h.core_x;
  record.core_y = h.core_y;
  record.risc = risc;
  record.cause = s.late && !begun ? *beginning_lost_ : cause_;
  record.epoch = h.epoch;
  record.device = s.device;
  return record;
}

void ChunkGaps::broke_off() {
  for (auto& [id, s] : sessions_) {
    if (!s.ended || s.hole) doubt_all(s);
    s.broke_off = true;
  }
}

size_t ChunkGaps::without_end() const {
  return static_cast<size_t>(std::count_if(sessions_.begin(), sessions_.end(),
                                           [](const auto& s) { return s.second.begun && !s.second.ended; }));
}

bool ChunkGaps::unsure(uint64_t session) const {
  const auto found = sessions_.find(session);
  return found != sessions_.end() && found->second.broke_off && found->second.hole;
}

void ChunkGaps::finish() {
  for (auto& [id, s] : sessions_)
    for (auto& [key, lane] : s.lanes) {
      if (!lane.in_doubt) continue;
      lane.in_doubt = false;
      copy_latest(lane);
      shm::LossRecord record = record_for(s, lane.header, lane.span.risc, lane.begun);
      if (lane.begun) record.from_cycles = last_time_of(lane.header, lane.span, lane.words);
      if (s.broke_off && s.hole) record.from_cycles = lane.sure_to.value_or(0);
      put(id, s, record);
    }
}

}  // namespace ttc::collect
