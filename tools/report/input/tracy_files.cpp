#include "tools/report/input/tracy_files.hpp"

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <numeric>

#include "shm/chunk.hpp"
#include "tools/report/input/device_input.hpp"
#include "ttcollect/capture_reader.hpp"

namespace ttc::report {
namespace {

constexpr const char* kAlwaysExported[] = {"CompileProgram", "HWCommandQueue_write_buffer"};
constexpr std::string_view kOpMark = "TT_";
constexpr const char* kNoMessages = "There are currently no messages!\n";

std::string_view part_of(std::string_view& rest) {
  const size_t end = std::min(rest.find('\0'), rest.size());
  const std::string_view part = rest.substr(0, end);
  rest.remove_prefix(std::min(end + 1, rest.size()));
  return part;
}

}  // namespace

TracyFiles::TracyFiles(const std::set<std::string>& children, size_t most_zones)
    : children_(children), most_zones_(most_zones) {
  children_.insert(std::begin(kAlwaysExported), std::end(kAlwaysExported));
}

void TracyFiles::read(const std::string& capture) {
  collect::Wanted facts;
  facts.read_from_ns = ~uint64_t{0};
  try {
    collect::CaptureReader reader(capture, facts);
    for (std::vector<uint64_t> chunk; reader.next(chunk);) push(chunk);
  } catch (const collect::CaptureError& e) {
    throw InputError(e.what());
  }
}

void TracyFiles::push(std::span<const uint64_t> chunk) {
  const shm::ChunkHeader& h = shm::header_of(chunk);
  if (h.device == collect::kHostDevice && !(h.flags & shm::kStanding)) follow(h);
  const shm::ChunkKind kind = h.kind;
  if (kind != shm::ChunkKind::host_events && kind != shm::ChunkKind::host_names) return;
  collect::HostChunkReader reader(shm::body_of(chunk));
  for (HostEvent event; reader.next(event);) take(reader.head(), event);
  if (!reader.why_not().empty()) ++damaged_;
}

// Behind missing chunks nothing is known of the zones that were open: an end there may be another zone's.
void TracyFiles::follow(const shm::ChunkHeader& header) {
  uint64_t& next = next_sequences_[header.session];
  if (header.sequence > next) {
    ++gaps_;
    for (auto& [number, process] : processes_)
      for (auto& [id, thread] : process.threads) thread.open.clear();
  }
  next = header.sequence + 1;
}

int64_t TracyFiles::ns_of(const HostChunkHead& head, int64_t time) {
  if (!based_) {
    based_ = true;
    base_process_ = head.process;
    base_raw_ns_ = collect::raw_ns_of(head, head.init_begin);
  }
  if (head.process == base_process_)
    return collect::whole_ns(collect::ticks_between(head.init_begin, time) * head.timer_mul);
  return static_cast<int64_t>(static_cast<uint64_t>(collect::raw_ns_of(head, time)) -
                              static_cast<uint64_t>(base_raw_ns_));
}

TracyFiles::Thread& TracyFiles::thread_of(uint32_t process, uint32_t thread) {
  const auto [found, fresh] = processes_[process].threads.try_emplace(thread);
  if (fresh) found->second.number = next_thread_++;
  return found->second;
}

uint32_t TracyFiles::source_index(uint32_t process, uint64_t source) {
  const SourceKey key{process, static_cast<uint32_t>(source)};
  const auto [found, fresh] = source_indices_.try_emplace(key, static_cast<uint32_t>(sources_.size()));
  if (fresh) sources_.push_back(key);
  return found->second;
}

const TracyFiles::Source& TracyFiles::source_at(uint32_t index) const {
  static const Source kUnknown;
  const auto process = processes_.find(sources_[index].first);
  if (process == processes_.end()) return kUnknown;
  const auto source = process->second.sources.find(sources_[index].second);
  return source == process->second.sources.end() ? kUnknown : source->second;
}

void TracyFiles::add_text(uint32_t& slot, std::string_view text, bool append) {
  if (slot == kNone) {
    slot = static_cast<uint32_t>(texts_.size());
    texts_.emplace_back(text);
  } else if (append) {
    texts_[slot] += '\n';
    texts_[slot] += text;
  } else {
    texts_[slot] = text;
  }
}

void TracyFiles::begin_zone(const HostChunkHead& head, Thread& thread, const HostEvent& event) {
  Zone zone;
  zone.start_ns = ns_of(head, event.time);
  zone.source = source_index(head.process, event.value);
  zone.thread = thread.number;
  if (!thread.open.empty()) zone.parent = thread.open.back();
  thread.open.push_back(static_cast<uint32_t>(zones_.size()));
  zones_.push_back(zone);
}

void TracyFiles::define(Process& process, const HostEvent& event) {
  if (event.kind == EventKind::string) process.strings[event.value] = event.text;
  if (event.kind != EventKind::source) return;
  Source& source = process.sources[event.value];
  std::string_view rest = event.text;
  source.name = part_of(rest);
  source.function = part_of(rest);
  source.file = part_of(rest);
  source.line = event.subject;
}

void TracyFiles::take(const HostChunkHead& head, const HostEvent& event) {
  if (collect::is_definition(event.kind)) return define(processes_[head.process], event);
  Thread& thread = thread_of(head.process, event.subject);
  switch (event.kind) {
    case EventKind::message:
      messages_.push_back({ns_of(head, event.time), collect::raw_ns_of(head, event.time), 0, head.process,
                           std::string(event.text)});
      return;
    case EventKind::literal:
      messages_.push_back(
          {ns_of(head, event.time), collect::raw_ns_of(head, event.time), event.value, head.process, {}});
      return;
    case EventKind::zone_begin:
      if (zones_.size() < most_zones_) return begin_zone(head, thread, event);
      full_ = true;
      thread.open.push_back(kNone);
      return;
    default:
      break;
  }
  if (event.kind == EventKind::zone_end && thread.open.empty()) ++lost_ends_;
  if (thread.open.empty()) return;
  const uint32_t index = thread.open.back();
  if (event.kind == EventKind::zone_end) thread.open.pop_back();
  if (index == kNone) return;
  Zone& zone = zones_[index];
  char value[64];
  switch (event.kind) {
    case EventKind::zone_end:
      zone.end_ns = ns_of(head, event.time);
      zone.ended = true;
      return;
    case EventKind::zone_text:
      return add_text(zone.text, event.text, true);
    case EventKind::zone_value:
      std::snprintf(value, sizeof value, "%" PRIu64 " [0x%" PRIx64 "]", event.value, event.value);
      return add_text(zone.text, value, true);
    case EventKind::zone_name:
      return add_text(zone.name, event.text, false);
    default:
      return;
  }
}

std::vector<uint32_t> TracyFiles::messages_in_order() const {
  std::vector<uint32_t> order(messages_.size());
  std::iota(order.rbegin(), order.rend(), 0u);  // the later one first
  std::stable_sort(order.begin(), order.end(),
                   [&](uint32_t a, uint32_t b) { return messages_[a].ns < messages_[b].ns; });
  return order;
}

std::string_view TracyFiles::text_of(const Message& message) const {
  if (!message.literal) return message.text;
  const auto& strings = processes_.at(message.process).strings;
  const auto text = strings.find(message.literal);
  return text == strings.end() ? std::string_view() : std::string_view(text->second);
}

std::string TracyFiles::data() const {
  if (messages_.empty()) return kNoMessages;
  std::string out = "MessageName;total_ns\n";
  for (const uint32_t index : messages_in_order()) {
    const Message& m = messages_[index];
    out += text_of(m);
    out += ';' + std::to_string(m.ns) + '\n';
  }
  return out;
}

std::vector<uint64_t> TracyFiles::signposts_raw_ns() const {
  std::vector<uint64_t> times;
  for (const uint32_t index : messages_in_order())
    if (text_of(messages_[index]).starts_with("`TT_SIGNPOST: "))
      times.push_back(static_cast<uint64_t>(messages_[index].raw_ns));
  return times;
}

// Of the nearest zone around it that is an op's.
std::string TracyFiles::parent_text(const Zone& zone) const {
  for (uint32_t at = zone.parent; at != kNone; at = zones_[at].parent)
    if (source_at(zones_[at].source).shown().find(kOpMark) != std::string::npos)
      return zones_[at].text == kNone ? std::string() : texts_[zones_[at].text];
  return {};
}

void TracyFiles::rows_of(uint32_t source, const std::vector<uint32_t>& zones, std::string& out) const {
  const Source& s = source_at(source);
  const std::string place = s.shown() + ',' + s.file + ',' + std::to_string(s.line) + ',';
  const bool special = children_.contains(s.shown());
  std::string name, text, parent;
  for (const uint32_t index : zones) {
    const Zone& zone = zones_[index];
    if (zone.name != kNone) name = texts_[zone.name];
    if (zone.text != kNone) text.assign(1, '"').append(texts_[zone.text]).append(1, '"');
    if (special)
      if (std::string of = parent_text(zone); !of.empty()) parent = std::move(of);
    out.append(place).append(name).append(1, ',').append(text).append(1, ',');
    out.append(std::to_string(zone.start_ns))
        .append(1, ',')
        .append(std::to_string(zone.end_ns - zone.start_ns));
    out.append(1, ',').append(std::to_string(zone.thread)).append(1, ',').append(parent).append(1, '\n');
  }
}

std::string TracyFiles::times() const {
  std::string out =
      "name,src_file,src_line,zone_name,zone_text,ns_since_start,exec_time_ns,thread,special_parent_text\n";
  std::vector<std::vector<uint32_t>> by_source(sources_.size());
  for (uint32_t i = 0; i < zones_.size(); ++i) {
    // The server keeps no zone without a duration for its statistics, which the exporter goes through.
    if (zones_[i].ended && zones_[i].end_ns > zones_[i].start_ns) by_source[zones_[i].source].push_back(i);
  }
  for (uint32_t source = 0; source < by_source.size(); ++source) {
    if (by_source[source].empty()) continue;
    std::stable_sort(by_source[source].begin(), by_source[source].end(),
                     [&](uint32_t a, uint32_t b) { return zones_[a].start_ns < zones_[b].start_ns; });
    rows_of(source, by_source[source], out);
  }
  return out;
}

std::vector<std::string> TracyFiles::remarks() const {
  std::vector<std::string> all;
  if (full_)
    all.push_back("more than " + std::to_string(most_zones_) +
                  " host zones came; tracy_ops_times.csv has the first ones, the capture has all");
  if (damaged_) all.push_back(std::to_string(damaged_) + " chunks of the host's side are damaged");
  if (gaps_)
    all.push_back("events of the host's side are missing in " + std::to_string(gaps_) +
                  " places; zones that were open there are left out");
  if (lost_ends_)
    all.push_back(std::to_string(lost_ends_) + " host zones ended without a beginning and are left out");
  if (processes_.size() > 1)
    all.push_back(
        std::to_string(processes_.size()) +
        " processes had a host side; their messages and zones are in one file, on the first one's time line");
  return all;
}

}  // namespace ttc::report
