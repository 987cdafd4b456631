// noc_trace_dev*_ID*.json as tt-metal writes them and tt-npe reads them (report sheet 8): one flat array per
// device and execution of a program, two spaces of indent, members in alphabetical order, sorted by core,
// processor and time.
//
// Written here: zones and local events. What goes over the fabric needs routing tables of the host and is
// counted instead. Times are cycles of the device, not adjusted between devices. Worker coordinates of a
// Wormhole that the core addressed virtually (18 and up) are turned into physical ones by the rows of cores
// that were seen; others stay as they were addressed.
#pragma once
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "firmware_markers/metal_date.hpp"
#include "firmware_markers/noc_event.hpp"
#include "report/run.hpp"

namespace ttc::report {

class NocTraces : public Listener {
 public:
  // Throws InputError when no table of NoC events is known for that month.
  NocTraces(const std::vector<Zone>& zones, std::optional<markers::MetalDate> date);

  void events(const LaneEvents& batch) override;
  // One file per launch that had events, into `directory`; `name_of` gives a program's op, or "".
  // Returns how many were written.
  size_t write(const std::string& directory, const Run& run) const;
  std::vector<std::string> notes() const;

 private:
  struct Record {
    uint64_t time, data;
    uint32_t zone;
    uint8_t x, y;
    LogRisc risc;
    markers::MarkerType type;
  };
  struct Less {
    bool operator()(const Launch& a, const Launch& b) const {
      return std::tie(a.chip, a.host_id, a.trace_id, a.trace_counter) <
             std::tie(b.chip, b.host_id, b.trace_id, b.trace_counter);
    }
  };
  std::string json_of(const Record& r, const Launch& launch, const std::string& op, const Run& run) const;

  const std::vector<Zone>& zones_;
  const markers::NocEventTable* table_;
  std::map<Launch, std::vector<Record>, Less> records_;
  std::map<uint32_t, std::set<uint8_t>> rows_;  // of worker cores, by chip
  uint64_t fabric_ = 0, unknown_ = 0;
};

}  // namespace ttc::report
