#include "pipeline/device_csv.hpp"

#include <algorithm>
#include <charconv>

#include "pipeline/meaning.hpp"

namespace ttc::tools {
namespace {

constexpr std::string_view kHead15 =
    "PCIe slot, core_x, core_y, RISC processor type, timer_id, time[cycles since reset], data, run host ID, "
    "trace id, "
    "trace id counter, zone name, type, source line, source file, meta data\n";
constexpr std::string_view kHead13 =
    "PCIe slot, core_x, core_y, RISC processor type, timer_id, time[cycles since reset], data, run host ID,  "
    "zone name, "
    "type, source line, source file, meta data\n";
constexpr size_t kLongestNumbers = 160;  // every column of a row but the tail

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

// tt-metal's log had no type of its own for 16-byte data before.
constexpr markers::MetalDate kWideDataNamed{2026, 6};

}  // namespace

DeviceCsv::DeviceCsv(Output& out, const FormatOptions& options)
    : out_(out),
      trace_columns_(options.columns == 15),
      wide_data_(options.metal_date && *options.metal_date < kWideDataNamed ? "TS_DATA" : "TS_DATA_16B") {}

void DeviceCsv::begin(const Session& s) {
  if (head_) {  // a later device is appended to the same table
    if (s.arch != head_->arch || s.aiclk_mhz != head_->aiclk_mhz)
      notes_.push_back("chip " + std::to_string(s.chip) + " (" + s.device + ") is " + s.arch + " at " +
                       std::to_string(s.aiclk_mhz) + " MHz, but the one head line of a device CSV says " +
                       head_->arch + " at " + std::to_string(head_->aiclk_mhz) +
                       " MHz; export it apart with --chip " + std::to_string(s.chip));
    return;
  }
  head_ = s;
  std::string head = "ARCH: " + s.arch + ", CHIP_FREQ[MHz]: " + std::to_string(s.aiclk_mhz);
  if (trace_columns_) head += ", Max Compute Cores: " + std::to_string(s.max_compute_cores);
  out_.append(head + "\n");
  out_.append(trace_columns_ ? kHead15 : kHead13);
}

DeviceCsv::Tails& DeviceCsv::tails_of(const markers::ZoneNames& names) {
  if (current_ != &names) {
    current_ = &names;
    current_tails_ = &tails_[&names];
  }
  return *current_tails_;
}

const DeviceCsv::Tail& DeviceCsv::tail(Tails& tails, const markers::Marker& m,
                                       const markers::ZoneNames& names, std::string_view processor,
                                       uint32_t processor_key) const {
  const bool quick_push = m.flags & markers::kQuickPush;
  const uint32_t key =
      m.id | static_cast<uint32_t>(m.type) << 16 | uint32_t{quick_push} << 24 | processor_key << 25;
  const auto [it, fresh] = tails.try_emplace(key);
  Tail& made = it->second;
  if (!fresh) return made;
  const markers::ZoneSource* source = named_by_id(m) ? names.choose(m.id, processor).source : nullptr;
  std::string& text = made.text;
  text = ',';
  if (source)
    text += without_commas(source->name);
  else if (quick_push)
    text += "PROFILER-NOC-QUICK-PUSH";
  made.name_end = text.size();
  text += ',';
  text += m.type == markers::MarkerType::ts_data_16b ? wide_data_ : markers::to_string(m.type);
  text += ',';
  text += std::to_string(source ? source->line : 0);
  text += ',';
  if (source) text += without_commas(source->file);
  text += ',';
  return made;
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
  const uint32_t processor_key = f.core_kind != markers::CoreKind::tensix ? 5
                                 : f.mode == device::Mode::trace_only     ? 6
                                                                          : f.risc;
  char middle[48];
  const std::string_view launch(middle,
                                static_cast<size_t>(put_launch(middle, f.host_id, f.trace_counter) - middle));

  Tails& tails = tails_of(f.names);
  auto meaning = f.meanings.begin();
  for (uint32_t i = 0; i < f.markers.size(); ++i) {
    const markers::Marker& m = f.markers[i];
    const MarkerMeaning* more = meaning != f.meanings.end() && meaning->marker == i ? &*meaning++ : nullptr;
    const Tail& rest = tail(tails, m, f.names, processor, processor_key);
    char* const row =
        out_.room(kLongestNumbers + rest.text.size() + (more ? more->name.size() + more->meta.size() : 0));
    char* at = put(row, place);
    at = put(at, m.id);
    *at++ = ',';
    at = clock_.put(at, m.time_cycles);
    *at++ = ',';
    const bool has_payload = m.type == markers::MarkerType::zone_total ||
                             m.type == markers::MarkerType::ts_data ||
                             m.type == markers::MarkerType::ts_data_16b;
    at = put(at, has_payload ? f.batch.payload(m.payload) : 0);
    if (more) {
      at = put_meaning(at, *more, f, rest);
    } else {
      at = put(at, launch);
      at = put(at, rest.text);
    }
    *at++ = '\n';
    out_.advance(static_cast<size_t>(at - row));
  }
}

// The trace columns of a card: which trace was replayed only the host knows, so that column stays empty, and
// the counter counts the replays of all traces, where tt-metal counts those of the one. They agree while one
// trace is replayed.
char* DeviceCsv::put_launch(char* at, uint32_t host_id, uint16_t trace_counter) const {
  *at++ = ',';
  at = put(at, host_id);
  if (!trace_columns_) return at;
  at = put(at, ",,");
  return trace_counter ? put(at, trace_counter) : at;
}

// Zones are renamed since the log has trace columns. Meta data are older.
char* DeviceCsv::put_meaning(char* at, const MarkerMeaning& more, const FrameEvents& f,
                             const Tail& rest) const {
  at = put_launch(at, trace_columns_ ? more.host_id.value_or(f.host_id) : f.host_id, f.trace_counter);
  if (trace_columns_ && !more.name.empty()) {
    *at++ = ',';
    at = std::replace_copy(more.name.begin(), more.name.end(), at, ',', ';');
    at = put(at, std::string_view(rest.text).substr(rest.name_end));
  } else {
    at = put(at, rest.text);
  }
  return std::replace_copy(more.meta.begin(), more.meta.end(), at, ',', ';');
}

}  // namespace ttc::tools
