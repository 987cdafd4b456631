// The workload's host side in Tracy.
#include <algorithm>
#include <utility>

#include "collector/draw/colours.hpp"
#include "tools/viewers/tracy_ids.hpp"
#include "tools/viewers/tracy_timeline.hpp"

namespace ttc::tools {

using namespace tracy_ids;

namespace {

int32_t host_rank(const HostThread& thread) {
  return kFirstHostRank + static_cast<int32_t>(thread.number) * kHostThreadRanks;
}

}  // namespace

void TracyTimeline::host_process(const HostProcess& process) {
  processes_.resize(std::max<size_t>(processes_.size(), process.number + 1));
  processes_[process.number] = process.name + " (" + std::to_string(process.pid) + ")";
  own_message(latest_ns_, "host process " + processes_[process.number], kNoteColour);
}

void TracyTimeline::host_thread(const HostThread& thread) {
  host_lanes_.resize(std::max<size_t>(host_lanes_.size(), thread.number + 1));
  HostLane& row = host_lanes_[thread.number];
  row.id = kFirstHostThread + thread.number;
  threads_[row.id] = processes_[thread.process] + " " + thread.name;
}

void TracyTimeline::host_plot(const HostPlot& plot) {
  const uint64_t key = kFirstHostPlot + plot.number;
  plots_[key] = processes_[plot.process] + " " + plot.name;
  stream_.thread(kOwnThread);
  stream_.plot_config(key, false);
}

// Items that follow are of this thread. Null if a trace cannot hold that time.
TracyTimeline::HostLane* TracyTimeline::host_lane(const HostThread& thread, uint64_t ns) {
  client_.answer();
  HostLane& row = host_lanes_[thread.number];
  if (!can_show(ns)) return nullptr;
  latest_ns_ = std::max(latest_ns_, ns);
  row.last_ns = ns;
  stream_.thread(row.id);
  return &row;
}

uint64_t TracyTimeline::location_of(const HostSource& source) {
  if (host_locations_.size() <= source.number) host_locations_.resize(source.number + 64);
  uint64_t& key = host_locations_[source.number];
  if (!key)
    key = add_location(
        {source.name, source.function, source.file.empty() ? "?" : source.file, source.line, {}});
  return key;
}

void TracyTimeline::host_begin(const HostThread& thread, const HostZoneBegin& zone) {
  HostLane* const row = host_lane(thread, zone.ns);
  host_lanes_[thread.number].open.push_back(row);
  if (!row) {
    ++left_out_host_;
    return;
  }
  const uint64_t location = location_of(zone.source);
  stream_.zone_begin(zone.ns, location);
  if (!zone.name.empty())
    stream_.zone_name(zone.name);
  else if (location == tracy::kMostSourceLocations)
    stream_.zone_name(zone.source.name);
  if (!zone.text.empty()) stream_.zone_text(zone.text);
  if (!std::exchange(row->known, true)) stream_.thread_hint(row->id, host_rank(thread));
}

void TracyTimeline::host_end(const HostThread& thread, uint64_t ns, std::string_view text) {
  std::vector<bool>& open = host_lanes_[thread.number].open;
  const bool shown = !open.empty() && open.back();
  if (!open.empty()) open.pop_back();
  if (!shown) return;
  HostLane* const row = host_lane(thread, ns);
  if (!row) stream_.thread(host_lanes_[thread.number].id);
  if (!text.empty()) stream_.zone_text(text);
  stream_.zone_end(row ? ns : host_lanes_[thread.number].last_ns);
}

void TracyTimeline::host_message(const HostThread& thread, uint64_t ns, std::string_view text) {
  if (host_lane(thread, ns))
    stream_.message(ns, text, tracy::colour(kMessageColour));
  else
    ++left_out_host_;
}

void TracyTimeline::host_value(const HostPlot& plot, uint64_t ns, double value) {
  if (!can_show(ns)) return;
  stream_.thread(kOwnThread);
  stream_.plot(ns, kFirstHostPlot + plot.number, value);
}

void TracyTimeline::host_row(const HostRow& row) {
  threads_[kFirstHostRowThread + row.number] = processes_[row.process] + " " + row.name;
}

void TracyTimeline::host_span(const HostRow& row, const HostSpan& span) {
  client_.answer();
  if (!can_show(span.begin_ns) || !can_show(span.end_ns)) {
    ++left_out_host_;
    return;
  }
  latest_ns_ = std::max(latest_ns_, span.end_ns);
  const uint32_t id = kFirstHostRowThread + row.number;
  put_span(id, span.begin_ns, span.end_ns, location_of(span.label, colour_of(row.kind)), span.name,
           span.fields);
  if (host_span_rows_.insert(row.number).second)
    stream_.thread_hint(id, row.thread ? host_rank(*row.thread) + 1 + static_cast<int32_t>(row.rank)
                                       : kBehindHostThreads + static_cast<int32_t>(row.number));
}

}  // namespace ttc::tools
