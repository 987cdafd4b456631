#include "tools/ttreport/host_bars.hpp"

#include <algorithm>
#include <tuple>

namespace ttc::tools {
namespace {

constexpr size_t kMostHeld = 1 << 16;  // events that wait for names
constexpr size_t kMostNames = 20'000;  // further ones share one
constexpr uint64_t kPlacesOfThread = 1 + RowPacker::kMostRows, kBehindThreads = uint64_t{1} << 40;

HostBarKind kind_of(HostRowKind kind) {
  switch (kind) {
    case HostRowKind::frames:
      return HostBarKind::frame;
    case HostRowKind::lock:
      return HostBarKind::lock;
    case HostRowKind::waits:
      break;
  }
  return HostBarKind::wait;
}

}  // namespace

void HostBars::host(std::span<const uint64_t> chunk) {
  tracks_.push(chunk);
  if (tracks_.held() > kMostHeld) tracks_.release(*this, false);
}

void HostBars::host_process(const HostProcess& process) {
  processes_.resize(std::max<size_t>(processes_.size(), process.number + 1));
  processes_[process.number] = process.name.empty() ? "host" : process.name;
}

void HostBars::host_thread(const HostThread& thread) {
  threads_.resize(std::max<size_t>(threads_.size(), thread.number + 1));
  Lane& lane = threads_[thread.number];
  lane.process = thread.process;
  lane.place = thread.number * kPlacesOfThread;
  lane.name = processes_[thread.process] + ": " + thread.name;
}

void HostBars::host_row(const HostRow& row) {
  rows_.resize(std::max<size_t>(rows_.size(), row.number + 1));
  Lane& lane = rows_[row.number];
  lane.process = row.process;
  lane.place = row.thread ? row.thread->number * kPlacesOfThread + 1 + row.rank : kBehindThreads + row.number;
  lane.name = processes_[row.process] + ": " + row.name;
}

uint32_t HostBars::name_of(HostBarName name) {
  if (names_.size() >= kMostNames && !numbers_.contains(name)) name = {"(further names)", "", name.kind};
  const auto [found, fresh] = numbers_.try_emplace(std::move(name), static_cast<uint32_t>(names_.size()));
  if (fresh) names_.push_back(found->first);
  return found->second;
}

void HostBars::keep(const HostBar& bar) {
  bars_.push_back(bar);
  if (bars_.size() >= 2 * most_) shrink(most_);
}

// The longest stay.
void HostBars::shrink(size_t to) {
  if (bars_.size() <= to) return;
  const auto cut = bars_.begin() + static_cast<ptrdiff_t>(to);
  std::nth_element(bars_.begin(), cut, bars_.end(), [](const HostBar& a, const HostBar& b) {
    return a.end_ns - a.begin_ns > b.end_ns - b.begin_ns;
  });
  left_out_ += bars_.size() - to;
  bars_.erase(cut, bars_.end());
}

void HostBars::host_begin(const HostThread& thread, const HostZoneBegin& zone) {
  Lane& lane = threads_[thread.number];
  HostBar bar;
  bar.begin_ns = zone.ns;
  bar.lane = 2 * thread.number;
  bar.depth = static_cast<uint32_t>(lane.open.size());
  bar.name =
      name_of({std::string(zone.shown_name()),
               zone.source.file.empty() ? "" : zone.source.file + ":" + std::to_string(zone.source.line),
               HostBarKind::zone});
  if (zone.flow) bar.op = zone.op;
  lane.open.push_back(bar);
}

void HostBars::host_end(const HostThread& thread, uint64_t ns, std::string_view) {
  Lane& lane = threads_[thread.number];
  if (lane.open.empty()) return;
  HostBar bar = lane.open.back();
  lane.open.pop_back();
  bar.end_ns = ns;
  keep(bar);
}

// Frames are numbered: their names are too many to tell apart.
void HostBars::host_span(const HostRow& row, const HostSpan& span) {
  HostBar bar;
  bar.begin_ns = span.begin_ns;
  bar.end_ns = span.end_ns;
  bar.lane = 2 * row.number + 1;
  bar.name =
      name_of({row.kind == HostRowKind::frames ? std::string(span.label) : span.name, "", kind_of(row.kind)});
  keep(bar);
}

void HostBars::end() {
  tracks_.end();
  tracks_.release(*this, true);
  shrink(most_);
  sort_lanes();
}

// Lanes without a bar that is kept are left out.
void HostBars::sort_lanes() {
  const auto lane_of = [&](uint32_t lane) -> const Lane& {
    return lane % 2 ? rows_[lane / 2] : threads_[lane / 2];
  };
  std::map<std::tuple<uint32_t, uint64_t, uint32_t>, uint32_t> order;  // process, place, lane
  for (const HostBar& bar : bars_) {
    const Lane& lane = lane_of(bar.lane);
    order.try_emplace({lane.process, lane.place, bar.lane});
  }
  std::map<uint32_t, uint32_t> numbers;
  for (auto& [key, number] : order) {
    number = static_cast<uint32_t>(lanes_.size());
    numbers[std::get<2>(key)] = number;
    lanes_.push_back(lane_of(std::get<2>(key)).name);
  }
  for (HostBar& bar : bars_) bar.lane = numbers.at(bar.lane);
  std::sort(bars_.begin(), bars_.end(), [](const HostBar& a, const HostBar& b) {
    return std::tie(a.lane, a.begin_ns, a.depth) < std::tie(b.lane, b.begin_ns, b.depth);
  });
}

}  // namespace ttc::tools
