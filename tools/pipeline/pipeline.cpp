#include "tools/pipeline/pipeline.hpp"

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>
#include <utility>

#include "collector/program/json_text.hpp"
#include "ttcollect/host_events.hpp"

namespace ttc::tools {

using shm::ChunkKind;

namespace {
uint32_t lane_key(const shm::ChunkHeader& h, uint8_t risc) {
  return uint32_t{h.core_x} << 24 | uint32_t{h.core_y} << 16 | risc;
}

// [x, y, flat id, kind] each; captures of before kinds were recorded have three numbers.
std::vector<std::pair<uint8_t, uint8_t>> compute_cores_in(const nlohmann::json& session) {
  std::vector<std::pair<uint8_t, uint8_t>> cores;
  if (!session.contains("cores") || !session["cores"].is_array()) return cores;
  for (const auto& core : session["cores"]) {
    const bool sound =
        core.is_array() && core.size() >= 3 && core[0].is_number_unsigned() && core[1].is_number_unsigned();
    if (sound && (core.size() == 3 || core[3] == 0))
      cores.emplace_back(core[0].get<uint8_t>(), core[1].get<uint8_t>());
  }
  return cores;
}
}  // namespace

Pipeline::~Pipeline() {
  if (!ahead_.empty()) workers_->forget_all();
}

void Pipeline::push(std::span<const uint64_t> chunk, Format& format,
                    const std::shared_ptr<const void>& memory) {
  const shm::ChunkHeader& h = shm::header_of(chunk);
  const auto body = shm::body_of(chunk);
  if (h.kind != ChunkKind::device_words && !can_wait(h.kind)) catch_up(format);
  if (h.kind == ChunkKind::session) {
    session(h, body, format);
    const auto described = sessions_.find(h.session);
    if (described != sessions_.end() && described->second.wanted) losses_.push(chunk);
    return;
  }
  if (collect::is_of_the_host(h)) return beside(chunk, nullptr, nullptr, format);
  SessionState& s = state_of(h);
  if (!s.wanted) return;
  const shm::LossRecord* const loss = losses_.push(chunk, memory);
  switch (h.kind) {
    case ChunkKind::device_words:
      if (!host_clock_ || !s.clock_model) return words(chunk, memory, s, format);
      s.times.wait(chunk, memory);
      return release(s, format, false);
    case ChunkKind::names: {
      Workload& w = s.named ? *s.named : s.workloads.begin()->second;
      const size_t before = w.names.size();
      std::string_view text(body.data(), body.size());
      for (size_t end; (end = text.find('\n')) != std::string_view::npos; text.remove_prefix(end + 1))
        w.names.add_zone_string(text.substr(0, end));
      if (w.names.size() == before) return;
      w.semantics.names_changed();
      for (DecodedBatch::Scratch& scratch : scratch_) scratch.names_changed(w.names);
      format.names_changed();
      return;
    }
    default:
      return beside(chunk, &s, loss, format);
  }
}

// Words do not depend on it where host times are not requested: the threads need not wait for it.
bool Pipeline::can_wait(ChunkKind kind) const {
  return !host_clock_ && kind != ChunkKind::session && kind != ChunkKind::names;
}

// Behind the words before it, some of which may be decoded just now.
void Pipeline::beside(std::span<const uint64_t> chunk, SessionState* session, const shm::LossRecord* loss,
                      Format& format) {
  if (filling_) hand_over();
  if (ahead_.empty()) return put(chunk, session, loss, format);
  waiting_bytes_ += chunk.size_bytes();
  ahead_.back()->behind.push_back(
      {{chunk.begin(), chunk.end()}, session, loss ? std::optional(*loss) : std::nullopt});
  while (waiting_bytes_ > kMostWaiting && !ahead_.empty()) take_oldest(format);
}

void Pipeline::put(std::span<const uint64_t> chunk, SessionState* session, const shm::LossRecord* loss,
                   Format& format) {
  if (!session) return format.host(chunk);
  SessionState& s = *session;
  const auto body = shm::body_of(chunk);
  switch (shm::header_of(chunk).kind) {
    case ChunkKind::clock:
      if (std::string why = s.times.take_clock(body); !why.empty()) {
        complaint_ = std::move(why);
        return;
      }
      format.clock(s.chip, s.times.latest());
      return release(s, format, false);
    case ChunkKind::telemetry: {
      shm::TelemetryRecord record;
      std::memcpy(&record, body.data(), sizeof record);
      return format.telemetry(s.chip, record);
    }
    case ChunkKind::clock_domains:
      if (std::string why = s.times.take_domains(body); !why.empty()) complaint_ = std::move(why);
      return;
    case ChunkKind::loss: {
      if (!loss) return;  // reported before
      shm::LossRecord record = *loss;
      record.device = s.chip;
      return format.loss(record);
    }
    default:
      return;  // a kind of a later version: skipped by its length
  }
}

Apart Pipeline::push_apart(std::span<const uint64_t> chunk, Format& format) {
  const shm::ChunkHeader& h = shm::header_of(chunk);
  SessionState& s = state_of(h);
  if (!s.wanted) return Apart::yes;
  if (h.firmware_mode != 0) return Apart::no;  // an earlier chunk may have had the same markers
  at_once_.view(chunk, rules_for(h, s, format));
  at_once_.decode();
  const Apart apart = s.workload_of(h.epoch).semantics.apart(at_once_.batch().markers());
  if (apart != Apart::no) emit(at_once_, {at_once_.header(), s, s.workload_of(h.epoch)}, format);
  return apart;
}

void Pipeline::repeat(std::span<const uint64_t> chunk, Format& format) {
  const uint64_t delivered = delivered_;
  const markers::Anomalies anomalies = anomalies_;
  words_at_once(chunk, state_of(shm::header_of(chunk)), format);
  delivered_ = delivered;
  anomalies_ = anomalies;
}

bool Pipeline::note_words(std::span<const uint64_t> chunk, const std::shared_ptr<const void>& memory) {
  SessionState& s = state_of(shm::header_of(chunk));
  if (s.wanted) losses_.push(chunk, memory);
  return s.wanted;
}

void Pipeline::absorb(const Pipeline& other) {
  delivered_ += other.delivered_;
  anomalies_.add(other.anomalies_);
  for (const auto& [id, theirs] : other.sessions_) {
    SessionState& s = sessions_.at(id);  // note_words() made it, where no session did
    s.words_came |= theirs.words_came;
    for (const auto& [first_epoch, workload] : theirs.workloads) {
      Workload& w = s.workloads.at(first_epoch);
      w.zone_ids |= workload.zone_ids;
      w.semantics.absorb(workload.semantics);
    }
  }
}

void Pipeline::release(SessionState& s, Format& format, bool all) {
  const uint64_t before = delivered_;
  while (delivered_ - before < most_markers_) {
    WaitingWords::Chunk chunk = s.times.next_ready(all);
    if (chunk.words.empty()) return;
    words(chunk.words, std::move(chunk.memory), s, format);
  }
}

bool Pipeline::deliver(Format& format, bool all) {
  const uint64_t before = delivered_;
  for (auto& [session, s] : sessions_) release(s, format, all);
  catch_up(format);
  return delivered_ != before;
}

void Pipeline::finish(Format& format) {
  most_markers_ = ~uint64_t{0};
  for (auto& [session, s] : sessions_) release(s, format, true);
  catch_up(format);
  losses_.finish();
  for (const auto& [session, intervals] : losses_.found())
    for (const auto& [id, interval] : intervals) {
      if (!filter_.wants(interval.core_x, interval.core_y, interval.risc)) continue;
      shm::LossRecord record = interval;
      record.device = sessions_.at(session).chip;
      format.loss(record);
    }
}

std::vector<shm::LossRecord> Pipeline::losses() const {
  std::vector<shm::LossRecord> all;
  for (const auto* sessions : {&losses_.reported(), &losses_.found()})
    for (const auto& [session, intervals] : *sessions)
      for (const auto& [id, interval] : intervals) {
        if (!filter_.wants(interval.core_x, interval.core_y, interval.risc)) continue;
        all.push_back(interval);
        all.back().device = sessions_.at(session).chip;
      }
  return all;
}

// Words of a session that never described itself keep the number their chunks carry.
Pipeline::SessionState& Pipeline::state_of(const shm::ChunkHeader& h) {
  const auto [it, fresh] = sessions_.try_emplace(h.session, date_);
  if (fresh) {
    it->second.chip = h.device;
    it->second.wanted = !filter_.chip || *filter_.chip == h.device;
  }
  return it->second;
}

// The number itself, unless another device has it already.
std::set<uint32_t> Pipeline::chips() const {
  std::set<uint32_t> all;
  for (const auto& [chip, device] : chips_) all.insert(chip);
  return all;
}

const collect::ClockMap* Pipeline::clock_of(uint32_t chip) const {
  for (const auto& [id, session] : sessions_)
    if (session.chip == chip && session.times.reference()) return session.times.reference();
  return nullptr;
}

std::set<std::pair<uint8_t, uint8_t>> Pipeline::tiles_apart(uint32_t chip) const {
  std::set<std::pair<uint8_t, uint8_t>> tiles;
  for (const auto& [id, session] : sessions_)
    if (session.chip == chip)
      for (const auto& [tile, domain] : session.times.domains())
        if (domain != 0) tiles.insert(tile);
  return tiles;
}

uint32_t Pipeline::free_chip(uint32_t wanted, const std::string& device) {
  uint32_t chip = wanted;
  while (chips_.contains(chip) && chips_[chip] != device) ++chip;
  if (chip != wanted)
    remarks_.push_back(device + " is chip " + std::to_string(chip) + " in this output, because " +
                       chips_[wanted] + " is chip " + std::to_string(wanted) + " already");
  chips_[chip] = device;
  return chip;
}

namespace {

// A text of the session description; empty when it has none there.
std::string text_at(const nlohmann::json& session, const char* pointer) {
  const auto at = nlohmann::json::json_pointer(pointer);
  return session.contains(at) && session[at].is_string() ? session[at].get<std::string>() : "";
}

std::vector<std::pair<std::string, std::string>> environment_in(const nlohmann::json& session) {
  std::vector<std::pair<std::string, std::string>> all;
  const auto add = [&](const char* name, std::string text) {
    if (!text.empty()) all.emplace_back(name, std::move(text));
  };
  const std::string version = text_at(session, "/environment/collector/version");
  add("collector", version.empty() ? "" : "ttcollect " + version);
  add("host", text_at(session, "/environment/host/name"));
  add("kernel", text_at(session, "/environment/host/kernel"));
  add("CPU", text_at(session, "/environment/host/cpu"));
  for (const char* name : {"driver", "firmware"})
    add(name, text_at(session, (std::string("/environment/") + name).c_str()));
  add("workload", text_at(session, "/environment/workload/command"));
  const auto variables = nlohmann::json::json_pointer("/environment/workload/environment");
  if (session.contains(variables) && session[variables].is_object())
    for (const auto& [name, value] : session[variables].items())
      if (value.is_string()) all.emplace_back(name, value.get<std::string>());
  return all;
}

}  // namespace

void Pipeline::session(const shm::ChunkHeader& h, std::span<const char> text, Format& format) {
  const auto j = program::json_value({text.data(), text.size()});
  if (!j.is_object()) {
    complaint_ = "the session description is not JSON";
    return;
  }
  Session s;
  s.id = h.session;
  const auto text_of = [&](const char* key) {
    return j.contains(key) && j[key].is_string() ? j[key].get<std::string>() : "";
  };
  const auto number_of = [&](const char* key) {
    return j.contains(key) && j[key].is_number_unsigned() ? j[key].get<uint32_t>() : 0u;
  };
  s.device = text_of("device");
  s.rank = text_of("rank");
  s.chip_of_rank = number_of("chip_of_rank");
  s.chip = free_chip(number_of("chip"), s.rank.empty() ? s.device : s.rank + " " + s.device);
  s.arch = text_of("arch");
  s.board = text_of("board");
  s.layout = text_of("layout");
  s.aiclk_mhz = number_of("aiclk_mhz");
  s.max_compute_cores = number_of("max_compute_cores");
  s.compute_cores = compute_cores_in(j);
  s.environment = environment_in(j);
  s.clock_model = !j.contains("clock_model") || j["clock_model"] != false;
  SessionState& state = sessions_.try_emplace(h.session, date_).first->second;
  state.chip = s.chip;
  const bool known = std::exchange(state.described, true);
  // A later workload of the session. Parts of a file and a segment's standing area repeat it.
  state.named = &state.workloads.try_emplace(number_of("first_epoch"), date_).first->second;
  state.wanted = !filter_.chip || *filter_.chip == s.chip;
  state.clock_model = s.clock_model;
  if (state.wanted && !known) format.begin(s);
}

std::vector<std::string> Pipeline::notices() const {
  std::vector<std::string> all = remarks_;
  for (const auto& [id, s] : sessions_)
    if (!s.described && s.words_came)
      all.push_back(
          "chip " + std::to_string(s.chip) +
          ": what describes its run (card, clock rate, cores) did not come; a device CSV has no head "
          "then, and zones are numbers where their names stood beside it");
  for (const auto& [id, s] : sessions_)
    for (const auto& [first_epoch, w] : s.workloads)
      for (const std::string& notice : w.semantics.notices()) all.push_back(notice);
  for (const auto& [id, s] : sessions_)
    if (host_clock_ && s.without_bound)
      all.push_back("chip " + std::to_string(s.chip) + ": " + std::to_string(s.without_bound) +
                    " markers have no host time, " +
                    (s.times.known() ? "they lie outside of what its clock model covers"
                                     : "this source holds no clock model of it (--no-sync?)"));
  return all;
}

DecodedChunk::Rules Pipeline::rules_for(const shm::ChunkHeader& h, SessionState& s,
                                        const Format& format) const {
  return {s.chip,         &filter_,        &s.workload_of(h.epoch).names, host_clock_ ? &s.times : nullptr,
          format.order(), keep_duplicates_};
}

void Pipeline::words(std::span<const uint64_t> chunk, std::shared_ptr<const void> memory, SessionState& s,
                     Format& format) {
  if (!workers_) return words_at_once(chunk, s, format);
  if (!filling_) {
    while (ahead_.size() >= most_ahead()) take_oldest(format);
    if (spare_.empty()) spare_.push_back(std::make_unique<Ahead>(format, scratch_, date_));
    filling_ = std::move(spare_.back());
    spare_.pop_back();
  }
  filling_->batch.add(chunk, rules_for(shm::header_of(chunk), s, format), std::move(memory));
  filling_->sessions.push_back(&s);
  if (filling_->batch.words() >= kBatchWords) hand_over();
}

// All batches have work of one kind.
size_t Pipeline::most_ahead() const {
  const FrameWork* const work = ahead_.empty() ? nullptr : ahead_.front()->batch.work();
  return (work && work->is_small() ? kManyAhead : kFewAhead) * workers_->threads();
}

void Pipeline::hand_over() {
  filling_->batch.keep_all(keep_batches_ > 0);
  if (keep_batches_ > 0) --keep_batches_;
  ahead_.push_back(std::move(filling_));
  workers_->submit(ahead_.back()->batch);
}

void Pipeline::words_at_once(std::span<const uint64_t> chunk, SessionState& s, Format& format) {
  const shm::ChunkHeader& h = shm::header_of(chunk);
  at_once_.view(chunk, rules_for(h, s, format));
  at_once_.decode();
  emit(at_once_, {h, s, s.workload_of(h.epoch)}, format);
}

void Pipeline::take_oldest(Format& format) {
  Ahead& oldest = *ahead_.front();
  DecodedBatch& batch = oldest.batch;
  workers_->wait(batch);
  // What the thread that decoded the chunks found of all markers: the frames are not read for it again, which are in that thread's caches.
  oldest.mean_nothing.clear();
  for (const DecodedBatch::Group& group : batch.groups()) {
    SessionState& s = *oldest.sessions[group.first_chunk];
    Workload& workload = s.workload_of(batch.chunks()[group.first_chunk].header.epoch);
    for (const uint16_t id : group.ids.named) workload.zone_ids.set(id);
    oldest.mean_nothing.push_back(
        workload.semantics.means_nothing(group.ids.all, group.ids.wide, group.mode));
    s.words_came |= group.has_words;
    s.without_bound += group.without_bound;
  }
  anomalies_.add(batch.anomalies());
  for (size_t i = 0; i < batch.chunks().size(); ++i) {
    const DecodedBatch::Chunk& chunk = batch.chunks()[i];
    SessionState& s = *oldest.sessions[i];
    const Place place{chunk.header, s, s.workload_of(chunk.header.epoch), batch.work(),
                      oldest.mean_nothing[chunk.group]};
    const DecodedBatch::Result result = batch.result(i);
    if (result.kept)
      emit(*result.kept, place, format);
    else
      emit_alone(batch, chunk, result.alone, place, format);
  }
  batch.clear();
  oldest.sessions.clear();
  const std::vector<Beside> behind = std::exchange(oldest.behind, {});
  spare_.push_back(std::move(ahead_.front()));
  ahead_.pop_front();
  for (const Beside& one : behind) {
    waiting_bytes_ -= one.chunk.size() * sizeof one.chunk[0];
    put(one.chunk, one.session, one.loss ? &*one.loss : nullptr, format);
  }
}

void Pipeline::catch_up(Format& format) {
  if (filling_) hand_over();
  while (!ahead_.empty()) take_oldest(format);
}

void Pipeline::emit(DecodedChunk& chunk, const Place& place, Format& format) {
  SessionState& s = place.session;
  if (!chunk.complaint().empty()) complaint_ = chunk.complaint();
  s.words_came |= chunk.has_words();
  anomalies_.add(chunk.anomalies());
  FrameEvents events = events_of(place, chunk.batch());
  chunk.each_frame([&](uint8_t risc) -> uint64_t& { return s.until[lane_key(place.header, risc)]; },
                   [&](const DecodedChunk::Frame& frame) { emit(chunk, frame, place, events, format); });
  s.without_bound += chunk.without_bound();
}

// Decodes the chunk again from the first frame on whose markers the format needs.
void Pipeline::emit_alone(const DecodedBatch& batch, const DecodedBatch::Chunk& chunk,
                          std::span<const DecodedBatch::Alone> frames, const Place& place, Format& format) {
  static const markers::Batch kNoWords;
  FrameEvents events = events_of(place, kNoWords);
  events.work = place.work;
  size_t done = 0;
  for (; done < frames.size(); ++done) {
    const DecodedBatch::Alone& frame = frames[done];
    events.risc = frame.risc;
    events.host_id = frame.host_id;
    events.trace_counter = DecodedChunk::trace_counter_of(events.mode, frame.trace_counter);
    events.main_zone = frame.main_zone;
    events.work_frame = frame.work_frame;
    if (!is_alone(frame.apart, place, events) || !format.frame_alone(events)) break;
    delivered_ += frame.markers;
  }
  if (done == frames.size()) return;
  keep_batches_ = kBatchesKept;
  at_once_.view(batch.words_of(chunk), chunk.rules);
  at_once_.decode();
  FrameEvents again = events_of(place, at_once_.batch());
  size_t number = 0;
  at_once_.each_frame(
      [&](uint8_t risc) -> uint64_t& { return place.session.until[lane_key(place.header, risc)]; },
      [&](const DecodedChunk::Frame& frame) {
        if (number++ >= done) emit(at_once_, frame, place, again, format);
      });
}

// What all frames of a chunk have in common: a frame is small, and so much memory is not filled in for each.
FrameEvents Pipeline::events_of(const Place& place, const markers::Batch& batch) const {
  const shm::ChunkHeader& h = place.header;
  const auto kind = static_cast<markers::CoreKind>(h.core_kind);
  const auto mode = static_cast<device::Mode>(h.firmware_mode);
  FrameEvents events{place.session.chip,  h.core_x, h.core_y, kind, mode, 0, 0, 0, {}, batch,
                     place.workload.names};
  events.epoch = h.epoch;
  events.seen_ns = DecodedChunk::seen_ns(h);
  events.metal_date = date_ ? *date_ : markers::usual_metal_date(h.generation);
  if (host_clock_) {
    events.tile_clock = place.session.times.clock_of(h.core_x, h.core_y);
    events.host_clock_minus_raw_ns = place.session.times.difference_ns(*host_clock_).value_or(0);
  }
  return events;
}

// `events`: of the chunk; what is of the frame is replaced.
void Pipeline::emit(const DecodedChunk& chunk, const DecodedChunk::Frame& frame, const Place& place,
                    FrameEvents& events, Format& format) {
  delivered_ += frame.markers.size();
  if (!chunk.picked_all())
    for (const markers::Marker& m : frame.markers)
      if (is_of_a_name(m)) place.workload.zone_ids.set(m.id);
  events.risc = frame.decoded.risc;
  events.host_id = frame.decoded.host_id;
  events.trace_counter = DecodedChunk::trace_counter_of(events.mode, frame.decoded.trace_counter);
  events.main_zone = frame.main_zone;
  events.found_zones = frame.zones;
  events.markers = {}, events.host_times = {}, events.semantics = {};
  if (chunk.picked_all()) events.work = place.work, events.work_frame = frame.work_frame;
  if (is_alone(frame.alone, place, events) && format.frame_alone(events)) return;
  events.markers = frame.markers;
  if (host_clock_) events.host_times = frame.times;
  if (!place.means_nothing || !chunk.picked_all())
    events.semantics = place.workload.semantics.of(events, place.header.generation);
  format.frame(events);
}

}  // namespace ttc::tools
