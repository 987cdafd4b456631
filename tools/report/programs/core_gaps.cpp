#include "tools/report/programs/core_gaps.hpp"

#include <functional>
#include <map>
#include <optional>
#include <queue>

namespace ttc::report {
namespace {
constexpr int64_t kProfilerCycles = 1500;  // that tt-metal takes off for its own work

struct Gap {
  uint64_t start = 0;
  uint32_t before = 0, after = 0;  // programs
  int64_t cycles = 0;
  bool same_programs(const Gap& other) const { return before == other.before && after == other.after; }
};
}  // namespace

// The gaps of one core, the earliest first.
class CoreGaps::Series {
 public:
  Series(size_t column, const Records<Step>& steps, size_t begin, size_t end)
      : column_(column), steps_(steps, begin, end), previous_(steps_.front()) {
    steps_.pop();
    make();
  }
  size_t column() const { return column_; }
  bool done() const { return !gap_; }
  const Gap& front() const { return *gap_; }
  void pop() {
    previous_ = steps_.front();
    steps_.pop();
    make();
  }

 private:
  void make() {
    gap_.reset();
    if (steps_.done()) return;
    const Step& next = steps_.front();
    gap_ = Gap{previous_.end, previous_.host_id, next.host_id,
               static_cast<int64_t>(next.begin) - static_cast<int64_t>(previous_.end)};
  }

  size_t column_;
  RecordReader<Step> steps_;
  Step previous_;
  std::optional<Gap> gap_;
};

void CoreGaps::program(const DeviceOp& op, std::span<const CoreTime> cores) {
  constexpr auto kEthernet = static_cast<uint8_t>(1u << static_cast<unsigned>(LogRisc::erisc) | 1u << kRiscs);
  for (const auto& c : cores)
    if (c.kernel.whole() && c.last_end && !(c.kernels & kEthernet))
      steps_.add({op.launch.chip, c.x, c.y, op.launch.host_id,
                  c.dm_start == ~0ull ? c.kernel.begin : c.dm_start, c.last_end});
}

void CoreGaps::write(tools::Output& out) {
  struct Core {
    uint32_t chip;
    std::pair<uint8_t, uint8_t> place;
    size_t begin, end;  // of `steps`
  };
  Records<Step> steps;
  std::vector<Core> cores;
  std::map<std::pair<uint8_t, uint8_t>, size_t> columns;  // by x, y, over all devices
  steps_.drain([&](const Step& step) {
    const std::pair place{step.x, step.y};
    if (cores.empty() || cores.back().chip != step.chip || cores.back().place != place)
      cores.push_back({step.chip, place, steps.size(), steps.size()});
    steps.push_back(step);
    cores.back().end = steps.size();
    columns.emplace(place, 0);
  });
  size_t next = 0;
  std::string text = "device ID,op2op ID";
  for (auto& [core, place] : columns) {
    place = next++;
    text += "," + std::to_string(core.first) + "; " + std::to_string(core.second) + " [ns]";
  }
  out.append(text + "\r\n");
  for (size_t at = 0; at < cores.size();) {
    const uint32_t chip = cores[at].chip;
    std::vector<Series> series;
    for (; at < cores.size() && cores[at].chip == chip; ++at)
      series.emplace_back(columns[cores[at].place], steps, cores[at].begin, cores[at].end);
    write_chip(chip, series, columns.size(), out);
  }
}

// A row for the earliest gap that has none yet, with the gaps of all cores that are between the same two
// programs and are the earliest of their core.
void CoreGaps::write_chip(uint32_t chip, std::vector<Series>& cores, size_t columns,
                          tools::Output& out) const {
  using Front = std::pair<uint64_t, size_t>;  // start of a core's earliest gap when it was queued; core
  std::priority_queue<Front, std::vector<Front>, std::greater<>> fronts;
  for (size_t i = 0; i < cores.size(); ++i)
    if (!cores[i].done()) fronts.push({cores[i].front().start, i});
  while (!fronts.empty()) {
    const auto [start, first] = fronts.top();
    fronts.pop();
    if (cores[first].done() || cores[first].front().start != start) continue;  // is in an earlier row
    const Gap gap = cores[first].front();
    std::vector<std::string> cells(columns);
    for (size_t i = 0; i < cores.size(); ++i) {
      Series& core = cores[i];
      if (core.done() || !core.front().same_programs(gap)) continue;
      cells[core.column()] = std::to_string(core.front().cycles - kProfilerCycles);
      core.pop();
      if (!core.done()) fronts.push({core.front().start, i});
    }
    std::string text =
        std::to_string(chip) + "," + std::to_string(gap.before) + " -> " + std::to_string(gap.after);
    for (const std::string& cell : cells) text += "," + cell;
    out.append(text + "\r\n");
  }
}

}  // namespace ttc::report
