#include "tools/replay/replay_meta.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>

#include "firmware_markers/noc_event.hpp"
#include "firmware_markers/perf_counter.hpp"

namespace ttc::emulation {
namespace {

using Json = nlohmann::json;

// Keys that are made from 8-byte data and from names alone.
constexpr const char* kMadeFromMarkers[] = {"dispatch_command_type",
                                            "workers_runtime_id",
                                            "dispatch_command_subtype",
                                            "zone_name_or",
                                            "counter type",
                                            "ref cnt",
                                            "value"};

std::optional<uint64_t> number(const Json& meta, const char* key) {
  const auto it = meta.find(key);
  if (it == meta.end() || !it->is_number_unsigned()) return std::nullopt;
  return it->get<uint64_t>();
}

// The low byte of the second half of a counter's data (tt-metal perf_counters.hpp).
std::optional<uint64_t> counter_half(const Json& meta) {
  if (const auto type = number(meta, "counter type")) return type;
  const auto it = meta.find("counter type");
  if (it == meta.end() || !it->is_string()) return std::nullopt;
  const auto name = it->get<std::string>();
  for (uint64_t type = 0; type < 256; ++type)
    if (markers::unpack_wide_perf_counter(0, type).name == name) return type;
  return std::nullopt;
}

// Address bits above the lowest two, then those (tt-metal event_metadata.hpp).
uint64_t packed(uint64_t address) {
  return (address >> 2 & 0x3fffff) | (address & 3) << 22;
}
std::optional<uint64_t> noc_debug_half(const Json& meta) {
  const auto to = number(meta, "dst_addr"), from = number(meta, "src_addr"),
             counter = number(meta, "noc_status_counter");
  if (!to || !from || !counter) return std::nullopt;
  return packed(*to) | packed(*from) << 26 | *counter << 52;
}

}  // namespace

RowMeta meta_of(const tools::DeviceLogRow& row) {
  if (row.meta.empty()) return {};
  std::string text(row.meta);
  std::replace(text.begin(), text.end(), ';', ',');  // as the column has them
  const Json meta = Json::parse(text, nullptr, false);
  if (!meta.is_object()) return {false, {}};
  if (row.type == markers::MarkerType::ts_data_16b) {
    auto half = number(meta, "data_2");
    if (!half && row.id == markers::kPerfCounterId) half = counter_half(meta);
    if (!half && (row.id == markers::kNocTraceId || row.id == markers::kNocDebugId))
      half = noc_debug_half(meta);
    return {half.has_value(), half};
  }
  const bool known = std::all_of(meta.items().begin(), meta.items().end(), [](const auto& item) {
    return std::find(std::begin(kMadeFromMarkers), std::end(kMadeFromMarkers), item.key()) !=
           std::end(kMadeFromMarkers);
  });
  return {known, {}};
}

}  // namespace ttc::emulation
