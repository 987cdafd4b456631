#include "tools/ttmon/top.hpp"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>
#include <unordered_map>
#include <utility>

#include "collector/program/json_text.hpp"
#include "collector/program/printable.hpp"
#include "tools/pipeline/pipeline.hpp"
#include "tools/ttmon/options.hpp"

namespace ttc::tools {
namespace {

struct Sum {
  uint64_t cycles = 0, count = 0, longest = 0;
  void add(uint64_t c) {
    cycles += c;
    ++count;
    longest = std::max(longest, c);
  }
};

// Adds up zones by name and launches by host id. Zones of one id inside each other are taken for one after
// the other: the inner one's end ends the outer one's start.
class TopFormat : public Format {
 public:
  void begin(const Session& s) override { mhz_[s.chip] = std::max(1u, s.aiclk_mhz); }
  void frame(const FrameEvents& f) override {
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
      const markers::ZoneSource* name = f.names.find(m.id);
      const auto took = static_cast<uint64_t>(cycles) * 1000 / mhz_of(f.chip);  // ns
      zones_[name ? name->name : "zone " + std::to_string(m.id)].add(took);
      if (m.id == f.main_zone && (m.flags & markers::kGuaranteed)) programs_[f.host_id].add(took);
    }
  }
  void loss(const shm::LossRecord&) override { ++losses_; }
  void names_changed() override {}
  void end() override {}

  uint64_t losses() const { return losses_; }
  template <class Map>
  static auto most(const Map& sums, unsigned rows) {
    std::vector<std::pair<typename Map::key_type, Sum>> all(sums.begin(), sums.end());
    std::sort(all.begin(), all.end(),
              [](const auto& a, const auto& b) { return a.second.cycles > b.second.cycles; });
    if (all.size() > rows) all.resize(rows);
    return all;
  }
  const std::map<std::string, Sum>& zones() const { return zones_; }
  const std::map<uint32_t, Sum>& programs() const { return programs_; }

 private:
  uint64_t mhz_of(uint32_t chip) const {
    const auto it = mhz_.find(chip);
    return it == mhz_.end() ? 1000 : it->second;
  }
  std::map<uint32_t, uint32_t> mhz_;
  std::unordered_map<uint64_t, uint64_t> open_;
  std::map<std::string, Sum> zones_;
  std::map<uint32_t, Sum> programs_;  // time of the main zone on all RISCs together
  uint64_t losses_ = 0;
};

nlohmann::ordered_json to_json(const Sum& s) {
  return {{"ns", s.cycles}, {"count", s.count}, {"longest_ns", s.longest}};
}

void print(const TopFormat& top, const TopOptions& o, uint64_t markers) {
  if (o.json) {
    nlohmann::ordered_json j{{"markers", markers},
                             {"loss_records", top.losses()},
                             {"zones", nlohmann::json::array()},
                             {"programs", nlohmann::json::array()}};
    for (const auto& [name, sum] : TopFormat::most(top.zones(), o.rows)) {
      auto row = to_json(sum);
      row["zone"] = name;
      j["zones"].push_back(row);
    }
    for (const auto& [id, sum] : TopFormat::most(top.programs(), o.rows)) {
      auto row = to_json(sum);
      row["host_id"] = id;
      j["programs"].push_back(row);
    }
    std::printf("%s\n", program::json_text(j).c_str());
    std::fflush(stdout);
    return;
  }
  if (isatty(STDOUT_FILENO)) std::fputs("\033[H\033[J", stdout);
  std::printf("%llu markers, %llu losses told\n", static_cast<unsigned long long>(markers),
              static_cast<unsigned long long>(top.losses()));
  const auto line = [](const char* name, const Sum& s) {
    std::printf("%-40.40s %14.3f %10llu %12.3f %12.3f\n", name, static_cast<double>(s.cycles) / 1e6,
                static_cast<unsigned long long>(s.count),
                static_cast<double>(s.cycles) / 1e3 / static_cast<double>(std::max<uint64_t>(1, s.count)),
                static_cast<double>(s.longest) / 1e3);
  };
  std::printf("%-40s %14s %10s %12s %12s\n", "zone", "all [ms]", "times", "mean [us]", "longest [us]");
  for (const auto& [name, sum] : TopFormat::most(top.zones(), o.rows))
    line(program::printable(name).c_str(), sum);
  std::printf("%-40s %14s %10s %12s %12s\n", "program (host id), on all processors", "all [ms]", "times",
              "mean [us]", "longest [us]");
  for (const auto& [id, sum] : TopFormat::most(top.programs(), o.rows)) line(std::to_string(id).c_str(), sum);
  std::fflush(stdout);
}

}  // namespace

void show_top(const TopOptions& o, const volatile std::sig_atomic_t& stop) {
  using Clock = std::chrono::steady_clock;
  const auto source = open_source(o.from, !o.once, 0, {}, 1);
  Pipeline pipeline({}, false, {}, {}, source->loss_cause());
  TopFormat top;
  auto shown = Clock::now();
  std::vector<uint64_t> chunk;
  while (!stop) {
    const Source::Next next = source->next(chunk);
    if (next == Source::Next::end) break;
    if (source->lost_beginning()) pipeline.lost_beginning();
    if (next == Source::Next::chunk) pipeline.push(chunk, top);
    if (!o.once && Clock::now() - shown > std::chrono::nanoseconds(o.interval_ns)) {
      shown = Clock::now();
      print(top, o, pipeline.markers());
    }
  }
  if (source->broke_off()) pipeline.broke_off();
  pipeline.finish(top);
  print(top, o, pipeline.markers());
  for (const std::string& c : source->complaints()) program::say(kTtmon, MonitorExit::kOk, c);
}

}  // namespace ttc::tools
