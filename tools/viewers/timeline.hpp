// The common part of viewers' formats, between the pipeline and their own bytes: lanes, names, host times in
// nanoseconds, paired zones, programs, counters and losses. A viewer's format is a TimelineWriter.
//
// Times are nanoseconds of CLOCK_MONOTONIC_RAW as the clock model gives them. A device without a clock model
// has its cycles instead, at its nominal clock; device() returns which.
#pragma once
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "tools/noc/noc_coordinates.hpp"
#include "tools/pipeline/format.hpp"
#include "tools/viewers/event_texts.hpp"
#include "tools/viewers/host/host_tracks.hpp"
#include "tools/viewers/host/rows.hpp"
#include "tools/viewers/programs.hpp"
#include "tools/viewers/zones/frame_text_maker.hpp"
#include "tools/viewers/zones/zone_bounds.hpp"
#include "tools/viewers/zones/zone_labels.hpp"
#include "tools/viewers/zones/zone_steps.hpp"

namespace ttc::tools {

// A processor's stream.
struct TimelineLane {
  uint32_t number = 0;  // from 0, without gaps, over all chips
  uint32_t chip = 0;
  uint8_t core_x = 0, core_y = 0;  // NOC0 physical
  uint8_t risc = 0;
  markers::CoreKind kind = markers::CoreKind::tensix;
  std::string processor;  // as risc_name() spells it, "ERISC 1" for a core's second one
  std::string core() const { return core_name(core_x, core_y); }
};

struct TimelineFrame {
  const FrameEvents& events;
  std::span<const uint64_t> ns;  // by marker
  std::span<const ZoneStep> steps;
  ZoneLabels::Lane& labels;
  uint64_t before_ns = 0;  // the last time of the lane before this frame; when zones without an end close
  bool late = false;       // earlier than before_ns
  std::span<EventText> texts = {};  // of NoC events and hardware counters, by marker
  uint64_t flow = 0;                // from the program's span to the zone that flow_marker begins
  uint32_t flow_marker = kNoMarker;
  std::span<const uint32_t> bounds = {};  // by marker, as ZoneBounds has them; empty: not requested
  // Of the duration of the zone that ends there.
  uint32_t bound_of(uint32_t end_marker) const {
    return end_marker < bounds.size() ? bounds[end_marker] : kNoDurationBound;
  }
  uint64_t time_of(const ZoneStep& step) const {
    return step.marker == kNoMarker ? before_ns : ns[step.marker];
  }
};

inline bool has_payload(markers::MarkerType type) {
  using markers::MarkerType;
  return type == MarkerType::zone_total || type == MarkerType::ts_data || type == MarkerType::ts_data_16b;
}

// The data of a frame's marker beyond its label. Markers must be requested in rising order.
class MarkerExtras {
 public:
  explicit MarkerExtras(const TimelineFrame& f) : MarkerExtras(f.events, f.texts) {}
  MarkerExtras(const FrameEvents& frame, std::span<const EventText> texts)
      : semantic_(frame.semantics.begin()), semantics_end_(frame.semantics.end()), texts_(texts) {}
  const HostSemantics* semantics(uint32_t marker) {
    while (semantic_ != semantics_end_ && semantic_->marker < marker) ++semantic_;
    return semantic_ != semantics_end_ && semantic_->marker == marker ? &*semantic_ : nullptr;
  }
  const EventText* text(uint32_t marker) {
    while (text_ < texts_.size() && texts_[text_].marker < marker) ++text_;
    return text_ < texts_.size() && texts_[text_].marker == marker ? &texts_[text_] : nullptr;
  }

