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
uint32_t lane_key(const shm::ChunkHeader& h, const shm::SpanEntry& span) {
  return uint32_t{h.core_x} << 24 | uint32_t{h.core_y} << 16 | span.risc;
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

void Pipeline::push(std::span<const uint64_t> chunk, Format& format) {
  const shm::ChunkHeader& h = shm::header_of(chunk);
  const auto body = shm::body_of(chunk);
  if (h.kind == ChunkKind::session) {
    session(h, body, format);
    const auto described = sessions_.find(h.session);
    if (described != sessions_.end() && described->second.wanted) losses_.push(chunk);
    return;
  }
  if (collect::is_of_the_host(h)) return format.host(chunk);
  SessionState& s = state_of(h);
  if (!s.wanted) return;
  const shm::LossRecord* const loss = losses_.push(chunk);
  switch (h.kind) {
    case ChunkKind::device_words:
      if (!host_clock_ || !s.clock_model) return words(chunk, s, format);
      s.times.wait(chunk);
      return release(s, format, false);
    case ChunkKind::clock:
      format.catch_up();
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
      format.catch_up();
      if (std::string why = s.times.take_domains(body); !why.empty()) complaint_ = std::move(why);
      return;
    case ChunkKind::names: {
      Workload& w = s.named ? *s.named : s.workloads.begin()->second;
      const size_t before = w.names.size();
      format.catch_up();
      std::string_view text(body.data(), body.size());
      for (size_t end; (end = text.find('\n')) != std::string_view::npos; text.remove_prefix(end + 1))
        w.names.add_zone_string(text.substr(0, end));
      if (w.names.size() == before) return;
      w.semantics.names_changed();
      format.names_changed();
      return;
    }
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

bool Pipeline::note_words(std::span<const uint64_t> chunk) {
  SessionState& s = state_of(shm::header_of(chunk));
  if (s.wanted) losses_.push(chunk);
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
    const std::vector<uint64_t> chunk = s.times.next_ready(all);
    if (chunk.empty()) return;
    words(chunk, s, format);
  }
}

bool Pipeline::deliver(Format& format, bool all) {
  const uint64_t before = delivered_;
  for (auto& [session, s] : sessions_) release(s, format, all);
  return delivered_ != before;
}

void Pipeline::finish(Format& format) {
  most_markers_ = ~uint64_t{0};
  for (auto& [session, s] : sessions_) release(s, format, true);
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
  format.catch_up();
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
    if (host_clock_ && s.times.without_bound())
      all.push_back("chip " + std::to_string(s.chip) + ": " + std::to_string(s.times.without_bound()) +
                    " markers have no host time, " +
                    (s.times.known() ? "they lie outside of what its clock model covers"
                                     : "this source holds no clock model of it (--no-sync?)"));
  return all;
}

void Pipeline::words(std::span<const uint64_t> chunk, SessionState& s, Format& format) {
  const shm::ChunkHeader& h = shm::header_of(chunk);
  const markers::Layout* layout = markers::layout_by_generation(h.generation);
  if (!layout) {
    complaint_ = "a chunk is of layout generation " + std::to_string(h.generation) +
                 ", which this build does not support";
    return;
  }
  if (h.core_kind >= markers::kCoreKinds ||
      h.firmware_mode > static_cast<uint8_t>(device::Mode::accumulate)) {
    complaint_ = "a chunk is of a kind of core or firmware that this build does not support";
    return;
  }
  for (const shm::SpanEntry& span : shm::spans_of(chunk)) {
    if (span.risc >= device::kMaxRiscs) {
      complaint_ = "a span names RISC " + std::to_string(span.risc);
      continue;
    }
    if (span.source > shm::SpanSource::l1_buffer) {
      complaint_ = "a chunk has words of source " + std::to_string(static_cast<unsigned>(span.source)) +
                   ", which this build does not support";
      continue;
    }
    s.words_came = true;
    if (!filter_.wants(h.core_x, h.core_y, span.risc)) continue;
    markers::LaneDecoder decoder({&layout->format, span.risc, static_cast<uint8_t>(h.flat_id),
                                  static_cast<device::Mode>(h.firmware_mode)});
    markers::FrameDigest digest;
    std::memcpy(&digest, span.digest, sizeof digest);
    decoder.resume(digest);
    batch_.clear();
    if (span.source == shm::SpanSource::l1_buffer)
      decoder.decode_buffer(shm::words_of(chunk, span), batch_);
    else
      decoder.decode(shm::words_of(chunk, span), batch_);
    anomalies_.add(decoder.anomalies());
    if (h.firmware_mode != 0) skip_repeats(s.until[lane_key(h, span)]);
    for (const markers::Frame& frame : batch_.frames()) emit(h, frame, s, format);
  }
}

// If the firmware keeps words in L1, a lane's L1 chunk may hold words that a later push repeats.
void Pipeline::skip_repeats(uint64_t& until) {
  const uint64_t before = until;
  for (markers::Marker& m : batch_.markers()) {
    if (m.flags & markers::kStale) continue;
    if (before != 0 && markers::clock_difference(m.time_cycles, before) <= 0)
      m.flags |= markers::kStale;
    else if (until == 0 || markers::clock_difference(m.time_cycles, until) > 0)
      until = m.time_cycles;
  }
}

// The four guaranteed markers come first in a frame and are not in time order. The customs are, but for
// totals, which come last and are dated to the start of their frame. Frames are short and come by the million: nothing is allocated.
void Pipeline::sort_by_time() {
  const auto earlier = [](const markers::Marker& a, const markers::Marker& b) {
    return markers::clock_difference(a.time_cycles, b.time_cycles) < 0;
  };
  const auto customs = std::find_if(ordered_.begin(), ordered_.end(),
                                    [](const auto& m) { return !(m.flags & markers::kGuaranteed); });
  for (auto g = ordered_.begin(); g != customs; ++g)
    for (auto at = g; at != ordered_.begin() && earlier(*at, *std::prev(at)); --at)
      std::iter_swap(at, std::prev(at));
  if (!std::is_sorted(customs, ordered_.end(), earlier)) std::stable_sort(customs, ordered_.end(), earlier);
  // The guaranteed markers, at most four, are put at their places among the others, the last one first: what is
  // behind it is in order.
  for (auto g = customs; g != ordered_.begin();) {
    --g;
    const auto place = std::lower_bound(std::next(g), ordered_.end(), *g, earlier);
    if (place == std::next(g)) return;
    std::rotate(g, std::next(g), place);
  }
}

void Pipeline::emit(const shm::ChunkHeader& h, const markers::Frame& frame, SessionState& s, Format& format) {
  if (!filter_.host_ids.empty() && !filter_.host_ids.contains(frame.host_id)) return;
  const uint8_t unwanted = markers::kStale | (keep_duplicates_ ? 0 : markers::kDuplicate);
  ordered_.clear();
  for (const markers::Marker& m : batch_.markers(frame))
    if (!(m.flags & unwanted)) ordered_.push_back(m);
  Workload& workload = s.workload_of(h.epoch);
  if (!filter_.wants_all_markers()) {
    const auto processor = markers::risc_name(static_cast<markers::CoreKind>(h.core_kind), frame.risc,
                                              static_cast<device::Mode>(h.firmware_mode));
    std::erase_if(ordered_,
                  [&](const markers::Marker& m) { return !filter_.wants(m, workload.names, processor); });
  }
  if (ordered_.empty()) return;
  if (format.order() == Order::time) sort_by_time();
  delivered_ += ordered_.size();
  for (const markers::Marker& m : ordered_)
    if (named_by_id(m) && !(m.flags & markers::kQuickPush)) workload.zone_ids.set(m.id);
  const auto mode = static_cast<device::Mode>(h.firmware_mode);
  // Trace-only firmware writes the count of replays in place of the host id, and no trace counter.
  const uint16_t trace_counter = mode == device::Mode::trace_only ? uint16_t{0} : frame.trace_counter;
  FrameEvents events{s.chip,   h.core_x,   h.core_y,      static_cast<markers::CoreKind>(h.core_kind),
                     mode,     frame.risc, frame.host_id, trace_counter,
                     ordered_, batch_,     workload.names};
  const markers::Marker& first = batch_.markers(frame).front();
  if (first.flags & markers::kGuaranteed) events.main_zone = first.id;
  events.epoch = h.epoch;
  if (h.read_time_ns != 0) events.seen_ns = h.read_time_ns + kWordsReadWithinNs;
  events.metal_date = date_ ? *date_ : markers::usual_metal_date(h.generation);
  events.semantics = workload.semantics.of(events, h.generation);
  if (host_clock_) {
    marker_times_.clear();
    for (const markers::Marker& m : ordered_) marker_times_.push_back(m.time_cycles);
    events.host_times = s.times.convert(h.core_x, h.core_y, h.read_time_ns, marker_times_);
    events.tile_clock = s.times.clock_of(h.core_x, h.core_y);
    events.host_clock_minus_raw_ns = s.times.difference_ns(*host_clock_).value_or(0);
  }
  format.frame(events);
}

uint64_t Pipeline::without_bound() const {
  uint64_t count = 0;
  for (const auto& [id, s] : sessions_) count += s.times.without_bound();
  return count;
}

template <class Which>
size_t Pipeline::count_ids(Which which) const {
  size_t count = 0;
  for (const auto& [session, s] : sessions_)
    for (const auto& [first_epoch, w] : s.workloads)
      for (size_t id = 0; id < w.zone_ids.size(); ++id)
        count += w.zone_ids[id] && which(w, static_cast<uint16_t>(id));
  return count;
}

size_t Pipeline::unnamed_ids() const {
  return count_ids([](const Workload& w, uint16_t id) { return w.names.find(id) == nullptr; });
}

size_t Pipeline::ambiguous_ids() const {
  return count_ids([](const Workload& w, uint16_t id) { return w.names.ambiguous(id); });
}

}  // namespace ttc::tools
