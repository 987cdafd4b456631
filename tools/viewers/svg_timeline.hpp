// A window of time as one small, self-contained SVG: a row a RISC, zones nested downwards in the colours of
// the viewers, data and events as ticks, flaws and losses in red. Names, durations and host ids are tooltips.
//
// Memory is bounded by what the picture can hold: zones beyond kMostZones and lanes beyond kMostLanes are
// counted in its foot, never silently left out.
#pragma once
#include <string>

#include "collector/draw/svg.hpp"
#include "tools/viewers/timeline.hpp"

namespace ttc::tools {

struct TimeWindow {
  uint64_t begin_ns = 0;  // after the earliest marker
  uint64_t length_ns = 100'000;
};
// "2ms,100us": where it begins after the earliest marker, and its length, by the rule of
// collector/program/units.hpp. None: not understood.
std::optional<TimeWindow> parse_window(const std::string& text);

class SvgTimeline : public TimelineWriter {
 public:
  SvgTimeline(Output& out, const FormatOptions& options);

  void device(const Session& session) override;
  void clock_known(uint32_t chip, bool cycles, const collect::ClockHead& head) override;
  void lane(const TimelineLane& lane) override;
  void frame(const TimelineLane& lane, const TimelineFrame& frame) override;
  void counter(uint32_t, TimelineCounter, uint64_t, double) override {}
  void loss(const TimelineLane& lane, const TimelineLoss& loss) override;
  void note(uint32_t, uint64_t, const std::string&) override {}
  void end() override;

 private:
  static constexpr size_t kMostZones = 20'000, kMostLanes = 64;
  struct Drawn {
    uint64_t begin_ns, end_ns;
    uint32_t depth;
    uint32_t rgb;
    std::string name, tip;
    bool mark;
  };
  struct OpenZone {
    uint64_t begin_ns;
    ZoneLabel label;
    uint32_t host_id;
  };
  struct Lane {
    TimelineLane is;
    std::vector<OpenZone> open[2];  // on the lane, beside it
    std::vector<Drawn> drawn;
    uint32_t depth = 0;  // most
  };

  bool in_window(uint64_t begin_ns, uint64_t end_ns) const {
    return end_ns >= begin_ns_ && begin_ns <= end_ns_;
  }
  void draw(Lane& lane, const OpenZone& zone, uint64_t end_ns, size_t depth, Flaw flaw);
  void draw_mark(Lane& lane, uint64_t ns, const ZoneLabel& label, Flaw flaw, uint32_t host_id);
  void draw_axis(draw::Svg& svg, double bottom) const;
  void draw_lane(draw::Svg& svg, const Lane& lane, double y) const;
  double x_of(uint64_t ns) const;

  Output& out_;
  uint64_t begin_ns_, end_ns_, origin_ns_;
  std::vector<Lane> lanes_;  // by number
  std::string title_;
  size_t zones_ = 0, left_out_ = 0;
};

}  // namespace ttc::tools
