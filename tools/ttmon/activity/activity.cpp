#include "tools/ttmon/activity/activity.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "collector/program/json_text.hpp"

namespace ttc::tools {
namespace {

constexpr size_t kMostPrograms = 10'000;
constexpr size_t kRows = 200;               // of each table
constexpr uint64_t kSettleNs = 50'000'000;  // lanes are read one after another

std::vector<NamedSum> longest(std::vector<NamedSum> all, size_t most) {
  const auto rows = static_cast<ptrdiff_t>(std::min(most, all.size()));
  std::partial_sort(all.begin(), all.begin() + rows, all.end(),
                    [](const NamedSum& a, const NamedSum& b) { return a.sum.ns > b.sum.ns; });
  all.resize(static_cast<size_t>(rows));
  return all;
}

// 0: the session's description has none.
uint64_t workload_pid_in(std::span<const char> session) {
  const auto j = program::json_value({session.data(), session.size()});
  const nlohmann::json::json_pointer at("/environment/workload/pid");
  return j.is_object() && j.contains(at) && j[at].is_number_unsigned() ? j[at].get<uint64_t>() : 0;
}

}  // namespace

void TimeSum::add(uint64_t took_ns) {
  ns += took_ns;
  ++count;
  longest_ns = std::max(longest_ns, took_ns);
}

void TimeSum::add(const TimeSum& other) {
  ns += other.ns;
  count += other.count;
  longest_ns = std::max(longest_ns, other.longest_ns);
}

void TimeSums::begin(const Session& s) {
  session_ = s;
  mhz_[s.chip] = std::max(1u, s.aiclk_mhz);
}

TimeSum& TimeSums::sum_of(const FrameEvents& f, uint16_t id) {
  TimeSum*& sum = by_id_[reinterpret_cast<uintptr_t>(&f.names) ^ uint64_t{id} << 48];
  if (!sum) {
    const markers::ZoneSource* source = f.names.find(id);
    sum = &zones_[source ? source->name : "zone " + std::to_string(id)];
  }
  return *sum;
}

void TimeSums::frame(const FrameEvents& f) {
  const auto chip = mhz_.find(f.chip);
  const uint64_t mhz = chip == mhz_.end() ? 1000 : chip->second;
  ns_.resize(f.markers.size());
  for (size_t i = 0; i < ns_.size(); ++i) ns_[i] = f.markers[i].time_cycles * 1000 / mhz;
  latest_ns_ = std::max(latest_ns_, ns_.back());
  open_programs_[f.chip].take(f, uint32_t{f.core_x} << 16 | uint32_t{f.core_y} << 8 | f.risc,
                              LaunchEnds::of(f, ns_), false);
  for (const markers::Marker& m : f.markers) {
    const uint64_t key = uint64_t{f.chip} << 40 | uint64_t{f.core_x} << 32 | uint64_t{f.core_y} << 24 |
                         uint64_t{f.risc} << 16 | m.id;
    if (m.type == markers::MarkerType::zone_start) open_[key] = m.time_cycles;
    if (m.type != markers::MarkerType::zone_end) continue;
    const auto start = open_.find(key);
    if (start == open_.end()) continue;
    const int64_t cycles = markers::clock_difference(m.time_cycles, start->second);
    open_.erase(start);
    if (cycles < 0) continue;
    const uint64_t took_ns = static_cast<uint64_t>(cycles) * 1000 / mhz;
    sum_of(f, m.id).add(took_ns);
    if (m.id != f.main_zone || !(m.flags & markers::kGuaranteed)) continue;
    busy_[{f.core_x, f.core_y}][f.risc] += took_ns;
  }
}

void TimeSums::missed() {
  open_.clear();
  open_programs_.clear();
}

void TimeSums::clear() {
  by_id_.clear();
  zones_.clear();
  ops_.clear();
  programs_.clear();
}

// Only names are taken from the host side.
void TimeSums::host(std::span<const uint64_t> chunk) {
  host_.push(chunk);
  host_.release(nowhere_, true);
}

const std::string* TimeSums::name_of(const ProgramKey& key) const {
  const std::string* const own = host_.names().find(key.chip, key.host_id);
  return own || !other_names_ ? own : other_names_->find(key.chip, key.host_id);
}

void TimeSums::settle(bool all) {
  const uint64_t until_ns = all ? ~uint64_t{0} : latest_ns_ - std::min(latest_ns_, kSettleNs);
  for (auto& [chip, open] : open_programs_)
    open.ended(until_ns, [this, of = chip](const Program& p) {
      programs_[{of, p.host_id}].add(p.end_ns - p.begin_ns);
    });
  for (auto it = programs_.begin(); it != programs_.end();) {
    const std::string* const name = name_of(it->first);
    if (!name) {
      ++it;
      continue;
    }
    ops_[*name].add(it->second);
    it = programs_.erase(it);
  }
}

void TimeSums::keep_longest_programs(size_t most) {
  if (programs_.size() <= most) return;
  std::vector<uint64_t> times;
  for (const auto& [id, sum] : programs_) times.push_back(sum.ns);
  std::nth_element(times.begin(), times.begin() + static_cast<ptrdiff_t>(times.size() / 2), times.end());
  std::erase_if(programs_,
                [least = times[times.size() / 2]](const auto& one) { return one.second.ns <= least; });
}

std::vector<NamedSum> longest_zones(const TimeSums& sums, size_t most) {
  std::vector<NamedSum> all;
  for (const auto& [name, sum] : sums.zones()) all.push_back({name, sum});
  return longest(std::move(all), most);
}

std::vector<NamedSum> longest_ops(const TimeSums& sums, size_t most) {
  std::vector<NamedSum> all;
  for (const auto& [name, sum] : sums.ops()) all.push_back({name, sum});
  const bool chips =
      !sums.programs().empty() && sums.programs().begin()->first.chip != sums.programs().rbegin()->first.chip;
  for (const auto& [key, sum] : sums.programs())
    all.push_back(
        {"program " + std::to_string(key.host_id) + (chips ? ", chip " + std::to_string(key.chip) : ""),
         sum});
  return longest(std::move(all), most);
}

ActivityReader::ActivityReader(const std::string& live_name)
    : reader_(live_name, shm::StartAt::oldest), pipeline_({}, false) {}

ActivityReader::Stretch ActivityReader::read(uint64_t now_raw_ns, bool passed_over) {
  Stretch stretch;
  if (last_look_ns_ && !passed_over) stretch.from_ns = last_look_ns_;
  const bool live = reader_.writer_alive();
  for (std::vector<uint64_t> chunk;;) {
    const shm::Reader::Next next = reader_.next(chunk, 0);
    if (next == shm::Reader::Next::lapped) {
      sums_.missed();
      stretch.from_ns = 0;
      continue;
    }
    if (next != shm::Reader::Next::chunk) break;
    pipeline_.push(chunk, sums_);
    const shm::ChunkHeader& h = shm::header_of(chunk);
    if (h.kind == shm::ChunkKind::session) workload_pid_ = workload_pid_in(shm::body_of(chunk));
    if (h.kind != shm::ChunkKind::device_words) continue;
    stretch.any_words = true;
    if (!stretch.from_ns) stretch.from_ns = h.read_time_ns;
    stretch.to_ns = h.read_time_ns;
    for (const shm::SpanEntry& span : shm::spans_of(chunk))
      if (span.source == shm::SpanSource::dram_log)
        stretch.fullest_words = std::max(stretch.fullest_words, span.word_offset + span.word_count);
  }
  if (live) stretch.to_ns = now_raw_ns;
  return stretch;
}

Activity ActivityReader::look(uint64_t budget_bytes, uint64_t now_raw_ns, uint64_t log_words,
                              const NamesOf& names_of) {
  const uint64_t grown = reader_.tail() - reader_.position();
  const bool passed_over = grown > budget_bytes;
  if (passed_over) {
    reader_.skip_to(reader_.tail() - budget_bytes);
    sums_.missed();
  }
  grown_bytes_ += grown;
  read_bytes_ += std::min(grown, budget_bytes);
  const Stretch stretch = read(now_raw_ns, passed_over);
  last_look_ns_ = now_raw_ns;
  sums_.set_op_names(names_of(workload_pid_));
  sums_.settle(!stretch.any_words);
  sums_.keep_longest_programs(kMostPrograms);

  Activity a;
  a.arch = sums_.session().arch;
  a.board = sums_.session().board;
  a.read_share = grown_bytes_ ? static_cast<double>(read_bytes_) / static_cast<double>(grown_bytes_) : 1;
  const uint64_t stretch_ns =
      stretch.from_ns && stretch.to_ns > stretch.from_ns ? stretch.to_ns - stretch.from_ns : 0;
  a.stretch_s = static_cast<double>(stretch_ns) / 1e9;
  const TimeSums::BusyTimes busy = sums_.take_busy_times();
  for (const auto& [x, y] : sums_.session().compute_cores) {
    uint64_t most = 0;
    if (const auto core = busy.find({x, y}); core != busy.end())
      for (const auto& [risc, ns] : core->second) most = std::max(most, ns);
    a.cores.push_back(
        {x, y, stretch_ns ? std::min(1.0, static_cast<double>(most) / static_cast<double>(stretch_ns)) : 0});
  }
  if (log_words && stretch.fullest_words)
    a.log_fill = static_cast<double>(stretch.fullest_words) / static_cast<double>(log_words);
  a.zones = longest_zones(sums_, kRows);
  a.programs = longest_ops(sums_, kRows);
  a.op_names = !sums_.ops().empty();
  a.telemetry = sums_.telemetry();
  // With recycling, offsets in the stream are not places in a log, so the fill is taken from telemetry.
  if (a.telemetry && a.telemetry->known & 16) a.log_fill = a.telemetry->log_fill_ppm / 1e6;
  return a;
}

}  // namespace ttc::tools
