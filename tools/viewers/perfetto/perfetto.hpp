// Perfetto's native trace: a stream of TracePacket messages, written by field numbers (perfetto
// protos/perfetto/trace). Opened by ui.perfetto.dev and trace_processor.
//
//   tracks      chip (a process) -> counters, programs, core -> RISC, in an explicit order; beside a RISC its
//               overlapping zones and what it lost; below it counters of its hardware
//   host        processes and threads by their real numbers, plots, frames and locks below their process; a flow leads from the zone of
//               an op to its first program
//   sequences   one for each RISC, row and host thread, so that its track and its clock are defaults and a zone costs less
//   clock       nanoseconds since the RISC's first marker (clock 64 of its sequence), tied to
//               CLOCK_MONOTONIC_RAW by a snapshot at the rate 1; times before it, and those of counters and notes, are
//               written in RAW itself, behind a snapshot
//   zones       begin and end events with interned name and source; host id, zone hash, cycles and the bound of the duration as arguments
//   spans       programs and losses likewise; a flow leads from a program to one kernel zone of each of its cores
//   others      data, events and flaws are instants
//   colours     the format has none: viewers choose by name
//
// Only whole packets are written at a time: a file is valid wherever it is cut between two of them, and a cut
// packet is the only one lost. Memory: a bit for each name and RISC, and a kilobyte for each RISC.
#pragma once
#include <atomic>
#include <deque>
#include <map>
#include <memory>
#include <vector>

#include "tools/viewers/frame_texts.hpp"
#include "tools/viewers/perfetto/interned_names.hpp"
#include "tools/viewers/perfetto/protobuf.hpp"
#include "tools/viewers/timeline.hpp"
#include "tools/viewers/zones/begun_lanes.hpp"

namespace ttc::tools {

class Perfetto : public TimelineWriter {
 public:
  Perfetto(Output& out, const FormatOptions& options);

  void device(const Session& session) override;
  void clock_known(uint32_t chip, bool cycles, const collect::ClockHead& head) override;
  void lane(const TimelineLane& lane) override;
  void frame(const TimelineLane& lane, const TimelineFrame& frame) override;
  void row(const TimelineRow& row) override;
  void span(const TimelineRow& row, const TimelineSpan& span) override;
  void counter(const TimelineCounter& counter) override;
  void value(const TimelineCounter& counter, uint64_t ns, double value) override;
  void note(uint32_t chip, uint64_t ns, const std::string& text) override;
  void host_process(const HostProcess& process) override;
  void host_thread(const HostThread& thread) override;
  void host_plot(const HostPlot& plot) override;
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
  bool is_right(const FrameTextMaker& text, uint32_t number) const override;
  void frame_text(FrameTextMaker& text, uint32_t number, const FrameEvents& frame, uint64_t flow) override;

 private:
  class FramesText;
  static constexpr uint64_t kMostChips = 256;  // a chip is a process of its number and 1

  // A packet sequence and its track.
  struct Sequence {
    uint32_t id = 0;       // 0: not begun
    uint64_t base_ns = 0;  // what clock 64 counts from
    char head[8];          // the fields every packet of it has
    size_t head_bytes = 0;
    std::unique_ptr<InternedNames> names = std::make_unique<InternedNames>();
  };
  struct Chip {
    uint64_t track = 0;
    bool cycles = false;
    collect::ClockHead clock;
    std::map<std::pair<uint8_t, uint8_t>, uint64_t> cores;  // tracks
  };
  struct Lane {
    uint64_t track = 0;
    Sequence main, aside;
    std::atomic<bool> aside_begun = false;  // for other threads
  };
  struct Row {  // or a thread of the host side
    uint64_t track = 0;
    Sequence sequence;
  };
  struct Process {
    uint64_t track = 0, pid = 0;
  };

  using Texts = FrameTexts<Lane, ZoneLabel>;

  Output& out() { return texts_.at_once(); }
  void packet(const ProtoMessage& message);
  void begin_sequence(Sequence& sequence, const Chip& chip, uint64_t track, uint64_t base_ns);
  void put_clocks(uint32_t sequence, const Chip& chip, uint64_t ns, bool lane_clock);
  void begin_lane(const TimelineLane& lane, bool aside, uint64_t ns);
  // `number`: of a label in this sequence.
  void intern(Sequence& sequence, uint32_t number, const std::string& name, const std::string& file,
              uint32_t line) {
    if (sequence.names->has(number)) return;
    sequence.names->add(number);
    put_name(out(), sequence, number, name, file, line);
  }
  static void put_name(Output& to, const Sequence& sequence, uint32_t number, const std::string& name,
                       const std::string& file, uint32_t line);
  static char* put_head(char* at, const Sequence& sequence, uint64_t ns);
  // `cycles`: 0: not to be shown.
  static void put_end(Output& to, const Sequence& sequence, uint64_t ns, Flaw flaw, uint64_t cycles,
                      uint32_t bound_ns);
  void put_event(Output& to, const Sequence& sequence, const Texts::Frame& frame, const Texts::Step& step,
                 const StepExtra* extra) const;
  uint64_t declare(uint64_t parent, const std::string& name, uint32_t rank,
                   const std::string* unit = nullptr);
  void put_global(uint64_t ns, const ProtoMessage& event);
  void put_own(const Sequence& sequence, uint64_t ns, const ProtoMessage& event);
  Sequence& host_sequence(Row& of, uint64_t ns);
  Chip host_clock() const;
  void begin_globals();

  bool arguments_;
  std::map<uint32_t, Chip> chips_;
  std::deque<Lane> lanes_;  // by number; they stay where they are
  BegunLanes<Lane> begun_lanes_;
  std::vector<Row> rows_;           // by number
  std::vector<uint64_t> counters_;  // tracks, by number
  HostPids pids_{kMostChips};
  std::vector<Process> processes_;  // by number, as all below
  std::vector<Row> threads_, host_rows_;
  std::vector<uint64_t> host_plots_;  // tracks
  uint64_t next_track_ = 1;
  uint32_t next_sequence_ = 2;  // 1: descriptors, counters, losses
  bool globals_begun_ = false, clocks_known_ = false;
  Texts texts_;  // last: other threads read what is above
};

}  // namespace ttc::tools
