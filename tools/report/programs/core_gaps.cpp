#include "tools/report/programs/core_gaps.hpp"

#include <algorithm>
#include <deque>

namespace ttc::report {
namespace {
constexpr int64_t kProfilerCycles = 1500;  // that tt-metal takes off for its own work
}

void CoreGaps::program(const DeviceOp& op, std::span<const OpBuilder::CoreTime> cores) {
  constexpr auto kEthernet = static_cast<uint8_t>(1u << static_cast<unsigned>(LogRisc::erisc) | 1u << kRiscs);
  for (const auto& c : cores)
    if (c.kernel.whole() && c.last_end && !(c.kernels & kEthernet))
      steps_[{op.launch.chip, c.x, c.y}].push_back(
          {c.dm_start == ~0ull ? c.kernel.begin : c.dm_start, c.last_end, op.launch.host_id});
}

void CoreGaps::write(tools::Output& out) const {
  struct Gap {
    uint64_t start;
    uint32_t before, after;
    int64_t cycles;
  };
  std::map<std::pair<uint8_t, uint8_t>, size_t> columns;  // by x, y, over all devices
  for (const auto& [core, steps] : steps_)
    columns.emplace(std::pair{std::get<1>(core), std::get<2>(core)}, 0);
  size_t next = 0;
  std::string text = "device ID,op2op ID";
  for (auto& [core, place] : columns) {
    place = next++;
    text += "," + std::to_string(core.first) + "; " + std::to_string(core.second) + " [ns]";
  }
  out.append(text + "\r\n");

  for (auto at = steps_.begin(); at != steps_.end();) {
    const uint32_t chip = std::get<0>(at->first);
    std::map<size_t, std::deque<Gap>> series;  // by column
    std::vector<std::pair<Gap, size_t>> all;
    for (; at != steps_.end() && std::get<0>(at->first) == chip; ++at) {
      std::vector<Step> steps = at->second;
      std::sort(steps.begin(), steps.end(), [](const Step& a, const Step& b) { return a.begin < b.begin; });
      const size_t column = columns[{std::get<1>(at->first), std::get<2>(at->first)}];
      for (size_t i = 1; i < steps.size(); ++i) {
        const Gap gap{steps[i - 1].end, steps[i - 1].host_id, steps[i].host_id,
                      static_cast<int64_t>(steps[i].begin) - static_cast<int64_t>(steps[i - 1].end)};
        series[column].push_back(gap);
        all.emplace_back(gap, column);
      }
    }
    std::stable_sort(all.begin(), all.end(),
                     [](const auto& a, const auto& b) { return a.first.start < b.first.start; });
    for (const auto& [gap, column] : all) {
      auto& own = series[column];
      if (own.empty() || own.front().start != gap.start) continue;  // stands in an earlier row
      std::vector<std::string> cells(columns.size());
      for (auto& [place, gaps] : series)
        if (!gaps.empty() && gaps.front().before == gap.before && gaps.front().after == gap.after) {
          cells[place] = std::to_string(gaps.front().cycles - kProfilerCycles);
          gaps.pop_front();
        }
      text = std::to_string(chip) + "," + std::to_string(gap.before) + " -> " + std::to_string(gap.after);
      for (const std::string& cell : cells) text += "," + cell;
      out.append(text + "\r\n");
    }
  }
}

}  // namespace ttc::report
