#include "tools/viewers/host/host_tracks.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "tools/op_messages/op_message.hpp"

namespace ttc::tools {
namespace {

using collect::EventKind;
using collect::HostChunkHead;
using collect::HostEvent;

// Flows of programs to their cores have numbers below it; JSON's readers take numbers up to 2^53.
constexpr uint64_t kFirstOpFlow = uint64_t{1} << 52;
uint64_t flow_of(uint32_t chip, uint32_t host_id) {
  return kFirstOpFlow | uint64_t{chip & 0xfffff} << 32 | host_id;
}

std::string_view text_part(std::string_view& rest) {
  const size_t end = std::min(rest.find('\0'), rest.size());
  const std::string_view part = rest.substr(0, end);
  rest.remove_prefix(std::min(end + 1, rest.size()));
  return part;
}

void add_line(std::string& to, std::string_view text) {
  if (!to.empty()) to += '\n';
  to += text;
}

}  // namespace

void HostTracks::push(std::span<const uint64_t> chunk) {
  const shm::ChunkHeader& h = shm::header_of(chunk);
  if (h.device == collect::kHostDevice && !(h.flags & shm::kStanding)) follow(h);
  if (h.kind != shm::ChunkKind::host_events && h.kind != shm::ChunkKind::host_names) return;
  if (shm::body_of(chunk).empty()) return;  // redacted
  collect::HostChunkReader reader(shm::body_of(chunk));
  const auto [found, fresh] = processes_.try_emplace({h.session, reader.head().process});
  Process& process = found->second;
  if (fresh) {
    process.shown.number = static_cast<uint32_t>(processes_.size() - 1);
    process.shown.pid = reader.head().pid;
    process.marks = reader.head().protocol == 0;
  }
  for (HostEvent event; reader.next(event);) take(process, reader.head(), event);
  if (!reader.why_not().empty()) ++damaged_;
}

// Nothing is known behind missing chunks of the zones that were open: an end there may be another zone's.
void HostTracks::follow(const shm::ChunkHeader& header) {
  uint64_t& next = next_sequences_[header.session];
  if (header.sequence > next && next != 0) {
    ++gaps_;
    for (auto& [key, process] : processes_) {
      if (key.first != header.session) continue;
      for (auto& [tid, thread] : process.threads)
        while (!thread.open.empty()) {
          add_line(thread.open.back().text, "events are missing behind this");
          end_zone(thread, thread.last_ns);
        }
      cut(process.rows, "events are missing behind this");
    }
  }
  next = header.sequence + 1;
}

HostTracks::Thread& HostTracks::thread_of(Process& process, uint32_t tid) {
  const auto [found, fresh] = process.threads.try_emplace(tid);
  if (fresh) {
    found->second.named = process.marks;
    found->second.shown.number = threads_++;
    found->second.shown.process = process.shown.number;
    found->second.shown.tid = tid;
  }
  return found->second;
}

HostSource& HostTracks::source_of(Process& process, uint64_t key) {
  const auto [found, fresh] = process.sources.try_emplace(key);
  if (fresh) found->second.number = sources_++;
  return found->second;
}

void HostTracks::define(Process& process, const HostEvent& event) {
  std::string_view rest = event.text;
  switch (event.kind) {
    case EventKind::string:
      process.strings[event.value] = event.text;
      return;
    case EventKind::thread_name: {
      Thread& thread = thread_of(process, event.subject);
      thread.named = true;
      if (!thread.reported) thread.shown.name = event.text;
      return;
    }
    case EventKind::source: {
      HostSource& source = source_of(process, event.value);
      source.name = text_part(rest);
      source.function = text_part(rest);
      source.file = text_part(rest);
      if (source.name.empty()) source.name = source.function;
      source.line = event.subject;
      return;
    }
    case EventKind::process:
      if (!process.reported)
        process.shown.name.assign(text_part(rest)).append(process.marks ? " (marks)" : "");
      return;
    default:
      return;
  }
}

// Ops are named by messages from within their zones.
void HostTracks::message(Thread& thread, Event event) {
  if (const auto op = named_op(event.text)) {
    names_.add(op->device, op->call_count, op->name);
    const uint64_t flow = flow_of(op->device, op->call_count);
    Event* const zone = thread.open.empty() ? nullptr : thread.begin_of(thread.open.back());
    if (flows_.size() < OpNames::kMost && flows_.try_emplace(flow, false).second) {
      Event& leading = zone && zone->flow == 0 ? *zone : event;
      leading.flow = flow;
      leading.op = {op->device, op->call_count};
    }
  }
  put(thread, std::move(event));
}

void HostTracks::put(Thread& thread, Event event) {
  thread.events.push_back(std::move(event));
  ++held_;
}

void HostTracks::end_zone(Thread& thread, uint64_t ns) {
  if (thread.open.empty()) {
    ++lost_ends_;
    return;
  }
  const OpenZone zone = std::move(thread.open.back());
  thread.open.pop_back();
  if (Event* const begin = thread.begin_of(zone)) begin->ended = true;
  Event event;
  event.is = Is::end;
  event.ns = ns;
  event.text = zone.text;
  put(thread, std::move(event));
}

void HostTracks::about_zone(Thread& thread, const HostEvent& event) {
  if (thread.open.empty()) return;
  OpenZone& zone = thread.open.back();
  Event* const begin = thread.begin_of(zone);
  std::string& text = begin ? begin->text : zone.text;
  if (event.kind == EventKind::zone_name && begin) begin->name = event.text;
  if (event.kind == EventKind::zone_name && !begin) add_line(text, event.text);
  if (event.kind == EventKind::zone_text) add_line(text, event.text);
  if (event.kind == EventKind::zone_value) add_line(text, std::to_string(event.value));
}

void HostTracks::cut(HostRows& rows, const char* why) {
  held_ -= rows.held();
  rows.cut(why);
  held_ += rows.held();
}

void HostTracks::take_row(Process& process, const HostChunkHead& head, const HostEvent& event) {
  const int64_t raw_ns = collect::is_definition(event.kind) ? 0 : collect::raw_ns_of(head, event.time);
  held_ -= process.rows.held();
  process.rows.take(event, static_cast<uint64_t>(std::max<int64_t>(raw_ns, 0)));
  held_ += process.rows.held();
}

void HostTracks::take(Process& process, const HostChunkHead& head, const HostEvent& event) {
  if (HostRows::takes(event.kind)) return take_row(process, head, event);
  if (collect::is_definition(event.kind)) return define(process, event);
  Event e;
  switch (event.kind) {
    case EventKind::zone_begin:
    case EventKind::zone_end:
    case EventKind::message:
    case EventKind::literal:
    case EventKind::plot:
      break;
    case EventKind::zone_text:
    case EventKind::zone_name:
    case EventKind::zone_value:
      return about_zone(thread_of(process, event.subject), event);
    default:
      return;
  }
  Thread& thread = thread_of(process, event.subject);
  const int64_t raw_ns = collect::raw_ns_of(head, event.time);
  thread.last_ns = e.ns = std::max(thread.last_ns, static_cast<uint64_t>(std::max<int64_t>(raw_ns, 0)));
  e.key = event.value;
  switch (event.kind) {
    case EventKind::zone_begin:
      e.is = Is::begin;
      source_of(process, e.key);
      thread.open.push_back({thread.first + thread.events.size(), {}});
      break;
    case EventKind::zone_end:
      return end_zone(thread, e.ns);
    case EventKind::message:
      e.is = Is::message;
      e.text = event.text;
      return message(thread, std::move(e));
    case EventKind::literal:
      e.is = Is::literal;
      break;
    default:
      e.is = Is::value;
      e.number = std::bit_cast<double>(event.value);
      e.key = 0;
      std::memcpy(&e.key, event.text.data(), std::min(event.text.size(), sizeof e.key));
  }
  put(thread, std::move(e));
}

bool HostTracks::ready(const Process& process, const Thread& thread) const {
  if (thread.events.empty()) return false;
  if (thread.events.size() > kLookAhead) return true;
  if (!thread.named) return false;
  const Event& first = thread.events.front();
  switch (first.is) {
    case Is::begin: {
      const auto source = process.sources.find(first.key);
      return first.ended && source != process.sources.end() && !source->second.name.empty();
    }
    case Is::literal:
    case Is::value:
      return process.strings.contains(first.key);
    default:
      return true;
  }
}

void HostTracks::value(HostWriter& to, Process& process, const Event& event) {
  const auto [found, fresh] = process.plots.try_emplace(event.key);
  HostPlot& plot = found->second;
  if (fresh) {
    const auto name = process.strings.find(event.key);
    plot.number = plots_++;
    plot.process = process.shown.number;
    plot.name = name == process.strings.end() ? "plot " + std::to_string(plot.number) : name->second;
    to.host_plot(plot);
  }
  to.host_value(plot, event.ns, event.number);
}

void HostTracks::report(HostWriter& to, Process& process) {
  if (!std::exchange(process.reported, true)) to.host_process(process.shown);
}

void HostTracks::report(HostWriter& to, Process& process, Thread& thread) {
  report(to, process);
  if (std::exchange(thread.reported, true)) return;
  if (thread.shown.name.empty()) thread.shown.name = "thread " + std::to_string(thread.shown.tid);
  to.host_thread(thread.shown);
}

// The first event of the thread.
void HostTracks::hand_over(HostWriter& to, Process& process, Thread& thread) {
  report(to, process, thread);
  const Event event = std::move(thread.events.front());
  thread.events.pop_front();
  ++thread.first;
  --held_;
  switch (event.is) {
    case Is::begin: {
      HostSource& source = process.sources.at(event.key);
      if (source.name.empty()) source.name = "(unnamed)";
      return to.host_begin(thread.shown, {event.ns, source, event.name, event.text, event.flow, event.op});
    }
    case Is::end:
      return to.host_end(thread.shown, event.ns, event.text);
    case Is::message:
      return to.host_message(thread.shown, event.ns, event.text);
    case Is::literal: {
      const auto text = process.strings.find(event.key);
      return to.host_message(thread.shown, event.ns,
                             text == process.strings.end() ? std::string() : text->second);
    }
    case Is::value:
      return value(to, process, event);
  }
}

class HostTracks::Names : public HostNames {
 public:
  Names(HostTracks& tracks, HostWriter& to, Process& process) : tracks_(tracks), to_(to), process_(process) {}
  const std::string* string(uint64_t key) override {
    const auto found = process_.strings.find(key);
    return found == process_.strings.end() ? nullptr : &found->second;
  }
  const HostSource* source(uint64_t key) override {
    const auto found = process_.sources.find(key);
    return found == process_.sources.end() || found->second.name.empty() ? nullptr : &found->second;
  }
  const HostThread* named_thread(uint32_t tid) override {
    const auto found = process_.threads.find(tid);
    return found == process_.threads.end() || found->second.shown.name.empty() ? nullptr
                                                                               : &found->second.shown;
  }
  const HostThread& reported_thread(uint32_t tid) override {
    Thread& thread = tracks_.thread_of(process_, tid);
    report(to_, process_, thread);
    return thread.shown;
  }