 private:
  std::span<const HostSemantics>::iterator semantic_, semantics_end_;
  std::span<const EventText> texts_;
  size_t text_ = 0;
};

// A row of spans that are no zones of a processor. The spans of a row do not overlap and come in order of time.
enum class SpanKind : uint8_t { program, record, loss, addressed };
struct TimelineRow {
  uint32_t number = 0;  // from 0, without gaps, over all chips
  uint32_t chip = 0;
  SpanKind kind = SpanKind::program;
  std::string name;                    // within its chip or core
  const TimelineLane* lane = nullptr;  // the row is beside it; null: above the cores of the chip
  uint32_t rank = 0;                   // among the rows of its lane or chip
};
struct TimelineSpan {
  uint64_t begin_ns = 0, end_ns = 0;
  std::string label;  // few different ones; statistics go by it
  std::string name;   // of this one
  uint32_t rgb = 0;
  std::vector<EventField> fields;
  std::vector<uint64_t> flows;  // each leads to a TimelineFrame::flow
  uint64_t from = 0;            // a HostZoneBegin::flow or EventText::flows that leads here; 0: none
};

// Another profiler's record of a program (tools/other_profilers): cycles of the card's tiles.
struct ProfilerRecord {
  std::string card;  // live name
  uint32_t number = 0;
  uint32_t program = 0;  // 16 bits of its host id
  uint64_t start_cycles = 0, end_cycles = 0;
};

struct TimelineCounter {
  uint32_t number = 0;  // from 0, without gaps, over all chips
  uint32_t chip = 0;
  std::string name, unit;
  const TimelineLane* lane = nullptr;  // of its core; null: of the chip
};

// Threads of the workload's host side come after a chip's clock is known, where there is a chip.
class TimelineWriter : public HostWriter {
 public:
  // Once for each device, before anything else of it.
  virtual void device(const Session& session) = 0;
  // Called before the chip's first frame: `cycles` if there is no clock model, else how the host's clocks lie.
  virtual void clock_known(uint32_t chip, bool cycles, const collect::ClockHead& head) = 0;
  // Once for each, before its first frame, span or value.
  virtual void lane(const TimelineLane& lane) = 0;
  virtual void row(const TimelineRow& row) = 0;
  virtual void counter(const TimelineCounter& counter) = 0;

  virtual void frame(const TimelineLane& lane, const TimelineFrame& frame) = 0;
  // For each of several threads. `labels` are those of the frames, and outlive it. Null: it makes no text on other threads.
  virtual std::unique_ptr<FrameTextMaker> text_maker(const ZoneLabels&) { return nullptr; }
  // Whether a text of one of these is right at this place, and puts it there. `flow`: as in TimelineFrame; 0: none. `number`: among those that it made.
  virtual bool is_right(const FrameTextMaker&, uint32_t) const { return false; }
  virtual void frame_text(FrameTextMaker&, uint32_t, const FrameEvents&, uint64_t) {}
  virtual void span(const TimelineRow& row, const TimelineSpan& span) = 0;
  virtual void value(const TimelineCounter& counter, uint64_t ns, double value) = 0;
  // Notes at the place where they happened: epochs, the quality of the clock model.
  virtual void note(uint32_t chip, uint64_t ns, const std::string& text) = 0;
  // All that came is in the output.
  virtual void settle() {}
  virtual void end() = 0;
  virtual std::vector<std::string> remarks() const { return {}; }
  // Whether frames are to have the bounds of their zones' durations.
  virtual bool shows_bounds() const { return false; }
};

class Timeline : public Format {
 public:
  explicit Timeline(std::unique_ptr<TimelineWriter> writer) : writer_(std::move(writer)) {}

  std::unique_ptr<FrameWork> frame_work() const override;
  void begin(const Session& session) override;
  void frame(const FrameEvents& frame) override;
  bool frame_alone(const FrameEvents& frame) override;
  void loss(const shm::LossRecord& record) override;
  void names_changed() override { labels_.names_changed(); }
  void clock(uint32_t chip, const collect::ClockMap& map) override;
  void telemetry(uint32_t chip, const shm::TelemetryRecord& record) override;
  void host(std::span<const uint64_t> chunk) override;
  // Names of programs from the host side, if another file than the source has them.
  OpNames& op_names() { return host_.names(); }
  // A row of them is below the programs of their card. To be called before the source is read.
  void add_records(std::vector<ProfilerRecord> records) { records_ = std::move(records); }
  // Nothing has come for a while: what waits for later events of its thread waits no longer.
  void quiet() { host_.release(*writer_, true); }
  void settle() { writer_->settle(); }
  void end() override;
  std::vector<std::string> remarks() const override;

