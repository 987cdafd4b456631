#include "tools/viewers/programs.hpp"

#include <algorithm>
#include <cstdlib>
#include <tuple>

namespace ttc::tools {
namespace {

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

}  // namespace

void Programs::count_rounds(uint32_t core) {
  if (core == core_) return;
  core_ = core;
  uint64_t& seen = rounds_[core];
  if (seen == round_ + 1) ++round_;
  seen = round_ + 1;
}

Programs::Open& Programs::of(const FrameEvents& f, uint32_t lane, std::optional<uint64_t> begin_ns) {
  const uint64_t key = key_of(f.host_id, f.trace_counter);
  if (!latest_id_ || latest_id_->first != key) latest_id_ = &*of_one_id_.try_emplace(key).first;
  std::vector<Open*>& same_id = latest_id_->second;
  Open* nearest = nullptr;
  uint64_t distance = ~uint64_t{0};
  for (Open* const known : same_id) {
    Open& open = *known;
    const bool in = std::binary_search(open.lanes.begin(), open.lanes.end(), lane);
    if (!begin_ns && (in || !nearest)) nearest = &open;  // it continues
    if (!begin_ns || in) continue;
    const uint64_t apart = std::max(*begin_ns, open.is.begin_ns) - std::min(*begin_ns, open.is.begin_ns);
    if (apart < distance) distance = apart, nearest = &open;
  }
  if (nearest) return *nearest;
  Open& open = open_[next_];  // stays where it is
  same_id.push_back(&open);
  open.number = next_++;
  open.is.host_id = f.host_id;
  open.is.replay = f.trace_counter;
  return open;
}

Programs::Launch Programs::take(const FrameEvents& f, uint32_t lane, const LaunchEnds& times, bool of_clock) {
  Launch launch{lane};
  if (!times.begins && !times.ends) return launch;
  const uint32_t core = uint32_t{f.core_x} << 8 | f.core_y;
  count_rounds(core);
  Open& open = of(f, lane, times.begins ? std::optional(times.begin.ns) : std::nullopt);
  open.round = round_;
  Program& p = open.is;
  insert(open.lanes, lane);
  const auto earliest = [&](uint64_t& so_far, Ends& ends, const End& begin) {
    if (!begin) return;
    so_far = std::min(so_far, begin.ns);
    if (of_clock) ends.begin(f, begin);
  };
  const auto latest = [&](uint64_t& so_far, Ends& ends, const End& end) {
    if (!end) return;
    so_far = std::max(so_far, end.ns);
    if (of_clock) ends.end(f, end);
  };
  if (of_clock) p.seen_by = std::max(p.seen_by, f.seen_ns * collect::kHostTicksPerNs);
  earliest(p.begin_ns, open.firmware, times.begin);
  latest(p.end_ns, open.firmware, times.end);
  if (times.begins && !times.ends) ++p.open;
  if (!times.begins && p.open) --p.open;
  const End &kernel_begin = times.kernel_begin, &kernel_end = times.kernel_end;
  earliest(p.kernel_begin_ns, open.kernel, kernel_begin);
  latest(p.kernel_end_ns, open.kernel, kernel_end);
  if (kernel_begin && kernel_end && kernel_end.ns > kernel_begin.ns + p.longest_ns) {
    p.longest_ns = kernel_end.ns - kernel_begin.ns;
    p.longest_x = f.core_x;
    p.longest_y = f.core_y;
    if (of_clock) open.longest_begin = kernel_begin.timed(f), open.longest_end = kernel_end.timed(f);
  }
  const bool fresh = insert(p.cores, core);
  const auto place = std::lower_bound(p.cores.begin(), p.cores.end(), core) - p.cores.begin();
  if (fresh) open.kernels.insert(open.kernels.begin() + place, Kernel{});
  open.kernels[static_cast<size_t>(place)].take(f, kernel_begin, kernel_end, of_clock);
  if (fresh && kernel_begin) {
    launch.flow = open.number * kCoresAProgram + p.flows.size() + 1;
    launch.flow_marker = kernel_begin.marker;
    p.flows.push_back(launch.flow);
  }
  return launch;
}

void Programs::Ends::add(const FrameEvents& f, const End& marker) {
  if (!begin_.at && !end_.at) clock_ = f.tile_clock;
  one_clock_ = one_clock_ && f.tile_clock && f.tile_clock == clock_;
  widest_ = std::max(widest_, marker.bound);
}

void Programs::Ends::begin(const FrameEvents& f, const End& marker) {
  add(f, marker);
  if (!begin_.at || marker.at < begin_.at) begin_ = marker.timed(f);
}

void Programs::Ends::end(const FrameEvents& f, const End& marker) {
  add(f, marker);
  if (marker.at >= end_.at) end_ = marker.timed(f);
}

// Of several cores any two whose order the bounds leave open may be the first and the last: they lie between the two that are shown,
// so that by the pace of the counter they are known no worse, and by their own times no worse than the widest.
uint32_t Programs::Ends::bound_ns(bool one_tile) const {
  if (!begin_.at || !end_.at || widest_ >= collect::kNoBound / 2) return kNoDurationBound;
  const auto measured = static_cast<int64_t>(end_.at - begin_.at);
  uint64_t bound = 2 * widest_;
  if (one_clock_ && begin_.seen_by && end_.seen_by) {
    using Tiles = collect::ClockMap::Tiles;
    const auto d = end_.clock->difference(begin_.cycles, end_.cycles, std::max(begin_.seen_by, end_.seen_by),
                                          one_tile ? Tiles::one : Tiles::two);
    if (d.ticks == measured && d.bound < begin_.bound + end_.bound) bound = std::min(bound, d.bound);
  }
  constexpr uint64_t kTicks = collect::kHostTicksPerNs;
  return bound_of_shown_ns(end_.at / kTicks - begin_.at / kTicks, measured, bound);
}

void Programs::Kernel::take(const FrameEvents& f, const End& begin, const End& end, bool of_clock) {
  if (of_clock) clock = f.tile_clock;
  if (begin && (begin.ns < begin_ns || (begin.ns == begin_ns && begin.cycles < begin_cycles)))
    begin_ns = begin.ns, begin_cycles = begin.cycles;
  if (end && (end.ns > end_ns || (end.ns == end_ns && end.cycles > end_cycles)))
    end_ns = end.ns, end_cycles = end.cycles;
}

uint32_t Programs::Kernel::bound_ns(collect::HostTime seen_by) const {
  if (!clock || !seen_by) return kNoDurationBound;
  const uint64_t shown_ns = end_ns - begin_ns;
  const auto d = clock->difference(begin_cycles, end_cycles, seen_by);
  // Both times are shown without their fractions. What is further off is of another wrap or reset of the counter.
  const int64_t off = d.ticks - static_cast<int64_t>(shown_ns * collect::kHostTicksPerNs);
  if (d.bound == collect::kNoBound || std::abs(off) >= int64_t{collect::kHostTicksPerNs})
    return kNoDurationBound;
  return bound_of_shown_ns(shown_ns, d.ticks, d.bound);
}

// What follows from all of its frames.
void Programs::close(Open& open) {
  Program& p = open.is;
  const bool one_tile = p.cores.size() == 1;
  p.bounds.duration_ns = open.firmware.bound_ns(one_tile);
  p.first = open.firmware.first(), p.last = open.firmware.last(), p.clock = open.firmware.one_clock();
  p.widest_bound = open.firmware.widest();
  p.bounds.kernel_ns = open.kernel.bound_ns(one_tile);
  p.bounds.longest_ns = duration_bound_ns(open.longest_begin, open.longest_end);
  uint64_t sum = 0, cores = 0, bounds = 0;
  bool bounded = true;
  for (size_t i = 0; i < p.cores.size(); ++i) {
    const Kernel& kernel = open.kernels[i];
    if (kernel.end_ns <= kernel.begin_ns) continue;  // it ran none, or an end is missing
    const uint64_t ns = kernel.end_ns - kernel.begin_ns;
    const uint32_t bound = kernel.bound_ns(p.seen_by);
    sum += ns, ++cores;
    bounds += bound, bounded = bounded && bound != kNoDurationBound;
    if (ns <= p.core_most_ns) continue;
    p.core_most_ns = ns;
    p.bounds.core_most_ns = bound;
    p.most_x = static_cast<uint8_t>(p.cores[i] >> 8);
    p.most_y = static_cast<uint8_t>(p.cores[i]);
  }
  if (cores) p.core_mean_ns = sum / cores;
  // One more, for the fraction that the mean is shown without.
  if (cores && bounded)
    p.bounds.core_mean_ns = static_cast<uint32_t>(std::min<uint64_t>(bounds / cores + 2, kNoDurationBound));
}

void Programs::settled(uint64_t until_ns, const Take& take) {
  hand_over(until_ns, kRounds, take);
}

void Programs::ended(uint64_t until_ns, const Take& take) {
  hand_over(until_ns, 0, take);
}

void Programs::hand_over(uint64_t until_ns, uint64_t rounds, const Take& take) {
  std::vector<decltype(open_)::node_type> done;  // moved: thousands of programs end together
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
    const auto same_id = of_one_id_.find(key_of(it->second.is.host_id, it->second.is.replay));
    std::erase(same_id->second, &it->second);
    if (same_id->second.empty()) of_one_id_.erase(same_id);
    latest_id_ = nullptr;
    done.push_back(open_.extract(it++));
  }
  std::sort(done.begin(), done.end(), [](const auto& a, const auto& b) {
    const Program &one = a.mapped().is, &other = b.mapped().is;
    return std::tie(one.begin_ns, one.end_ns, one.host_id) <
           std::tie(other.begin_ns, other.end_ns, other.host_id);
  });
  for (auto& node : done) {
    close(node.mapped());
    take(node.mapped().is);
    node = {};
  }
}

}  // namespace ttc::tools
