// noc_trace_dev*_ID*.json as tt-metal writes them and tt-npe reads them (tt-npe, tt-metal profiler.cpp): one
// flat array per device and execution of a program, two spaces of indent, members in alphabetical order,
// sorted by core, processor and time.
//
// A send over the fabric is a group of events on one processor: the write (or the chunks of a scattered one),
// its routing, and the local write of the packet to an Ethernet router, or to a mux core that hands it on to
// one. The group becomes one event with the channel it left by; which way it went from there tt-npe takes
// from topology.json. Times are of one clock (common_time.hpp), places NOC0 physical (tools/noc).
//
// tt-npe ends on zones that do not nest and on events of a processor without a zone; both are left out, as
// are incomplete groups, and all of it is reported.
//
// Source: tt-metal tt_metal/impl/profiler/profiler.cpp@97587bb5 (April 2026), convertNocTracePacketsToJson;
// tt-npe tt_npe/cpp/src/npeWorkloadIngest.cpp@1021603.
#pragma once
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "firmware_markers/metal_date.hpp"
#include "firmware_markers/noc_event.hpp"
#include "tools/noc/noc_coordinates.hpp"
#include "tools/report/input/common_time.hpp"
#include "tools/report/ops/run.hpp"

namespace ttc::report {

using tools::NocCoordinates;
using tools::NocXY;

class NocTraces : public Listener {
 public:
  // Throws InputError when no table of NoC events is known for that month.
  NocTraces(const std::vector<Zone>& zones, std::optional<markers::MetalDate> date);

  void device(const Device& device) override { places_[device.chip].set_arch(device.arch); }
  void events(const LaneEvents& batch) override;
  void clock(uint32_t chip, const collect::ClockMap& map) override { time_.clock(chip, map); }
  // One file per launch that had events, into `directory`, with op names of the host where there are any.
  // Reads a sync_device_info.csv that is there, and writes a topology.json for a single device where there
  // is none. Returns how many traces were written. `may_write` is called with each name before it is opened.
  size_t write(
      const std::string& directory, const Run& run,
      const std::function<void(const std::string&)>& may_write = [](const std::string&) {});
  std::vector<std::string> remarks() const;

 private:
  struct Record {
    uint64_t time, data;
    uint32_t zone;
    uint8_t x, y;
    LogRisc risc;
    markers::MarkerType type;
    bool event() const {
      return type == markers::MarkerType::ts_data || type == markers::MarkerType::ts_data_16b;
    }
  };
  struct Less {
    bool operator()(const Launch& a, const Launch& b) const {
      return std::tie(a.chip, a.host_id, a.trace_id, a.trace_counter) <
             std::tie(b.chip, b.host_id, b.trace_id, b.trace_counter);
    }
  };
  class Trace;

  const std::vector<Zone>& zones_;
  const markers::NocEventTable* table_;
  std::map<Launch, std::vector<Record>, Less> records_;
  std::map<uint32_t, NocCoordinates> places_;  // by chip
  CommonTime time_;
  std::map<std::string, uint64_t> left_out_;  // why, and how many
};

}  // namespace ttc::report
