// A window of time as one small, self-contained SVG: threads of the workload's host side, then a chip's programs, then a row
// a RISC, zones nested downwards in the colours of the viewers, data, events and messages as ticks, flaws and losses in red,
// losses over their length in a row of their own, host resets as dashed lines. Names, durations and host ids are tooltips.
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
  void note(uint32_t chip, uint64_t ns, const std::string& text) override;
  void host_process(const HostProcess& process) override;
  void host_thread(const HostThread& thread) override;
  void host_row(const HostRow& row) override;
  void host_begin(const HostThread& thread, const HostZoneBegin& zone) override;
  void host_end(const HostThread& thread, uint64_t ns, std::string_view text) override;
  void host_message(const HostThread& thread, uint64_t ns, std::string_view text) override;
  void host_span(const HostRow& row, const HostSpan& span) override;
  void end() override;
  bool shows_bounds() const override { return true; }
  std::vector<std::string> remarks() const override {
    return empty_.empty() ? std::vector<std::string>{} : std::vector{empty_};
  }

 private:
  static constexpr size_t kMostZones = 20'000, kMostLanes = 64, kMostHostLanes = 16;
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
  struct OpenHostZone {
    uint64_t begin_ns;
    std::string name, text;
  };
  // The order from top to bottom: threads of the host side by process; a chip's programs, then its cores; of a core its
  // processors, each with what it lost behind it.
  struct Place {
    int64_t chip = 0;   // -1: the host side
    int64_t core = -1;  // y << 8 | x, -1: above the cores; of the host side its process
    uint32_t rank = 0;
    auto operator<=>(const Place&) const = default;  // NOLINT(modernize-use-nullptr): of clang-tidy 14
  };
  struct Lane {
    Place place;
    std::string name;
    std::vector<OpenZone> open[2];  // on the lane, beside it
    std::vector<OpenHostZone> open_host;
    std::vector<Drawn> drawn;
    uint32_t depth = 0;  // most
  };

  bool in_window(uint64_t begin_ns, uint64_t end_ns) const {
    return end_ns >= begin_ns_ && begin_ns <= end_ns_;
  }
  void draw(Lane& lane, const OpenZone& zone, uint64_t end_ns, size_t depth, Flaw flaw, uint32_t bound_ns);
  bool room();  // for one more; counts what is left out
  void draw_host(Lane& lane, const OpenHostZone& zone, uint64_t end_ns, const char* flaw);
  void draw_mark(Lane& lane, uint64_t ns, const std::string& name, uint32_t rgb, const std::string& tip);
  std::vector<const Lane*> shown_lanes();
  std::string where_markers_are() const;
  void draw_axis(draw::Svg& svg, double bottom) const;
  void draw_notes(draw::Svg& svg, double bottom) const;
  void draw_lane(draw::Svg& svg, const Lane& lane, double y) const;
  double x_of(uint64_t ns) const;

  Output& out_;
  uint64_t begin_ns_, end_ns_, origin_ns_;
  std::vector<Lane> lanes_, rows_, host_lanes_, host_rows_;  // by number
  std::vector<std::string> processes_;                       // names, by number
  std::vector<std::pair<uint64_t, std::string>> notes_;      // within the window
  std::string title_, empty_;
  size_t chips_ = 0;
  std::map<uint32_t, std::string> titles_;        // of chips
  std::optional<uint64_t> before_ns_, after_ns_;  // markers outside of the window that are nearest to it
  size_t zones_ = 0, spans_ = 0, left_out_ = 0, left_out_host_ = 0;
};

}  // namespace ttc::tools
