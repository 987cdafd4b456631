#include "collector/record/triggers.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <nlohmann/json.hpp>
#include <string_view>

#include "collector/program/json_text.hpp"
#include "collector/program/units.hpp"
#include "firmware_markers/frame.hpp"

namespace ttc::collect {
namespace {

constexpr std::string_view kCardEnded = "the card ";  // how the end of a run begins when its card ended it

std::string in_us(uint64_t ns) {
  char text[40];
  std::snprintf(text, sizeof text, "%.3f us", static_cast<double>(ns) / 1e3);
  return text;
}

uint32_t lane_key(const shm::ChunkHeader& h, uint8_t risc) {
  return uint32_t{h.core_x} << 16 | uint32_t{h.core_y} << 8 | risc;
}

}  // namespace

std::string add_trigger(const std::string& text, TriggerRules& rules) {
  std::string wrong =
      "'" + text +
      "' is no trigger; it takes zone>100us, zone:NAME, zone:NAME>100us, loss, silent>2s, exit, reset";
  const size_t more = text.find('>');
  const std::string what = text.substr(0, more);
  uint64_t time = 0;
  if (more != std::string::npos) {
    const program::ParsedUnits parsed = program::parse_duration(text.substr(more + 1));
    time = parsed.value.value_or(0);
    if (!parsed.value) return wrong + ": " + parsed.error;
    if (time == 0) return wrong;
  }
  const bool zone = what == "zone" || (what.starts_with("zone:") && what.size() > 5);
  const std::string name = what.size() > 5 ? what.substr(5) : "";
  if (zone && time)
    rules.long_zones.push_back({name, time});
  else if (zone && !name.empty())
    rules.zones.push_back(name);
  else if (what == "silent" && time)
    rules.silent_ns = time;
  else if (what == "loss" && !time)
    rules.loss = true;
  else if (what == "exit" && !time)
    rules.exit = true;
  else if (what == "reset" && !time)
    rules.reset = true;
  else
    return wrong;
  return {};
}

std::string TriggerWatch::name_of(uint16_t id) const {
  const markers::ZoneSource* source = names_.find(id);
  return source ? source->name : "zone " + std::to_string(id);
}

std::string TriggerWatch::lane_name(uint32_t key) const {
  return std::to_string(key >> 16) + "-" + std::to_string(key >> 8 & 0xff) + " RISC " +
         std::to_string(key & 0xff);
}

std::optional<std::string> TriggerWatch::push(std::span<const uint64_t> chunk) {
  const shm::ChunkHeader& h = shm::header_of(chunk);
  const auto body = shm::body_of(chunk);
  std::string_view text(body.data(), body.size());
  switch (h.kind) {
    case shm::ChunkKind::device_words:
      return words(chunk);
    case shm::ChunkKind::names:
      for (size_t end; (end = text.find('\n')) != std::string_view::npos; text.remove_prefix(end + 1))
        names_.add_zone_string(text.substr(0, end));
      return std::nullopt;
    case shm::ChunkKind::session: {
      const auto j = program::json_value(text);
      if (!j.is_object()) return std::nullopt;
      if (j.value("first_epoch", nlohmann::json()) > 0) names_ = {};  // of the workload before
      if (j.contains("aiclk_mhz") && j["aiclk_mhz"].is_number_unsigned())
        aiclk_mhz_ = std::max<uint64_t>(1, j["aiclk_mhz"]);
      return std::nullopt;
    }
    case shm::ChunkKind::loss: {
      shm::LossRecord r;
      std::memcpy(&r, body.data(), sizeof r);
      const uint32_t key = uint32_t{r.core_x} << 16 | uint32_t{r.core_y} << 8 | r.risc;
      if (const auto lane = lanes_.find(key); lane != lanes_.end()) lane->second.open.clear();
      if (rules_.reset && r.cause == shm::LossCause::card_gone) return "the card was reset or went away";
      if (rules_.loss && !(h.flags & shm::kStanding))
        return std::string("loss: ") + to_string(r.cause) + " on " + lane_name(key);
      return std::nullopt;
    }
    case shm::ChunkKind::end:
      if (rules_.reset && text.starts_with(kCardEnded)) return std::string(text);
      return std::nullopt;
    default:
      return std::nullopt;
  }
}

std::optional<std::string> TriggerWatch::judge(const shm::ChunkHeader& h, uint8_t risc,
                                               const markers::Marker& m, Lane& lane) {
  const bool starts = m.type == markers::MarkerType::zone_start,
             ends = m.type == markers::MarkerType::zone_end;
  if (starts) {
    lane.open[m.id] = m.time_cycles;
    for (const std::string& name : rules_.zones)
      if (name_of(m.id) == name) return "zone " + name + " on " + lane_name(lane_key(h, risc));
  }
  if (!ends || rules_.long_zones.empty()) return std::nullopt;
  const auto open = lane.open.find(m.id);
  if (open == lane.open.end()) return std::nullopt;
  const int64_t cycles = markers::clock_difference(m.time_cycles, open->second);
  lane.open.erase(open);
  if (cycles <= 0) return std::nullopt;
  const auto ns = static_cast<uint64_t>(static_cast<double>(cycles) * 1e3 / static_cast<double>(aiclk_mhz_));
  for (const TriggerRules::Long& rule : rules_.long_zones)
    if (ns > rule.ns && (rule.zone.empty() || name_of(m.id) == rule.zone))
      return "zone " + name_of(m.id) + " on " + lane_name(lane_key(h, risc)) + " took " + in_us(ns);
  return std::nullopt;
}

std::optional<std::string> TriggerWatch::words(std::span<const uint64_t> chunk) {
  const shm::ChunkHeader& h = shm::header_of(chunk);
  const markers::Layout* layout = markers::layout_by_generation(h.generation);
  const bool decodes = layout && h.firmware_mode <= static_cast<uint8_t>(device::Mode::accumulate) &&
                       (!rules_.zones.empty() || !rules_.long_zones.empty());
  std::optional<std::string> why;
  for (const shm::SpanEntry& span : shm::spans_of(chunk)) {
    Lane& lane = lanes_[lane_key(h, span.risc)];
    lane.news_ns = h.read_time_ns;
    lane.reported_silent = false;
    if (!decodes || span.risc >= device::kMaxRiscs) continue;
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
    for (const markers::Marker& m : batch_.markers())
      if (!(m.flags & (markers::kStale | markers::kDuplicate)))
        if (auto reason = judge(h, span.risc, m, lane); reason && !why) why = reason;
  }
  return why;
}

std::optional<std::string> TriggerWatch::at(uint64_t raw_ns) {
  if (rules_.silent_ns == 0) return std::nullopt;
  for (auto& [key, lane] : lanes_) {
    if (lane.reported_silent || raw_ns < lane.news_ns + rules_.silent_ns) continue;
    lane.reported_silent = true;
    return "no marker from " + lane_name(key) + " for " + in_us(raw_ns - lane.news_ns);
  }
  return std::nullopt;
}

}  // namespace ttc::collect
