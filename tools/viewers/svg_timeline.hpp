// A window of time as one small, self-contained SVG: programs above, a row a RISC, zones nested downwards in the
// colours of the viewers, data and events as ticks, flaws and losses in red, losses over their length in a row of
// their own. Names, durations and host ids are tooltips.
//
// Memory is bounded by what the picture can hold: zones beyond kMostZones and lanes beyond kMostLanes are
// counted in its foot, never silently left out.
#pragma once
#include <map>
#include <string>

#include "collector/draw/svg.hpp"
#include "tools/viewers/timeline.hpp"

namespace ttc::tools {

class SvgTimeline : public TimelineWriter {
 public:
  SvgTimeline(Output& out, const FormatOptions& options);

  void device(const Session& session) override;
  void clock_known(uint32_t chip, bool cycles, const collect::ClockHead& head) override;
  void lane(const TimelineLane& lane) override;
  void frame(const TimelineLane& lane, const TimelineFrame& frame) override;
  void row(const TimelineRow& row) override;
  void span(const TimelineRow& row, const TimelineSpan& span) override;
  void counter(const TimelineCounter&) override {}
  void value(const TimelineCounter&, uint64_t, double) override {}
  void note(uint32_t, uint64_t, const std::string&) override {}
  void end() override;
  std::vector<std::string> remarks() const override {
    return empty_.empty() ? std::vector<std::string>{} : std::vector{empty_};
  }

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
  // From above: a chip's programs, then its cores; of a core its processors, each with what it lost behind it.
  struct Place {
    uint32_t chip = 0;
    int32_t core = -1;  // y << 8 | x; -1: above the cores
    uint32_t rank = 0;
    auto operator<=>(const Place&) const = default;  // NOLINT(modernize-use-nullptr): of clang-tidy 14
  };
  struct Lane {
    Place place;
    std::string name;
    std::vector<OpenZone> open[2];  // on the lane, beside it
    std::vector<Drawn> drawn;
    uint32_t depth = 0;  // most
  };

  bool in_window(uint64_t begin_ns, uint64_t end_ns) const {
    return end_ns >= begin_ns_ && begin_ns <= end_ns_;
  }
  void draw(Lane& lane, const OpenZone& zone, uint64_t end_ns, size_t depth, Flaw flaw);
  void draw_mark(Lane& lane, uint64_t ns, const std::string& name, uint32_t rgb, const std::string& tip);
  std::vector<const Lane*> shown_lanes();
  std::string where_markers_are() const;
  void draw_axis(draw::Svg& svg, double bottom) const;
  void draw_lane(draw::Svg& svg, const Lane& lane, double y) const;
  double x_of(uint64_t ns) const;

  Output& out_;
  uint64_t begin_ns_, end_ns_, origin_ns_;
  std::vector<Lane> lanes_, rows_;  // by number
  std::string title_, empty_;
  size_t chips_ = 0;
  std::map<uint32_t, std::string> titles_;        // of chips
  std::optional<uint64_t> before_ns_, after_ns_;  // markers outside of the window that are nearest to it
  size_t zones_ = 0, left_out_ = 0;
};

}  // namespace ttc::tools
