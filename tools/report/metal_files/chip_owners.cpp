#include "tools/report/metal_files/chip_owners.hpp"

#include <algorithm>
#include <limits>

namespace ttc::report {
namespace {

// A process is at work on its chip before its first op is described: that message may come behind the launch.
constexpr int64_t kMostBefore = 100'000'000;

struct Activity {
  uint32_t process = 0;
  int64_t first_ns = std::numeric_limits<int64_t>::max();
  int64_t last_ns = std::numeric_limits<int64_t>::min();
};

}  // namespace

ChipOwners::ChipOwners(const HostLog& host) {
  std::map<uint32_t, std::map<uint32_t, Activity>> active;
  for (const HostOp op : host.ops) {
    if (!op.device || !op.raw_ns) continue;
    Activity& of = active[*op.device][op.process];
    of.process = op.process;
    const int64_t began_ns = op.start_ns ? *op.raw_ns - (op.message_ns - *op.start_ns) : *op.raw_ns;
    of.first_ns = std::min({of.first_ns, began_ns, *op.raw_ns});
    of.last_ns = std::max(of.last_ns, *op.raw_ns);
  }
  for (const auto& [chip, by_process] : active) {
    if (by_process.size() < 2) continue;
    std::vector<Activity> all;
    for (const auto& [process, activity] : by_process) all.push_back(activity);
    std::sort(all.begin(), all.end(),
              [](const Activity& a, const Activity& b) { return a.first_ns < b.first_ns; });
    int64_t last_ns = std::numeric_limits<int64_t>::min();
    for (const Activity& activity : all) {
      int64_t from_ns = activity.first_ns - kMostBefore;
      if (last_ns > from_ns)
        from_ns =
            last_ns < activity.first_ns ? last_ns + (activity.first_ns - last_ns) / 2 : activity.first_ns;
      stays_[chip].push_back({from_ns, activity.process});
      last_ns = std::max(last_ns, activity.last_ns);
    }
  }
}

bool ChipOwners::several(uint32_t chip) const {
  return stays_.contains(chip);
}

uint32_t ChipOwners::at(uint32_t chip, int64_t raw_ns) const {
  const std::vector<Stay>& stays = stays_.at(chip);
  const auto after = std::upper_bound(stays.begin(), stays.end(), raw_ns,
                                      [](int64_t ns, const Stay& stay) { return ns < stay.from_ns; });
  return after == stays.begin() ? stays.front().process : std::prev(after)->process;
}

}  // namespace ttc::report
