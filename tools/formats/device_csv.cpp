#include "tools/formats/device_csv.hpp"

#include <algorithm>
#include <charconv>

#include "tools/pipeline/host_semantics.hpp"

namespace ttc::tools {
namespace {

constexpr std::string_view kFirstColumns =
    "PCIe slot, core_x, core_y, RISC processor type, timer_id, time[cycles since reset]";
constexpr DeviceCsv::Era kEras[] = {
    {15,
     ", data, run host ID, trace id, trace id counter, zone name, type, source line, source file, meta data",
     true, false, true, false, true, Order::time},
    {13, ", data, run host ID,  zone name, type, source line, source file, meta data", false, false, false,
     false, true, Order::log},
    {12, ", stat value, Run ID, zone name, zone phase, source line, source file", false, true, false, true,
     false, Order::log},
    {6, "", false, true, false, false, false, Order::time},
};
constexpr std::string_view kHostColumns =
    ", host time [ns], host time bound [ns], host time bound kind, host time is final";
constexpr size_t kLongestColumns = 240;  // every column of a row but the tail

char* put(char* at, std::string_view text) {
  std::memcpy(at, text.data(), text.size());
  return at + text.size();
}
char* put(char* at, uint64_t value) {
  return std::to_chars(at, at + 20, value).ptr;
}

// The format has no quoting: a comma in a path would break the row.
std::string without_commas(std::string text) {
  std::replace(text.begin(), text.end(), ',', ';');
  return text;
}

const DeviceCsv::Era& era_with(unsigned columns) {
  return *std::find_if(std::begin(kEras), std::end(kEras) - 1,
                       [&](const auto& era) { return era.columns == columns; });
}

uint32_t wide_id(const markers::Marker& m) {
  return static_cast<uint32_t>(m.type) << 16 | m.id;
}

// Zones had fixed numbers then: 1 main start, 2 kernel start, 3 kernel end, 4 main end. That is what its
// readers look for; everything else keeps its id.
uint32_t timer_id_of_2023(const markers::Marker& m, const markers::ZoneSource* source, uint16_t main_zone) {
  if (!(m.flags & markers::kGuaranteed)) return wide_id(m);
  const bool main = m.id == main_zone;
  if (source && !source->name.ends_with(main ? "-FW" : "-KERNEL")) return wide_id(m);
  if (m.type == markers::MarkerType::zone_start) return main ? 1 : 2;
  if (m.type == markers::MarkerType::zone_end) return main ? 4 : 3;
  return wide_id(m);
}

// "1.2", "1": as a stream prints a double.
std::string gigahertz(uint32_t mhz) {
  char text[24];
  std::snprintf(text, sizeof text, "%g", mhz / 1000.0);
  return text;
}

// tt-metal's log had no type of its own for 16-byte data before.
constexpr markers::MetalDate kWideDataNamed{2026, 6};

}  // namespace

DeviceCsv::DeviceCsv(Output& out, const FormatOptions& options)
    : out_(out),
      era_(era_with(options.columns)),
      order_(options.order.value_or(era_.order)),
      host_times_(options.host_times),
      wide_data_(options.metal_date && *options.metal_date < kWideDataNamed ? "TS_DATA" : "TS_DATA_16B") {}

void DeviceCsv::begin(const Session& s) {
  losses_.begin(s);
  if (head_) {  // a later device is appended to the same table
    if (s.arch != head_->arch || s.aiclk_mhz != head_->aiclk_mhz)
      remarks_.push_back("chip " + std::to_string(s.chip) + " (" + s.device + ") is " + s.arch + " at " +
                         std::to_string(s.aiclk_mhz) + " MHz, but the one head line of a device CSV has " +
                         head_->arch + " at " + std::to_string(head_->aiclk_mhz) +
                         " MHz; export it apart with --chip " + std::to_string(s.chip));
    return;
  }
  head_ = s;
  std::string head = "ARCH: " + s.arch + ", CHIP_FREQ[MHz]: " + std::to_string(s.aiclk_mhz);
  if (era_.core_count) head += ", Max Compute Cores: " + std::to_string(s.max_compute_cores);
  if (era_.columns == 6) head = "Chip clock is at " + gigahertz(s.aiclk_mhz) + " GHz";
  out_.append(head + "\n");
  out_.append(kFirstColumns);
  out_.append(era_.further_columns);
  if (host_times_) out_.append(kHostColumns);
  out_.append("\n");
}

// The era of phases had only three; the others keep today's word.
std::string_view DeviceCsv::type_word(markers::MarkerType type) const {
  using markers::MarkerType;
  if (type == MarkerType::ts_data_16b) return wide_data_;
  if (era_.phases && type == MarkerType::zone_start) return "begin";
  if (era_.phases && type == MarkerType::zone_end) return "end";
  if (era_.phases && type == MarkerType::zone_total) return "sum";
  return markers::to_string(type);
}

DeviceCsv::Tails& DeviceCsv::tails_of(const markers::ZoneNames& names) {
  if (current_ != &names) {
    current_ = &names;
    current_tails_ = &tails_[&names];
  }
  return *current_tails_;
}

DeviceCsv::Tail DeviceCsv::make_tail(const markers::ZoneSource* source, const markers::Marker& m) const {
  Tail made;
  std::string& text = made.text;
  text = ',';
  if (source)
    text += without_commas(source->name);
  else if (m.flags & markers::kQuickPush)
    text += "PROFILER-NOC-QUICK-PUSH";
  made.name_end = text.size();
  text += ',';
  text += type_word(m.type);
  text += ',';
  text += std::to_string(source ? source->line : 0);
  text += ',';
  if (source) text += without_commas(source->file);
  if (era_.meta) text += ',';
  return made;
}

const DeviceCsv::Tail& DeviceCsv::tail(Tails& tails, const markers::Marker& m,
                                       const markers::ZoneNames& names, std::string_view processor,
                                       uint32_t processor_key) const {
  const bool quick_push = m.flags & markers::kQuickPush;
  const uint32_t key =
      m.id | static_cast<uint32_t>(m.type) << 16 | uint32_t{quick_push} << 24 | processor_key << 25;
  Tails::Recent& recent = tails.recent[key * 0x9e3779b1u >> (32 - Tails::kRecentBits)];
  if (recent.tail && recent.key == key) return *recent.tail;
  const auto [it, fresh] = tails.all.try_emplace(key);
  if (fresh) it->second = make_tail(named_by_id(m) ? names.choose(m.id, processor).source : nullptr, m);
  recent = {key, &it->second};
  return it->second;
}

void DeviceCsv::frame_of_2023(const FrameEvents& f, std::string_view place) {
  for (const markers::Marker& m : f.markers) {
    char* const row = out_.room(kLongestColumns);
    char* at = put(row, place);
    at = put(at, timer_id_of_2023(m, f.names.find(m.id), f.main_zone));
    *at++ = ',';
    at = clock_.put(at, m.time_cycles);
    if (host_times_) at = put_host_time(at, f, static_cast<uint32_t>(&m - f.markers.data()));
    *at++ = '\n';
    out_.advance(static_cast<size_t>(at - row));
  }
}

void DeviceCsv::frame(const FrameEvents& f) {
  char prefix[48];
  char* p = put(prefix, f.chip);
  *p++ = ',';
  p = put(p, f.core_x);
  *p++ = ',';
  p = put(p, f.core_y);
  *p++ = ',';
  const std::string_view processor = markers::risc_name(f.core_kind, f.risc, f.mode);
  p = put(p, processor);
  *p++ = ',';
  const std::string_view place(prefix, static_cast<size_t>(p - prefix));
  if (era_.columns == 6) return frame_of_2023(f, place);
  const uint32_t processor_key = f.core_kind != markers::CoreKind::tensix ? 5
                                 : f.mode == device::Mode::trace_only     ? 6
                                                                          : f.risc;
  char middle[48];
  const std::string_view launch(middle, static_cast<size_t>(put_launch(middle, f.host_id, f) - middle));

  Tails& tails = tails_of(f.names);
  auto semantics = f.semantics.begin();
  Tail own;  // of a marker that brings its name
  for (uint32_t i = 0; i < f.markers.size(); ++i) {
    const markers::Marker& m = f.markers[i];
    const HostSemantics* more =
        semantics != f.semantics.end() && semantics->marker == i ? &*semantics++ : nullptr;
    const bool named = more && more->source;
    if (named) own = make_tail(more->source, m);
    const Tail& rest = named ? own : tail(tails, m, f.names, processor, processor_key);
    char* const row =
        out_.room(kLongestColumns + rest.text.size() + (more ? more->name.size() + more->meta.size() : 0));
    char* at = put(row, place);
    at = put(at, era_.wide_ids ? wide_id(m) : m.id);
    *at++ = ',';
    at = clock_.put(at, m.time_cycles);
    *at++ = ',';
    const bool has_payload = m.type == markers::MarkerType::zone_total ||
                             m.type == markers::MarkerType::ts_data ||
                             m.type == markers::MarkerType::ts_data_16b;
    at = put(at, has_payload ? f.payload(m) : 0);
    if (more) {
      at = put_semantics(at, *more, f, rest);
    } else {
      at = put(at, launch);
      at = put(at, rest.text);
    }
    if (host_times_) at = put_host_time(at, f, i);
    *at++ = '\n';
    out_.advance(static_cast<size_t>(at - row));
  }
}

// Nanoseconds with four digits, which is exact. A marker without a bound has no time: nothing is extrapolated
// here.
char* DeviceCsv::put_host_time(char* at, const FrameEvents& f, uint32_t marker) const {
  const MarkerHostTime t = marker < f.host_times.size() ? f.host_times[marker] : MarkerHostTime{};
  if (t.kind == collect::BoundKind::none) return put(at, ",,,none,0");
  const auto put_ns = [&](uint64_t ticks, int64_t plus_ns) {
    *at++ = ',';
    at = put(at, ticks / collect::kHostTicksPerNs + static_cast<uint64_t>(plus_ns));
    *at++ = '.';
    const auto fraction = static_cast<unsigned>(ticks % collect::kHostTicksPerNs * 625);
    for (const unsigned digit : {1000u, 100u, 10u, 1u})
      *at++ = static_cast<char>('0' + fraction / digit % 10);
  };
  put_ns(t.at, f.host_clock_minus_raw_ns);
  put_ns(t.bound, 0);
  *at++ = ',';
  at = put(at, to_string(t.kind));
  return put(at, t.final ? ",1" : ",0");
}

// The trace columns of a card: which trace was replayed is known on the host only, so that column stays empty, and
// the counter counts the replays of all traces, where tt-metal counts those of the one. They agree while one
// trace is replayed.
char* DeviceCsv::put_launch(char* at, uint32_t host_id, const FrameEvents& f) const {
  *at++ = ',';
  at = put(at, host_id);
  if (!era_.trace_columns) return at;
  *at++ = ',';
  if (f.trace_id) at = put(at, *f.trace_id);
  *at++ = ',';
  return f.trace_counter ? put(at, f.trace_counter) : at;
}

// Zones are renamed since the log has trace columns. Meta data are older.
char* DeviceCsv::put_semantics(char* at, const HostSemantics& more, const FrameEvents& f,
                               const Tail& rest) const {
  at = put_launch(at, era_.trace_columns ? more.host_id.value_or(f.host_id) : f.host_id, f);
  if (era_.trace_columns && !more.name.empty() && !more.source) {
    *at++ = ',';
    at = std::replace_copy(more.name.begin(), more.name.end(), at, ',', ';');
    at = put(at, std::string_view(rest.text).substr(rest.name_end));
  } else {
    at = put(at, rest.text);
  }
  if (!era_.meta) return at;
  return std::replace_copy(more.meta.begin(), more.meta.end(), at, ',', ';');
}

}  // namespace ttc::tools
