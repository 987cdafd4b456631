#include "tools/report/host/host_stream.hpp"

#include <algorithm>
#include <charconv>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <utility>

namespace ttc::report {
namespace {

using collect::EventKind;
using collect::HostChunkHead;
using collect::HostEvent;

constexpr const char* kAlwaysExported[] = {"CompileProgram", "HWCommandQueue_write_buffer"};
constexpr std::string_view kOpMark = "TT_";
constexpr uint32_t kHexadecimalValues =
    74;  // the first protocol (0.12) of a server that writes values in both ways
// Within one op. Beyond them the text that the op has then is theirs.
constexpr size_t kMostInside = 1 << 16;

std::string_view part_of(std::string_view& rest) {
  const size_t end = std::min(rest.find('\0'), rest.size());
  const std::string_view part = rest.substr(0, end);
  rest.remove_prefix(std::min(end + 1, rest.size()));
  return part;
}

std::optional<uint32_t> number_of(std::string_view text) {
  uint32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc{} && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

// A list of numbers; empty where a part of it is none.
std::vector<uint32_t> numbers_of(std::string_view list) {
  std::vector<uint32_t> all;
  while (!list.empty()) {
    const size_t end = std::min(list.find(','), list.size());
    const std::optional<uint32_t> one = number_of(list.substr(0, end));
    if (!one) return {};
    all.push_back(*one);
    list.remove_prefix(std::min(end + 1, list.size()));
  }
  return all;
}

void add_line(std::optional<std::string>& to, std::string_view text) {
  if (to)
    to->append(1, '\n').append(text);
  else
    to.emplace(text);
}

}  // namespace

std::string HostProcess::label() const {
  std::string label = std::to_string(pid);
  if (!program.empty()) label += " " + program;
  if (rank) label += " rank " + std::to_string(*rank);
  return label;
}

HostProcess process_of(const HostEvent& event) {
  HostProcess process;
  std::string_view text = event.text;
  process.pid = event.value;
  process.program = part_of(text);
  part_of(text);  // its machine
  while (!text.empty()) {
    const std::string_view fact = part_of(text);
    const size_t equals = std::min(fact.find('='), fact.size());
    const std::string_view value = fact.substr(std::min(equals + 1, fact.size()));
    if (fact.substr(0, equals) == collect::kRankFact) process.rank = number_of(value);
    if (fact.substr(0, equals) == collect::kChipsFact) process.chips = numbers_of(value);
  }
  return process;
}

HostStream::HostStream(HostListener& to, const std::set<std::string>& children)
    : to_(to), children_(children) {
  children_.insert(std::begin(kAlwaysExported), std::end(kAlwaysExported));
}

void HostStream::push(std::span<const uint64_t> chunk) {
  const shm::ChunkHeader& h = shm::header_of(chunk);
  if (h.device == collect::kHostDevice && !(h.flags & shm::kStanding)) follow(h);
  if (h.kind != shm::ChunkKind::host_events && h.kind != shm::ChunkKind::host_names) return;
  const std::span<const char> body = shm::body_of(chunk);
  if (body.empty()) return;  // redacted
  const collect::HostChunkReader reader(body);
  if (!reader.why_not().empty()) {
    ++damaged_;
    return;
  }
  const uint32_t number = reader.head().process;
  Process& process = processes_[number];
  described_[number].pid = reader.head().pid;
  if (!base_process_) {
    base_process_ = number;
    base_raw_ns_ = collect::raw_ns_of(reader.head(), reader.head().init_begin);
  }
  if (process.waiting && h.kind == shm::ChunkKind::host_events) return hold(process, body);
  if (std::string left = take_body(number, process, body); !left.empty()) process.front = std::move(left);
  resume(number, process);
}

// Nothing is known behind missing chunks of the zones that were open: an end there may be another zone's.
void HostStream::follow(const shm::ChunkHeader& header) {
  uint64_t& next = next_sequences_[header.session];
  if (header.sequence > next) {
    ++gaps_;
    for (auto& [number, process] : processes_) {
      if (process.waiting)
        hold(process, {});
      else
        leave_open_zones(process);
    }
  }
  next = header.sequence + 1;
}

void HostStream::hold(Process& process, std::span<const char> body) {
  if (!process.held) process.held = std::make_unique<Spill>();
  const auto bytes = static_cast<uint32_t>(body.size());
  process.held->append({reinterpret_cast<const char*>(&bytes), sizeof bytes});
  if (bytes) process.held->append({body.data(), body.size()});
}

// The part of a chunk that could not be taken, as a body: from the first event on that needs a missing definition.
std::string HostStream::take_body(uint32_t number, Process& process, std::span<const char> body) {
  collect::HostChunkReader reader(body);
  HostChunkHead head = reader.head();
  collect::HostRecords rest;
  for (HostEvent event; reader.next(event);) {
    if (collect::is_definition(event.kind)) {
      define(number, process, event);
      continue;
    }
    if (rest.empty() && !ending_) process.waiting = needs(process, event);
    if (process.waiting || !rest.empty())
      rest.add(event);
    else
      take(number, process, head, event);
  }
  if (!reader.why_not().empty()) ++damaged_;
  if (rest.empty()) return {};
  head.version = collect::kHostChunkVersion;
  std::string left(reinterpret_cast<const char*>(&head), sizeof head);
  return left.append(reinterpret_cast<const char*>(rest.bytes().data()), rest.size());
}

// Releases held events as far as possible.
void HostStream::resume(uint32_t number, Process& process) {
  while (!process.waiting) {
    std::string body = std::exchange(process.front, {});
    if (body.empty()) {
      if (!process.held || process.held_at == process.held->size()) break;
      uint32_t bytes = 0;
      std::memcpy(&bytes, process.held->at(process.held_at, sizeof bytes).data(), sizeof bytes);
      process.held_at += sizeof bytes;
      if (bytes == 0) {
        leave_open_zones(process);
        continue;
      }
      body = process.held->at(process.held_at, bytes);
      process.held_at += bytes;
    }
    process.front = take_body(number, process, {body.data(), body.size()});
  }
  if (process.waiting) return;
  process.held.reset();
  process.held_at = 0;
}

std::optional<HostStream::Wait> HostStream::needs(const Process& process, const HostEvent& event) const {
  if (event.kind == EventKind::zone_begin && event.value) {
    const auto source = process.sources.find(event.value);
    if (source == process.sources.end() || source->second.line == ~uint32_t{0})
      return Wait{EventKind::source, event.value};
  }
  if (event.kind == EventKind::literal && event.value && !process.strings.contains(event.value))
    return Wait{EventKind::string, event.value};
  return std::nullopt;
}

void HostStream::define(uint32_t number, Process& process, const HostEvent& event) {
  std::string_view rest = event.text;
  switch (event.kind) {
    case EventKind::string:
      process.strings[event.value] = event.text;
      break;
    case EventKind::source: {
      ZoneSource& source = source_of(process, event.value);
      source.name = part_of(rest);
      source.function = part_of(rest);
      source.file = part_of(rest);
      source.line = event.subject;
      source.op = source.shown().find(kOpMark) != std::string::npos;
      source.special = children_.contains(source.shown());
      break;
    }
    case EventKind::process:
      described_[number] = process_of(event);
      return;
    default:
      return;
  }
  if (!process.waiting || process.waiting->kind != event.kind || process.waiting->key != event.value) return;
  process.waiting.reset();
}

// A source that is not defined yet gets a line that no source has.
ZoneSource& HostStream::source_of(Process& process, uint64_t key) {
  const auto [found, fresh] = process.sources.try_emplace(key);
  if (fresh) found->second.number = ~uint32_t{0}, found->second.line = ~uint32_t{0};
  return found->second;
}

int64_t HostStream::ns_of(const HostChunkHead& head, int64_t time) const {
  if (head.process == *base_process_)
    return collect::whole_ns(collect::ticks_between(head.init_begin, time) * head.timer_mul);
  return static_cast<int64_t>(static_cast<uint64_t>(collect::raw_ns_of(head, time)) -
                              static_cast<uint64_t>(base_raw_ns_));
}

HostStream::Thread& HostStream::thread_of(Process& process, uint32_t thread) {
  Thread& found = process.threads[thread];
  if (found.order == 0) found.order = ++orders_;
  return found;
}

void HostStream::number(Thread& thread) {
  if (thread.number == 0) thread.number = ++threads_;
}

void HostStream::begin_zone(uint32_t number, Process& process, const HostChunkHead& head,
                            const HostEvent& event) {
  Thread& thread = thread_of(process, event.subject);
  ZoneSource& source = source_of(process, event.value);
  if (source.number == ~uint32_t{0}) source.number = sources_++;
  if (source.line == ~uint32_t{0}) source.line = 0;  // never defined
  OpenZone open;
  open.zone.process = number;
  open.zone.thread_order = thread.order;
  open.zone.source = &source;
  open.zone.number = zones_++;
  open.zone.start_ns = ns_of(head, event.time);
  open.zone.start_raw_ns = collect::raw_ns_of(head, event.time);
  thread.open.push_back(std::move(open));
}

// Gives the zone to the listeners that need it, or into the op around it, whose text is not whole yet.
void HostStream::give(HostZone zone, std::vector<OpenZone>& around) {
  if (zone.source->special) {
    for (auto outer = around.rbegin(); outer != around.rend(); ++outer) {
      if (!outer->zone.source->op) continue;
      if (outer->inside.size() < kMostInside) {
        outer->inside.push_back(std::move(zone));
        return;
      }
      ++early_texts_;
      zone.parent_text = outer->zone.text;
      break;
    }
  }
  to_.zone(zone);
}

void HostStream::end_zone(Thread& thread, int64_t ns) {
  if (thread.open.empty()) {
    ++lost_ends_;
    return;
  }
  OpenZone ended = std::move(thread.open.back());
  thread.open.pop_back();
  for (HostZone& inside : ended.inside) {
    inside.parent_text = ended.zone.text;
    to_.zone(inside);
  }
  ended.zone.end_ns = ns;
  if (ns > ended.zone.start_ns) number(thread);
  ended.zone.thread = thread.number;
  give(std::move(ended.zone), thread.open);
}

// They have no end; what ended within them has one.
void HostStream::leave_open_zones(Process& process) {
  for (auto& [id, thread] : process.threads) {
    for (OpenZone& open : thread.open)
      for (HostZone& inside : open.inside) {
        inside.parent_text = open.zone.text;
        to_.zone(inside);
      }
    thread.open.clear();
  }
}

void HostStream::about_zone(Thread& thread, uint32_t protocol, const HostEvent& event) {
  if (thread.open.empty()) return;
  HostZone& zone = thread.open.back().zone;
  char value[64];
  switch (event.kind) {
    case EventKind::zone_text:
      return add_line(zone.text, event.text);
    case EventKind::zone_value:
      // The text is as Tracy's server of that protocol has it.
      std::snprintf(value, sizeof value,
                    protocol < kHexadecimalValues ? "%" PRIu64 : "%" PRIu64 " [0x%" PRIx64 "]", event.value,
                    event.value);
      return add_line(zone.text, value);
    default:
      zone.name.emplace(event.text);
  }
}

void HostStream::message(uint32_t number, const HostChunkHead& head, int64_t time, std::string_view text) {
  to_.message({number, messages_++, ns_of(head, time), collect::raw_ns_of(head, time), text});
}

void HostStream::take(uint32_t number, Process& process, const HostChunkHead& head, const HostEvent& event) {
  switch (event.kind) {
    case EventKind::zone_begin:
      return begin_zone(number, process, head, event);
    case EventKind::zone_end:
      return end_zone(thread_of(process, event.subject), ns_of(head, event.time));
    case EventKind::zone_text:
    case EventKind::zone_value:
    case EventKind::zone_name:
      return about_zone(thread_of(process, event.subject), head.protocol, event);
    case EventKind::message:
      this->number(thread_of(process, event.subject));
      return message(number, head, event.time, event.text);
    case EventKind::literal: {
      this->number(thread_of(process, event.subject));
      const auto text = process.strings.find(event.value);
      return message(number, head, event.time,
                     text == process.strings.end() ? std::string_view() : std::string_view(text->second));
    }
    case EventKind::lock_wait:
    case EventKind::lock_obtain:
    case EventKind::lock_release:
      if (event.subject) thread_of(process, event.subject);
      return;
    default:
      return;
  }
}

void HostStream::end() {
  ending_ = true;
  for (auto& [number, process] : processes_) {
    process.waiting.reset();
    resume(number, process);
    leave_open_zones(process);
  }
}

std::vector<std::string> HostStream::remarks() const {
  std::vector<std::string> all;
  if (damaged_) all.push_back(std::to_string(damaged_) + " chunks of the host's side are damaged");
  if (gaps_)
    all.push_back("events of the host's side are missing in " + std::to_string(gaps_) +
                  " places; zones that were open there are left out");
  if (lost_ends_)
    all.push_back(std::to_string(lost_ends_) + " host zones ended without a beginning and are left out");
  if (early_texts_)
    all.push_back(std::to_string(early_texts_) +
                  " zones within an op are named by the text that the op had until then");
  return all;
}

}  // namespace ttc::report