 private:
  static constexpr size_t kMostHeld = 1 << 20;        // events of the host side that wait for a chip's clock
  static constexpr uint64_t kWindowNs = 100'000'000;  // of programs/s
  static constexpr uint64_t kSettleEveryNs = 200'000'000;  // what is settled, and what older is than that
  struct Rows {
    RowPacker places;
    std::vector<std::unique_ptr<TimelineRow>> rows;
  };
  using Counter = std::unique_ptr<TimelineCounter>;
  struct Lane {
    TimelineLane is;
    ZoneSteps zones;
    ZoneBounds::Open open;
    uint64_t last_ns = 0;
    uint64_t launches = 0;
    Rows lost;
    std::map<std::string, Counter> counters;  // by name
  };
  enum ChipCounter : uint8_t {
    programs_per_s,
    aiclk,
    power,
    temperature,
    lost_intervals,
    clock_bound,
    log_fill,
    link_share,
    kChipCounters
  };
  // A core that a NoC event of another one named.
  struct Addressed {
    uint64_t ns;
    uint8_t x, y;
    TimelineSpan span;
  };
  struct Chip {
    Session session;
    bool clock_reported = false;
    bool cycles = false;
    const collect::ClockMap* map = nullptr;  // of the device's first domain
    collect::HostTime bounds_told_until = 0;
    std::unordered_map<uint32_t, Lane> lanes;
    Lane* known_lanes[512] =
        {};  // of `lanes`, by a part of their key: a frame's lane is mostly found without a hash
    Counter counters[kChipCounters];
    uint64_t first_flow = 0, addressed_flows = 0;
    NocCoordinates noc;
    ZoneBounds zone_bounds;
    std::vector<Addressed> addressed;                            // not written yet
    std::map<std::pair<uint8_t, uint8_t>, Rows> addressed_rows;  // by core
    Programs open_programs;
    Rows program_rows, record_rows;
    std::map<uint64_t, uint64_t> programs;  // by window: launches so far of the lane with the most
    uint64_t reported_windows = 0, reported_programs = 0;
    std::map<uint64_t, shm::LossRecord> losses;  // by id: not written yet
    uint64_t lost = 0;                           // intervals written
    uint64_t lost_until_ns = 0;
    uint64_t first_ns = ~uint64_t{0}, last_ns = 0;  // of all markers that came
    uint64_t settled_ns = 0;   // last_ns when settled programs and losses were last written
    uint64_t unseen_lost = 0;  // lanes that may have lost markers from beginning to end, of which none came
    std::map<std::pair<uint8_t, uint8_t>, uint32_t> epochs;  // by core
    double noted_bound_ns = 0;
    collect::BoundKind noted_kind = collect::BoundKind::none;
  };

  Chip& chip_of(uint32_t number);
  Chip& add_chip(uint32_t number);
  Lane& lane_of(Chip& chip, uint8_t x, uint8_t y, uint8_t risc, markers::CoreKind kind, device::Mode mode);
  std::span<const uint64_t> frame_times(const Chip& chip, const FrameEvents& frame);
  void pair(Chip& chip, Lane& lane, TimelineFrame& frame);
  void report_clock(uint32_t number, Chip& chip, bool cycles);
  void counter_value(Chip& chip, ChipCounter which, uint64_t ns, double value);
  void report_hardware(Chip& chip, Lane& lane, const TimelineFrame& frame);
  static void came(Chip& chip, uint64_t first_ns, uint64_t last_ns);
  void went(Chip& chip, Lane& lane, uint64_t first_ns, uint64_t last_ns, bool begins_launch);
  void count_launch(Chip& chip, Lane& lane, uint64_t ns);
  void report_programs_per_s(Chip& chip, uint64_t last);
  void report_settled(Chip& chip);
  void find_addressed(Chip& chip, const TimelineFrame& frame);
  void report_addressed(Chip& chip, uint64_t until_ns);
  void report_program(Chip& chip, const Program& program);
  void report_records(Chip& chip);
  void report_span(Chip& chip, Rows& rows, SpanKind kind, const TimelineLane* lane, TimelineSpan span);
  void note_epoch(Chip& chip, const FrameEvents& frame, uint64_t ns);
  void note_bound(Chip& chip, const collect::ClockSegment& segment);
  // Reports losses that ended before `until_ns`; ~0 includes open ones.
  void report_losses(Chip& chip, uint64_t until_ns);
  void report_loss(Chip& chip, const shm::LossRecord& record, uint64_t from_ns, uint64_t to_ns);
  std::pair<uint64_t, uint64_t> times_of(const Chip& chip, const shm::LossRecord& record) const;
  uint64_t ns_of(const Chip& chip, uint64_t cycles) const;

  std::unique_ptr<TimelineWriter> writer_;
  ZoneLabels labels_;
  EventTexts texts_;
  HostTracks host_;
  bool any_clock_reported_ = false;
  std::map<uint32_t, Chip> chips_;
  std::span<const uint64_t> ns_;     // of the frame that came last
  std::vector<uint64_t> converted_;  // them, where no other thread made them
  uint32_t lane_count_ = 0, row_count_ = 0, counter_count_ = 0;
  std::vector<ProfilerRecord> records_;  // not written yet
  uint64_t late_frames_ = 0, left_out_spans_ = 0;
};

}  // namespace ttc::tools
