// Chrome's trace JSON: an object with `traceEvents`, one event a line. Chips are processes, RISCs threads,
// times microseconds of CLOCK_MONOTONIC_RAW with three digits, which is exact.
//
//   X   a zone, in the order of starts; B, E where start and end came in different launches' words; programs of a
//       chip and losses of a lane, in rows of their own
//   host threads are threads of their processes above the chips: B, E, and i for messages; s, f from an op's zone to its
//   first program; frames and locks are X of rows of their own. A reader that goes by names and
//   arguments ends no zone whose E has more: what came late is an i.
//
//   i   data, events, flaws     C  counters     M  names and order of lanes     s, f  from a program to its cores
//
// Readers make a frame of what has the same name; speedscope of what has the same name and arguments, and ends a
// zone only with an E of both. So an E repeats those of its B, and --no-args leaves out all of them.
// Overlapping zones have a lane of their own, as readers drop or misdraw overlapping X events of one thread.
// `loc` is what Tracy's importer takes for the source.
#pragma once
#include <atomic>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "tools/viewers/frame_texts.hpp"
#include "tools/viewers/timeline.hpp"
#include "tools/viewers/zones/begun_lanes.hpp"

namespace ttc::tools {

class Chrome : public TimelineWriter {
 public:
  Chrome(Output& out, const FormatOptions& options);

  void device(const Session& session) override;
  void clock_known(uint32_t, bool, const collect::ClockHead&) override {}
  void lane(const TimelineLane& lane) override;
  void frame(const TimelineLane& lane, const TimelineFrame& frame) override;
  void row(const TimelineRow& row) override;
  void span(const TimelineRow& row, const TimelineSpan& span) override;
  void counter(const TimelineCounter&) override {}
  void value(const TimelineCounter& counter, uint64_t ns, double value) override;
  void note(uint32_t chip, uint64_t ns, const std::string& text) override;
  void host_process(const HostProcess& process) override;
  void host_thread(const HostThread& thread) override;
  void host_plot(const HostPlot&) override {}
  void host_begin(const HostThread& thread, const HostZoneBegin& zone) override;
  void host_end(const HostThread& thread, uint64_t ns, std::string_view text) override;
  void host_message(const HostThread& thread, uint64_t ns, std::string_view text) override;
  void host_value(const HostPlot& plot, uint64_t ns, double value) override;
  void host_row(const HostRow& row) override;
  void host_span(const HostRow& row, const HostSpan& span) override;
  void settle() override { texts_.settle(); }
  void end() override { texts_.settle(); }
  bool shows_bounds() const override { return arguments_; }
  std::unique_ptr<FrameTextMaker> text_maker(const ZoneLabels& labels) override;
  bool is_right(const FrameTextMaker&, uint32_t) const override { return true; }
  void frame_text(FrameTextMaker& text, uint32_t number, const FrameEvents& frame, uint64_t flow) override;

 private:
  class FramesText;
  static constexpr uint64_t kMostChips = 256;  // a chip is a process of its number and 1
  // The text that is the same in every event of a label.
  struct Label {
    std::string name;     // ,"name":"...","cat":"...","loc":"..."
    std::string bare;     // the same without the name
    std::string zone;     // ,"zone hash":"0x...","source":"..."
    std::string escaped;  // the name alone
    size_t room() const { return name.size() + zone.size(); }
  };
  struct Lane {
    const TimelineLane* is = nullptr;
    std::atomic<bool> aside_begun = false;  // for other threads
  };
  // Of so many, other threads have the text, too.
  static constexpr uint32_t kSharedLabels = 1 << 14;
  using Texts = FrameTexts<TimelineLane, Label>;
  // All of an event that is not a number.
  struct Words {
    std::string name, arguments;  // instead of the label's; behind it
  };
  const Label& label_of(const ZoneLabel& label);
  // Any thread; the label's number is below kSharedLabels. Null: its text is not there yet.
  const Label* known_label(const ZoneLabel& label) const {
    return known_labels_[label.number].load(std::memory_order_acquire);
  }
  // All of it but label and time. `bounds`: by marker; empty: none.
  static void set_step(Texts::Step& to, const ZoneStep& step, const FrameEvents& frame,
                       std::span<const uint64_t> ns, std::span<const uint32_t> bounds);
  Output& out() { return texts_.at_once(); }
  void metadata(const char* what, uint64_t pid, uint32_t tid, const std::string& arguments);
  void encode(const Texts::Frame& frame, const Texts::Step& step, const StepExtra* extra, Output& to) const;
  Words words_of(const Texts::Step& step, const StepExtra* extra) const;
  char* put_same(char* at, const Texts::Frame& frame, const Texts::Step& step, const StepExtra* extra,
                 const Words& words) const;
  void begin_zone(const Texts::Frame& frame, const Texts::Step& step, const StepExtra* extra);
  void put_end(const TimelineLane& lane, uint64_t ns, const ZoneStep& step);
  void name_lane(const TimelineLane& lane, const std::string& name, uint32_t tid, unsigned place);
  void begin_aside(const TimelineLane& lane);
  // An X; `rest`: its further members, with a comma in front, and the closing brace.
  void put_span(uint64_t pid, uint32_t tid, uint64_t begin_ns, uint64_t end_ns, const std::string& rest);
  void put_host(char phase, const HostThread& thread, uint64_t ns, std::string_view rest);
  void put_value(uint64_t pid, uint64_t ns, const std::string& name, double value);
  static void put_flow(Output& to, char phase, uint64_t pid, uint32_t tid, uint64_t ns, uint64_t flow);
  static void put_flow(Output& to, char phase, const TimelineLane& lane, bool aside, uint64_t ns,
                       uint64_t flow);
  bool arguments_;
  bool first_ = true;
  std::deque<Label> labels_;  // by number; they stay where they are
  std::vector<std::atomic<const Label*>> known_labels_{kSharedLabels};
  std::deque<Lane> lanes_;  // by number; they stay where they are
  BegunLanes<Lane> begun_lanes_;
  HostPids pids_{kMostChips};
  std::vector<uint64_t> process_pids_;               // by number
  std::vector<std::vector<std::string>> host_open_;  // as open_, by thread
  // The fields of a B that the E of its zone repeats: by lane, innermost last.
  std::vector<std::vector<std::string>> open_;
  Texts texts_;  // last: other threads read what is above
};

}  // namespace ttc::tools
