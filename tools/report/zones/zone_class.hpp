// The class of a zone in reports, by its name alone. The words looked for are those of tt-metal's own
// post-processing: tools/tracy/cpp_device_analyses.json@92651f8 and device_post_proc_config.py@04880a9.
#pragma once
#include <cstdint>
#include <string_view>

namespace ttc::report {

enum class ZoneClass : uint8_t {
  other,  // of the kernel's author
  firmware,
  kernel,
  wait_front,    // CB-COMPUTE-WAIT-FRONT, a sum
  reserve_back,  // CB-COMPUTE-RESERVE-BACK, a sum
  dispatch,      // CQ-DISPATCH..., CQ_DISPATCH...
  go_signal,     // the same, and its command is the go signal
  prefetch,
  none,  // the marker has no name
};

inline bool is_dispatch(ZoneClass zone_class) {
  return zone_class == ZoneClass::dispatch || zone_class == ZoneClass::go_signal;
}

inline ZoneClass class_of(std::string_view name) {
  const auto has = [&](std::string_view part) { return name.find(part) != std::string_view::npos; };
  if (name.empty()) return ZoneClass::none;
  if (name.starts_with("CQ-DISPATCH") || name.starts_with("CQ_DISPATCH"))
    return has("CQ_DISPATCH_CMD_SEND_GO_SIGNAL") ? ZoneClass::go_signal : ZoneClass::dispatch;
  if (name.starts_with("CQ-PREFETCH") || name.starts_with("CQ_PREFETCH")) return ZoneClass::prefetch;
  if (has("-FW")) return ZoneClass::firmware;
  if (has("-KERNEL")) return ZoneClass::kernel;
  if (name == "CB-COMPUTE-WAIT-FRONT") return ZoneClass::wait_front;
  if (name == "CB-COMPUTE-RESERVE-BACK") return ZoneClass::reserve_back;
  return ZoneClass::other;
}

}  // namespace ttc::report
