// The workload's host side in Perfetto's trace.
#include <algorithm>

#include "tools/viewers/perfetto/perfetto.hpp"
#include "tools/viewers/perfetto/perfetto_fields.hpp"

namespace ttc::tools {

using namespace perfetto;

namespace {

ProtoMessage text_argument(std::string_view text) {
  return ProtoMessage().number(annotation::name_iid, Argument::text).text(annotation::string_value, text);
}

// A thread, what it waited for, the next thread, then what is of the process.
uint32_t thread_rank(const HostThread& thread) {
  return kCoreRank + thread.number * static_cast<uint32_t>(1 + RowPacker::kMostRows);
}

}  // namespace

// How the host's clocks lie is the same for all chips.
Perfetto::Chip Perfetto::host_clock() const {
  for (const auto& [number, chip] : chips_)
    if (!chip.cycles) return chip;
  Chip none;
  none.cycles = true;
  return none;
}

void Perfetto::host_process(const HostProcess& process) {
  begin_globals();
  processes_.resize(std::max<size_t>(processes_.size(), process.number + 1));
  Process& own = processes_[process.number];
  own = {next_track_++, pids_.of(process)};
  packet(ProtoMessage()
             .number(trace_packet::sequence_id, kGlobalSequence)
             .message(trace_packet::track_descriptor,
                      ProtoMessage()
                          .number(track_descriptor::uuid, own.track)
                          .message(track_descriptor::process,
                                   ProtoMessage().number(1, own.pid).text(6, process.name))
                          .number(track_descriptor::child_ordering, kExplicitOrder)
                          .text(track_descriptor::description,
                                "host process " + std::to_string(process.pid) + " of the workload")));
}

void Perfetto::host_thread(const HostThread& thread) {
  const Process& process = processes_[thread.process];
  threads_.resize(std::max<size_t>(threads_.size(), thread.number + 1));
  threads_[thread.number].track = next_track_;
  packet(
      ProtoMessage()
          .number(trace_packet::sequence_id, kGlobalSequence)
          .message(
              trace_packet::track_descriptor,
              ProtoMessage()
                  .number(track_descriptor::uuid, next_track_++)
                  .number(track_descriptor::parent_uuid, process.track)
                  .message(track_descriptor::thread,
                           ProtoMessage().number(1, process.pid).number(2, thread.tid).text(5, thread.name))
                  .number(track_descriptor::sibling_order_rank, thread_rank(thread))));
}

void Perfetto::host_plot(const HostPlot& plot) {
  static const std::string kNoUnit;
  host_plots_.resize(std::max<size_t>(host_plots_.size(), plot.number + 1));
  host_plots_[plot.number] =
      declare(processes_[plot.process].track, plot.name, kCounterRank + plot.number, &kNoUnit);
}

Perfetto::Sequence& Perfetto::host_sequence(Row& of, uint64_t ns) {
  if (!of.sequence.id) begin_sequence(of.sequence, host_clock(), of.track, ns);
  return of.sequence;
}

void Perfetto::host_begin(const HostThread& thread, const HostZoneBegin& zone) {
  Sequence& s = host_sequence(threads_[thread.number], zone.ns);
  const HostSource& source = zone.source;
  intern(s, source.number, source.name, source.file, source.line);
  ProtoMessage event;
  event.number(track_event::type, track_event::slice_begin);
  if (zone.name.empty())
    event.number(track_event::name_iid, source.number + 1);
  else
    event.text(track_event::name, zone.name);
  if (!source.file.empty()) event.number(track_event::source_location_iid, source.number + 1);
  if (arguments_ && !zone.text.empty())
    event.message(track_event::debug_annotations, text_argument(zone.text));
  if (zone.flow) event.fixed(track_event::flow_ids, zone.flow);
  put_own(s, zone.ns, event);
}

void Perfetto::host_end(const HostThread& thread, uint64_t ns, std::string_view text) {
  ProtoMessage event;
  event.number(track_event::type, track_event::slice_end);
  if (arguments_ && !text.empty()) event.message(track_event::debug_annotations, text_argument(text));
  put_own(host_sequence(threads_[thread.number], ns), ns, event);
}

void Perfetto::host_message(const HostThread& thread, uint64_t ns, std::string_view text) {
  const std::string_view name = title_of(text);
  ProtoMessage event;
  event.number(track_event::type, track_event::instant).text(track_event::name, name);
  if (arguments_ && name.size() < text.size())
    event.message(track_event::debug_annotations, text_argument(text));
  put_own(host_sequence(threads_[thread.number], ns), ns, event);
}

void Perfetto::host_value(const HostPlot& plot, uint64_t ns, double value) {
  put_global(ns, ProtoMessage()
                     .number(track_event::type, track_event::counter)
                     .number(track_event::track_uuid, host_plots_[plot.number])
                     .real(track_event::counter_double, value));
}

void Perfetto::host_row(const HostRow& row) {
  constexpr uint32_t kBehindThreads = 1u << 30;
  host_rows_.resize(std::max<size_t>(host_rows_.size(), row.number + 1));
  host_rows_[row.number].track =
      declare(processes_[row.process].track, row.name,
              row.thread ? thread_rank(*row.thread) + 1 + row.rank : kBehindThreads + row.number);
}

void Perfetto::host_span(const HostRow& row, const HostSpan& span) {
  Sequence& s = host_sequence(host_rows_[row.number], span.begin_ns);
  ProtoMessage event;
  event.number(track_event::type, track_event::slice_begin).text(track_event::name, span.name);
  if (arguments_)
    for (const EventField& field : span.fields)
      event.message(track_event::debug_annotations, annotation_of(field));
  put_own(s, span.begin_ns, event);
  put_own(s, span.end_ns, ProtoMessage().number(track_event::type, track_event::slice_end));
}

}  // namespace ttc::tools
