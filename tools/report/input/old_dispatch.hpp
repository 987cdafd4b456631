// Dispatch zones of device logs in which they are not renamed yet.
#pragma once
#include <array>
#include <map>
#include <optional>
#include <string_view>
#include <vector>

#include "tools/report/zones/lane_events.hpp"

namespace ttc::report {

// The number behind `"key"` in compact JSON, with commas or semicolons between its members.
inline std::optional<uint64_t> number_in(std::string_view meta, std::string_view key) {
  const size_t at = meta.find(key);
  if (at == std::string_view::npos) return std::nullopt;
  size_t from = meta.find(':', at + key.size());
  if (from == std::string_view::npos) return std::nullopt;
  uint64_t value = 0;
  bool any = false;
  for (++from; from < meta.size(); ++from) {
    const char c = meta[from];
    if (c >= '0' && c <= '9') {
      value = value * 10 + static_cast<uint64_t>(c - '0');
      any = true;
    } else if (any || (c != ' ' && c != '"')) {
      break;
    }
  }
  return any ? std::optional(value) : std::nullopt;
}

// Logs before zones were renamed: which command a dispatch zone carried out, and for which program, is in
// the meta data of markers inside of it (tt-metal tools/tracy/process_device_log.py@00c8983).
class OldDispatch {
 public:
  // Gives the zone's two events with the launch they belong to, when a zone ends that belongs to one.
  template <class Emit>
  void row(const Launch& own, const Lane& lane, const Event& e, std::string_view meta, Emit&& emit) {
    if (lane.risc != LogRisc::brisc && lane.risc != LogRisc::ncrisc) return;
    const bool master = lane.risc == LogRisc::brisc;
    const bool zone = e.zone_class == ZoneClass::dispatch || e.zone_class == ZoneClass::go_signal;
    const uint32_t core = own.chip << 16 | static_cast<uint32_t>(lane.x) << 8 | lane.y;
    if (!zone && meta.empty()) return;
    Core& c = cores_[core];
    Side& s = master ? c.master : c.subordinate;
    if (const auto id = number_in(meta, "workers_runtime_id"); id && master) {
      s.worker = static_cast<uint32_t>(*id);
      if (c.order.empty() || c.order.back() != s.worker) c.order.push_back(s.worker);
    }
    if (meta.find("dispatch_command_type") != std::string_view::npos) {
      s.go = meta.find("CQ_DISPATCH_CMD_SEND_GO_SIGNAL") != std::string_view::npos;
      if (s.go && !master) s.worker = c.next < c.order.size() ? c.order[c.next++] : 0;
    }
    if (!zone) return;
    if (e.type == markers::MarkerType::zone_start) s.start = e;
    if (e.type != markers::MarkerType::zone_end || !s.start || s.worker == 0) return;
    std::array<Event, 2> both{*s.start, e};
    for (Event& one : both) one.zone_class = s.go ? ZoneClass::go_signal : ZoneClass::dispatch;
    Launch worker = own;
    worker.host_id = s.worker;
    emit(worker, both);
    s.start.reset();
  }

 private:
  struct Side {
    std::optional<Event> start;
    uint32_t worker = 0;
    bool go = false;
  };
  struct Core {
    Side master, subordinate;
    std::vector<uint32_t> order;  // workers as BRISC took them up
    size_t next = 0;
  };
  std::map<uint32_t, Core> cores_;
};

}  // namespace ttc::report
