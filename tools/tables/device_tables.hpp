// The end of the pipeline as tables: markers, zones, programs, losses, clocks, telemetry and sessions of devices. It does not
// write anything; the driver of the pipeline takes the rows and clears them.
//
// A zone is what ZoneSteps pairs, and also what overlaps another zone in a frame. What has no partner is counted.
#pragma once
#include <map>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tools/pipeline/format.hpp"
#include "tools/tables/program_gaps.hpp"
#include "tools/tables/tables.hpp"
#include "tools/viewers/programs.hpp"
#include "tools/viewers/zones/zone_bounds.hpp"
#include "tools/viewers/zones/zone_labels.hpp"
#include "tools/viewers/zones/zone_steps.hpp"

namespace ttc::tools {

class DeviceTables : public Format {
 public:
  // `wanted`: ttcollect_tables. `tables` outlives this.
  DeviceTables(Tables& tables, uint32_t wanted) : tables_(tables), wanted_(wanted) {}

  // Rows of a chip have no session, so that a second one of the same chip is refused: throws SourceError.
  void begin(const Session& session) override;
  void frame(const FrameEvents& frame) override;
  // Where only programs are wanted. With both, frames need no markers.
  std::unique_ptr<FrameWork> frame_work() const override;
  bool frame_alone(const FrameEvents& frame) override;
  void loss(const shm::LossRecord& record) override;
  void names_changed() override { labels_.names_changed(); }
  void clock(uint32_t chip, const collect::ClockMap& map) override;
  void telemetry(uint32_t chip, const shm::TelemetryRecord& record) override;
  void end() override;  // programs that are open become rows

  uint64_t unpaired() const { return unpaired_; }

 private:
  struct Lane {
    ZoneSteps steps;
    std::vector<ttcollect_zone> open;  // whose begin came
    ZoneBounds::Open starts;           // of these
    uint64_t last = 0;                 // in ns, or cycles
  };
  struct Chip {
    std::optional<uint64_t> session;
    std::unordered_map<uint16_t, uint8_t> core_kinds;  // by x and y
    std::optional<uint16_t> last_core;  // whose kind was noted last; frames of a core come in a row
    bool clock_known = false;
    bool cycles = false;  // no clock model: cycles at the nominal clock
    uint32_t mhz = 0;
    std::unordered_map<uint32_t, Lane> lanes;
    Programs programs;
    ProgramGaps gaps;
    ZoneBounds zone_bounds;
    uint64_t last_ns = 0, settled_ns = 0;
    const collect::ClockMap* map = nullptr;
    std::map<uint8_t, std::pair<uint32_t, uint64_t>> clock_delivered_until;  // by domain: era, cycles
  };

  // Of a frame's markers, in ns, as Timeline has them, so that a program is the same program in every output.
  struct Times {
    const FrameEvents& frame;
    bool of_clock;  // false: cycles at the nominal clock
    uint64_t mhz;
    uint64_t operator[](size_t marker) const {
      return of_clock ? frame.host_times[marker].at / collect::kHostTicksPerNs
                      : frame.markers[marker].time_cycles * 1000 / mhz;
    }
    uint64_t front() const { return (*this)[0]; }
    uint64_t back() const { return (*this)[frame.markers.size() - 1]; }
  };

  void markers(const FrameEvents& frame, ZoneLabels::Lane& labels);
  void zones(Chip& chip, Lane& lane, const FrameEvents& frame, const Times& ns, ZoneLabels::Lane& labels);
  static Times times(Chip& chip, const FrameEvents& frame);
  static void note_core(Chip& chip, const FrameEvents& frame);
  void came_until(Chip& chip, uint32_t number, uint64_t ns);
  void settle(uint32_t number, Chip& chip, uint64_t until_ns);
  ttcollect_zone begun(const FrameEvents& frame, uint32_t marker, ZoneLabels::Lane& labels) const;
  void ended(ttcollect_zone zone, const FrameEvents& frame, uint32_t marker, uint32_t duration_bound_ns);
  ttcollect_loss loss_row(const shm::LossRecord& record) const;
  void note_names();

  Tables& tables_;
  const uint32_t wanted_;
  ZoneLabels labels_;
  std::map<uint32_t, Chip> chips_;
  std::map<std::pair<uint32_t, uint64_t>, shm::LossRecord> undated_losses_;  // by chip and id
  uint64_t unpaired_ = 0;
};

}  // namespace ttc::tools
