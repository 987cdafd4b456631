#include "pipeline/device_csv.hpp"

#include <algorithm>
#include <charconv>

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

}  // namespace

DeviceCsv::DeviceCsv(Output& out, const markers::ZoneNames& names, const FormatOptions& options)
    : out_(out), names_(names), trace_columns_(options.columns == 15) {}

void DeviceCsv::begin(const Session& s) {
  if (begun_) return;  // a later device is appended to the same table
  begun_ = true;
  std::string head = "ARCH: " + s.arch + ", CHIP_FREQ[MHz]: " + std::to_string(s.aiclk_mhz);
  if (trace_columns_) head += ", Max Compute Cores: " + std::to_string(s.max_compute_cores);
  out_.append(head + "\n");
  out_.append(trace_columns_ ? kHead15 : kHead13);
}

const std::string& DeviceCsv::tail(const markers::Marker& m) {
  const bool quick_push = m.flags & markers::kQuickPush;
  const uint32_t key = m.id | static_cast<uint32_t>(m.type) << 16 | uint32_t{quick_push} << 24;
  const auto [it, fresh] = tails_.try_emplace(key);
  if (!fresh) return it->second;
  // An event's id is the event itself, never a hash.
  const markers::ZoneSource* source = m.type == markers::MarkerType::ts_event ? nullptr : names_.find(m.id);
  std::string& text = it->second;
  text = ',';
  if (source)
    text += without_commas(source->name);
  else if (quick_push)
    text += "PROFILER-NOC-QUICK-PUSH";
  text += ',';
  text += markers::to_string(m.type);
  text += ',';
  text += std::to_string(source ? source->line : 0);
  text += ',';
  if (source) text += without_commas(source->file);
  text += ',';
  return text;
}

void DeviceCsv::frame(const FrameEvents& f) {
  char prefix[48];
  char* p = put(prefix, f.chip);
  *p++ = ',';
  p = put(p, f.core_x);
  *p++ = ',';
  p = put(p, f.core_y);
  *p++ = ',';
  p = put(p, markers::risc_name(f.core_kind, f.risc, f.mode));
  *p++ = ',';
  const std::string_view place(prefix, static_cast<size_t>(p - prefix));
  char middle[48];
  p = middle;
  *p++ = ',';
  p = put(p, f.host_id);
  if (trace_columns_) {
    p = put(p, ",,");
    if (f.trace_counter) p = put(p, f.trace_counter);
  }
  const std::string_view launch(middle, static_cast<size_t>(p - middle));

  for (const markers::Marker& m : f.markers) {
    const std::string& rest = tail(m);
    char* const row = out_.room(kLongestNumbers + rest.size());
    char* at = put(row, place);
    at = put(at, m.id);
    *at++ = ',';
    at = put(at, m.time_cycles);
    *at++ = ',';
    const bool has_payload = m.type == markers::MarkerType::zone_total ||
                             m.type == markers::MarkerType::ts_data ||
                             m.type == markers::MarkerType::ts_data_16b;
    at = put(at, has_payload ? f.batch.payload(m.payload) : 0);
    at = put(at, launch);
    at = put(at, rest);
    if (m.type == markers::MarkerType::ts_data_16b) {  // the second half has no column of its own
      at = put(at, "{\"data_2\":");
      at = put(at, f.batch.payload(m.payload + 1));
      *at++ = '}';
    }
    *at++ = '\n';
    out_.advance(static_cast<size_t>(at - row));
  }
}

}  // namespace ttc::tools
