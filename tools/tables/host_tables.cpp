#include "tools/tables/host_tables.hpp"

#include <utility>

#include "tools/op_messages/op_message.hpp"

namespace ttc::tools {

using collect::EventKind;
using collect::HostChunkHead;
using collect::HostEvent;

void HostTables::push(std::span<const uint64_t> chunk) {
  const shm::ChunkHeader& h = shm::header_of(chunk);
  if (h.kind != shm::ChunkKind::host_events && h.kind != shm::ChunkKind::host_names) return;
  session_ = h.session;
  collect::HostChunkReader reader(shm::body_of(chunk));
  for (HostEvent event; reader.next(event);) take(reader.head(), event);
  if (!reader.why_not().empty()) complaint_ = reader.why_not();
}

void HostTables::define(Process& process, const HostEvent& event) {
  if (event.kind == EventKind::string) process.strings[event.value] = event.text;
  if (event.kind != EventKind::source) return;
  // Name, function and file, each ended by a zero.
  std::string parts[3];
  std::string_view rest = event.text;
  for (std::string& part : parts) {
    part = rest.substr(0, rest.find('\0'));
    rest.remove_prefix(std::min(part.size() + 1, rest.size()));
  }
  process.sources[event.value] = {parts[0].empty() ? parts[1] : parts[0], parts[2], event.subject};
}

void HostTables::end(const HostChunkHead& head, Process& process, const HostEvent& event) {
  std::vector<Open>& open = process.threads[event.subject];
  if (open.empty()) {
    ++unpaired_;
    return;
  }
  const Open zone = std::move(open.back());
  open.pop_back();
  static const Source kUnknown;
  const auto known = process.sources.find(zone.source);
  const Source& source = known == process.sources.end() ? kUnknown : known->second;
  ttcollect_host_zone row{};
  row.begin_ns = zone.begin_ns;
  row.end_ns = collect::raw_ns_of(head, event.time);
  row.name = tables_.keep(zone.name.empty() ? source.name : zone.name);
  row.file = tables_.keep(source.file);
  row.text = tables_.keep(zone.text);
  row.pid = head.pid, row.thread = event.subject, row.line = source.line, row.bound_ns = head.bound_ns;
  row.depth = static_cast<uint32_t>(open.size());
  tables_.host_zones.push_back(row);
}

void HostTables::take(const HostChunkHead& head, const HostEvent& event) {
  Process& process = processes_[{session_, head.process}];
  if (collect::is_definition(event.kind)) return define(process, event);
  const auto message = [&](std::string text) {
    if (std::optional<NamedOp> op = named_op(text))
      tables_.op_names.push_back({tables_.keep(std::move(op->name)), op->device, op->call_count});
    tables_.host_messages.push_back({collect::raw_ns_of(head, event.time), tables_.keep(std::move(text)),
                                     head.pid, event.subject, head.bound_ns});
  };
  switch (event.kind) {
    case EventKind::message:
      return message(std::string(event.text));
    case EventKind::literal: {
      const auto text = process.strings.find(event.value);
      return message(text == process.strings.end() ? std::string() : text->second);
    }
    case EventKind::zone_begin:
      process.threads[event.subject].push_back({collect::raw_ns_of(head, event.time), event.value, {}, {}});
      return;
    case EventKind::zone_end:
      return end(head, process, event);
    default:
      break;
  }
  const auto thread = process.threads.find(event.subject);
  if (thread == process.threads.end() || thread->second.empty()) return;
  Open& zone = thread->second.back();
  const auto add = [&](std::string_view text) {
    zone.text.append(zone.text.empty() ? "" : "\n").append(text);
  };
  if (event.kind == EventKind::zone_text) add(event.text);
  if (event.kind == EventKind::zone_value) add(std::to_string(event.value));
  if (event.kind == EventKind::zone_name) zone.name = event.text;
}

}  // namespace ttc::tools