 private:
  HostTracks& tracks_;
  HostWriter& to_;
  Process& process_;
};

void HostTracks::release_rows(HostWriter& to, Process& process, bool all) {
  Names names(*this, to, process);
  HostRows& rows = process.rows;
  while (rows.held() && (all || rows.held() > kLookAhead || rows.ready(names))) {
    report(to, process);
    --held_;
    rows.hand_over(to, names, process.shown.number, rows_);
  }
}

void HostTracks::release(HostWriter& to, bool all) {
  for (auto& [key, process] : processes_) {
    for (auto& [tid, thread] : process.threads)
      while (!thread.events.empty() && (all || ready(process, thread))) hand_over(to, process, thread);
    release_rows(to, process, all);
  }
}

void HostTracks::end() {
  for (auto& [key, process] : processes_)
    for (auto& [tid, thread] : process.threads)
      while (!thread.open.empty()) end_zone(thread, thread.last_ns);
  for (auto& [key, process] : processes_) cut(process.rows, "open at the end");
}

uint64_t HostTracks::take_flow(uint32_t chip, uint32_t host_id) {
  const auto found = flows_.find(flow_of(chip, host_id));
  return found == flows_.end() || std::exchange(found->second, true) ? 0 : found->first;
}

std::vector<std::string> HostTracks::remarks() const {
  std::vector<std::string> all;
  if (damaged_) all.push_back(std::to_string(damaged_) + " chunks of the host's side are damaged");
  if (gaps_)
    all.push_back("events of the host's side are missing in " + std::to_string(gaps_) +
                  " places; zones that were open there end in front of them");
  if (lost_ends_)
    all.push_back(std::to_string(lost_ends_) + " host zones ended without a beginning and are left out");
  uint64_t left_out = 0;
  for (const auto& [key, process] : processes_) left_out += process.rows.left_out();
  if (left_out)
    all.push_back(std::to_string(left_out) + " frames or locks of the host's side are not drawn: more than " +
                  std::to_string(RowPacker::kMostRows) + " lie over each other there");
  return all;
}

}  // namespace ttc::tools
