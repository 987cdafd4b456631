#include "tools/viewers/programs.hpp"

#include <algorithm>
#include <tuple>

namespace ttc::tools {
namespace {

using markers::MarkerType;

constexpr uint64_t kRounds = 3;
constexpr unsigned kCoresAProgram = 1 << 16;  // flows of a program have numbers of their own

uint64_t key_of(uint32_t host_id, uint16_t replay) {
  return uint64_t{replay} << 32 | host_id;
}

template <class T>
bool insert(std::vector<T>& sorted, T value) {
  const auto at = std::lower_bound(sorted.begin(), sorted.end(), value);
  if (at != sorted.end() && *at == value) return false;
  sorted.insert(at, value);
  return true;
}

// When the firmware and the kernel zone of a frame begin and end, as far as they do.
struct Bounds {
  struct Zone {
    std::optional<uint64_t> begin, end;
  } firmware, kernel;
  uint32_t kernel_marker = ~uint32_t{0};
};

Bounds bounds_of(const FrameEvents& f, std::span<const uint64_t> ns) {
  Bounds b;
  for (uint32_t i = 0; i < f.markers.size(); ++i) {
    const markers::Marker& m = f.markers[i];
    if (!(m.flags & markers::kGuaranteed)) continue;
    Bounds::Zone& zone = m.id == f.main_zone ? b.firmware : b.kernel;
    if (m.type == MarkerType::zone_start) {
      if (&zone == &b.kernel && !zone.begin) b.kernel_marker = i;
      if (!zone.begin) zone.begin = ns[i];
    } else if (m.type == MarkerType::zone_end) {
      zone.end = ns[i];
    }
  }
  return b;
}

}  // namespace

void Programs::count_rounds(uint32_t core) {
  if (core == core_) return;
  core_ = core;
  uint64_t& seen = rounds_[core];
  if (seen == round_ + 1) ++round_;
  seen = round_ + 1;
}

Programs::Open& Programs::of(const FrameEvents& f, uint32_t lane, std::optional<uint64_t> begin_ns) {
  std::vector<uint64_t>& numbers = numbers_[key_of(f.host_id, f.trace_counter)];
  Open* nearest = nullptr;
  uint64_t distance = ~uint64_t{0};
  for (const uint64_t number : numbers) {
    Open& open = open_[number];
    const bool in = std::binary_search(open.lanes.begin(), open.lanes.end(), lane);
    if (!begin_ns && (in || !nearest)) nearest = &open;  // it continues
    if (!begin_ns || in) continue;
    const uint64_t apart = std::max(*begin_ns, open.is.begin_ns) - std::min(*begin_ns, open.is.begin_ns);
    if (apart < distance) distance = apart, nearest = &open;
  }
  if (nearest) return *nearest;
  numbers.push_back(next_);
  Open& open = open_[next_];
  open.number = next_++;
  open.is.host_id = f.host_id;
  open.is.replay = f.trace_counter;
  return open;
}

Programs::Launch Programs::take(const FrameEvents& f, uint32_t lane, std::span<const uint64_t> ns) {
  Launch launch{lane};
  if (f.host_id == 0) return launch;
  const Bounds b = bounds_of(f, ns);
  if (!b.firmware.begin && !b.firmware.end) return launch;
  const uint32_t core = uint32_t{f.core_x} << 8 | f.core_y;
  count_rounds(core);
  Open& open = of(f, lane, b.firmware.begin);
  open.round = round_;
  Program& p = open.is;
  insert(open.lanes, lane);
  p.begin_ns = std::min(p.begin_ns, b.firmware.begin.value_or(ns.front()));
  p.end_ns = std::max(p.end_ns, b.firmware.end.value_or(ns.back()));
  if (b.firmware.begin && !b.firmware.end) ++p.open;
  if (!b.firmware.begin && b.firmware.end && p.open) --p.open;
  if (b.kernel.begin) p.kernel_begin_ns = std::min(p.kernel_begin_ns, *b.kernel.begin);
  if (b.kernel.end) p.kernel_end_ns = std::max(p.kernel_end_ns, *b.kernel.end);
  if (b.kernel.begin && b.kernel.end && *b.kernel.end - *b.kernel.begin > p.longest_ns) {
    p.longest_ns = *b.kernel.end - *b.kernel.begin;
    p.longest_x = f.core_x;
    p.longest_y = f.core_y;
  }
  const bool fresh = insert(p.cores, core);
  const auto place = std::lower_bound(p.cores.begin(), p.cores.end(), core) - p.cores.begin();
  if (fresh) open.kernels.insert(open.kernels.begin() + place, Kernel{});
  Kernel& kernel = open.kernels[static_cast<size_t>(place)];
  if (b.kernel.begin) kernel.begin_ns = std::min(kernel.begin_ns, *b.kernel.begin);
  if (b.kernel.end) kernel.end_ns = std::max(kernel.end_ns, *b.kernel.end);
  if (fresh && b.kernel_marker != ~uint32_t{0}) {
    launch.flow = open.number * kCoresAProgram + p.flows.size() + 1;
    launch.flow_marker = b.kernel_marker;
    p.flows.push_back(launch.flow);
  }
  return launch;
}

Program Programs::closed(Open&& open) {
  Program p = std::move(open.is);
  uint64_t sum = 0, cores = 0;
  for (size_t i = 0; i < p.cores.size(); ++i) {
    const Kernel& kernel = open.kernels[i];
    if (kernel.end_ns <= kernel.begin_ns) continue;  // it ran none, or an end is missing
    const uint64_t ns = kernel.end_ns - kernel.begin_ns;
    sum += ns, ++cores;
    if (ns <= p.core_most_ns) continue;
    p.core_most_ns = ns;
    p.most_x = static_cast<uint8_t>(p.cores[i] >> 8);
    p.most_y = static_cast<uint8_t>(p.cores[i]);
  }
  if (cores) p.core_mean_ns = sum / cores;
  return p;
}

std::vector<Program> Programs::settled(uint64_t until_ns) {
  return taken(until_ns, kRounds);
}

std::vector<Program> Programs::ended(uint64_t until_ns) {
  return taken(until_ns, 0);
}

std::vector<Program> Programs::taken(uint64_t until_ns, uint64_t rounds) {
  std::vector<Program> done;
  const bool all = until_ns == ~uint64_t{0};
  uint64_t too_old = 0;
  if (!all && open_.size() > kMostOpen) {
    std::vector<uint64_t> ends;
    for (const auto& [number, open] : open_) ends.push_back(open.is.end_ns);
    std::nth_element(ends.begin(), ends.begin() + static_cast<ptrdiff_t>(ends.size() / 2), ends.end());
    too_old = ends[ends.size() / 2];
  }
  for (auto it = open_.begin(); it != open_.end();) {
    const uint64_t end_ns = it->second.is.end_ns;
    const bool settled = end_ns <= until_ns && it->second.round + rounds <= round_;
    if (!all && !settled && end_ns > too_old) {
      ++it;
      continue;
    }
    const auto numbers = numbers_.find(key_of(it->second.is.host_id, it->second.is.replay));
    std::erase(numbers->second, it->first);
    if (numbers->second.empty()) numbers_.erase(numbers);
    done.push_back(closed(std::move(it->second)));
    it = open_.erase(it);
  }
  std::sort(done.begin(), done.end(), [](const Program& a, const Program& b) {
    return std::tie(a.begin_ns, a.end_ns, a.host_id) < std::tie(b.begin_ns, b.end_ns, b.host_id);
  });
  return done;
}

}  // namespace ttc::tools
