// Chrome's trace JSON: an object with `traceEvents`, one event a line. Chips are processes, RISCs threads,
// times microseconds of CLOCK_MONOTONIC_RAW with three digits, which is exact.
//
//   X   a zone, in the order of starts; B, E where start and end came in different launches' words
//   i   data, events, flaws, losses     C  counters     M  names and order of lanes
//
// Overlapping zones have a lane of their own, as readers drop or misdraw overlapping X events of one thread.
// `loc` is what Tracy's importer takes for the source.
#pragma once
#include "tools/viewers/timeline.hpp"

namespace ttc::tools {

class Chrome : public TimelineWriter {
 public:
  Chrome(Output& out, const FormatOptions& options);

  void device(const Session& session) override;
  void clock_known(uint32_t, bool, const collect::ClockHead&) override {}
  void lane(const TimelineLane& lane) override;
  void frame(const TimelineLane& lane, const TimelineFrame& frame) override;
  void counter(uint32_t chip, TimelineCounter which, uint64_t ns, double value) override;
  void loss(const TimelineLane& lane, const TimelineLoss& loss) override;
  void note(uint32_t chip, uint64_t ns, const std::string& text) override;
  void end() override {}

 private:
  // What is the same in every event of a label.
  struct Label {
    std::string name;  // ,"name":"...","cat":"...","loc":"..."
    std::string bare;  // the same without the name
    std::string zone;  // ,"zone hash":"0x...","source":"..."
  };
  const Label& label_of(const ZoneLabel& label);
  void metadata(const char* what, uint32_t pid, uint32_t tid, const std::string& arguments);
  void put(const TimelineLane& lane, const TimelineFrame& frame, const ZoneStep& step,
           const HostSemantics* semantics);
  void begin_aside(const TimelineLane& lane);

  Output& out_;
  bool arguments_;
  bool first_ = true;
  std::vector<Label> labels_;      // by number
  std::vector<bool> aside_known_;  // by lane
};

}  // namespace ttc::tools
