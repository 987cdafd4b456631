// What every viewer's format needs between the pipeline and its own bytes: lanes, names, host times in
// nanoseconds, paired zones, counters and losses. A viewer's format is a TimelineWriter.
//
// Times are nanoseconds of CLOCK_MONOTONIC_RAW as the clock model gives them. A device without a clock model
// has its cycles instead, at its nominal clock; which it is, device() says.
#pragma once
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "tools/pipeline/format.hpp"
#include "tools/viewers/zone_labels.hpp"
#include "tools/viewers/zone_steps.hpp"

namespace ttc::tools {

// A processor's stream.
struct TimelineLane {
  uint32_t number = 0;  // from 0, without gaps, over all chips
  uint32_t chip = 0;
  uint8_t core_x = 0, core_y = 0;  // NOC0 physical
  uint8_t risc = 0;
  markers::CoreKind kind = markers::CoreKind::tensix;
  std::string processor;  // as risc_name() spells it
};

struct TimelineFrame {
  const FrameEvents& events;
  std::span<const uint64_t> ns;  // by marker
  std::span<const ZoneStep> steps;
  ZoneLabels::Lane& labels;
  uint64_t before_ns = 0;  // the last time of the lane before this frame; when zones without an end close
  bool late = false;       // earlier than before_ns
  uint64_t time_of(const ZoneStep& step) const {
    return step.marker == kNoMarker ? before_ns : ns[step.marker];
  }
};

struct TimelineLoss {
  const shm::LossRecord& record;
  uint64_t from_ns = 0;
  uint64_t to_ns = 0;  // == from_ns: still open, or not known
};

enum class TimelineCounter : uint8_t { programs_per_s, aiclk_mhz, lost, clock_bound_ns };

class TimelineWriter {
 public:
  virtual ~TimelineWriter() = default;
  // Once for each device, before anything else of it.
  virtual void device(const Session& session) = 0;
  // Before its first frame: `cycles` as there is no clock model, else how the host's clocks lie.
  virtual void clock_known(uint32_t chip, bool cycles, const collect::ClockHead& head) = 0;
  virtual void lane(const TimelineLane& lane) = 0;  // once for each, before its first frame
  virtual void frame(const TimelineLane& lane, const TimelineFrame& frame) = 0;
  virtual void counter(uint32_t chip, TimelineCounter which, uint64_t ns, double value) = 0;
  virtual void loss(const TimelineLane& lane, const TimelineLoss& loss) = 0;
  // What people should see where it happened: epochs, the quality of the clock model.
  virtual void note(uint32_t chip, uint64_t ns, const std::string& text) = 0;
  virtual void end() = 0;
  virtual std::vector<std::string> remarks() const { return {}; }
};

class Timeline : public Format {
 public:
  explicit Timeline(std::unique_ptr<TimelineWriter> writer) : writer_(std::move(writer)) {}

  void begin(const Session& session) override;
  void frame(const FrameEvents& frame) override;
  void loss(const shm::LossRecord& record) override;
  void names_changed() override { labels_.names_changed(); }
  void clock(uint32_t chip, const collect::ClockMap& map) override;
  void telemetry(uint32_t chip, const shm::TelemetryRecord& record) override;
  void end() override;
  std::vector<std::string> remarks() const override;

 private:
  static constexpr uint64_t kWindowNs = 100'000'000;  // of programs/s
  struct Lane {
    TimelineLane is;
    ZoneSteps zones;
    uint64_t last_ns = 0;
    uint64_t launches = 0;
  };
  struct Chip {
    Session session;
    bool clock_told = false;
    bool cycles = false;
    const collect::ClockMap* map = nullptr;  // of the device's first domain
    collect::HostTime bounds_told_until = 0;
    std::unordered_map<uint32_t, Lane> lanes;
    std::map<uint64_t, uint64_t> programs;  // by window: launches so far of the lane with the most
    uint64_t told_windows = 0, told_programs = 0;
    std::map<uint64_t, shm::LossRecord> losses;  // by id: still open, or of before the clock was known
    uint64_t lost = 0;                           // intervals told
    uint64_t lost_until_ns = 0;
    uint64_t first_ns = ~uint64_t{0};  // of all markers that came
    uint64_t unseen_lost = 0;  // lanes that may have lost markers from beginning to end, of which none came
    std::map<std::pair<uint8_t, uint8_t>, uint32_t> epochs;  // by core
    double noted_bound_ns = 0;
    collect::BoundKind noted_kind = collect::BoundKind::none;
  };

  Chip& chip_of(uint32_t number);
  Lane& lane_of(Chip& chip, uint8_t x, uint8_t y, uint8_t risc, markers::CoreKind kind, device::Mode mode);
  void convert(Chip& chip, const FrameEvents& frame);
  void tell_clock(uint32_t number, Chip& chip, bool cycles);
  void count_launch(uint32_t number, Chip& chip, Lane& lane, const FrameEvents& frame);
  void tell_programs(uint32_t number, Chip& chip, uint64_t last);
  void note_epoch(Chip& chip, const FrameEvents& frame);
  void note_bound(Chip& chip, const collect::ClockSegment& segment);
  void tell_loss(uint32_t number, Chip& chip, const shm::LossRecord& record);
  uint64_t ns_of(const Chip& chip, uint64_t cycles) const;

  std::unique_ptr<TimelineWriter> writer_;
  ZoneLabels labels_;
  std::map<uint32_t, Chip> chips_;
  std::vector<uint64_t> ns_;
  uint32_t lane_count_ = 0;
  uint64_t late_frames_ = 0;
};

}  // namespace ttc::tools
