// Perfetto's native trace: a stream of TracePacket messages, written by field numbers (perfetto
// protos/perfetto/trace). Opened by ui.perfetto.dev and trace_processor.
//
//   tracks      chip (a process) -> core -> RISC, in an explicit order; beside a RISC its overlapping zones
//   sequences   one for each RISC, so that its track and its clock are defaults and a zone costs less
//   clock       nanoseconds since the RISC's first marker (clock 64 of its sequence), tied to
//               CLOCK_MONOTONIC_RAW by a snapshot at the rate 1; times before it are written in RAW itself
//   zones       begin and end events with interned name and source; host id and zone hash as arguments
//   others      data and events, flaws and losses are instants; counters belong to the chip
//
// Only whole packets are written at a time: a file is valid wherever it is cut between two of them, and a cut
// packet is the only one lost. Memory: a bit for each name and RISC.
#pragma once
#include "tools/viewers/protobuf.hpp"
#include "tools/viewers/timeline.hpp"

namespace ttc::tools {

class Perfetto : public TimelineWriter {
 public:
  Perfetto(Output& out, const FormatOptions& options) : out_(out), arguments_(options.arguments) {}

  void device(const Session& session) override;
  void clock_known(uint32_t chip, bool cycles, const collect::ClockHead& head) override;
  void lane(const TimelineLane& lane) override;
  void frame(const TimelineLane& lane, const TimelineFrame& frame) override;
  void counter(uint32_t chip, TimelineCounter which, uint64_t ns, double value) override;
  void loss(const TimelineLane& lane, const TimelineLoss& loss) override;
  void note(uint32_t chip, uint64_t ns, const std::string& text) override;
  void end() override {}

 private:
  // A packet sequence and its track.
  struct Sequence {
    uint32_t id = 0;       // 0: not begun
    uint64_t base_ns = 0;  // what clock 64 counts from
    char head[8];          // the fields every packet of it has
    size_t head_bytes = 0;
    std::vector<bool> names;  // interned in it
  };
  struct Chip {
    uint64_t track = 0;
    bool cycles = false;
    collect::ClockHead clock;
    uint64_t counters[4] = {};                              // tracks
    std::map<std::pair<uint8_t, uint8_t>, uint64_t> cores;  // tracks
  };
  struct Lane {
    uint64_t track = 0;
    Sequence main, aside;
  };

  void packet(const ProtoMessage& message);
  void begin_sequence(Sequence& sequence, const Chip& chip, uint64_t track, uint64_t base_ns);
  Sequence& sequence_of(const TimelineLane& lane, bool aside, uint64_t ns);
  void intern(Sequence& sequence, const ZoneLabel& label);
  char* put_head(char* at, const Sequence& sequence, uint64_t ns);
  void put_end(const Sequence& sequence, uint64_t ns, Flaw flaw);
  void put_event(Sequence& sequence, const TimelineFrame& frame, const ZoneStep& step,
                 const HostSemantics* semantics);
  void put_global(uint64_t ns, const ProtoMessage& event);
  void begin_globals();

  Output& out_;
  bool arguments_;
  std::map<uint32_t, Chip> chips_;
  std::vector<Lane> lanes_;  // by number
  uint64_t next_track_ = 1;
  uint32_t next_sequence_ = 2;  // 1: descriptors, counters, losses
  bool globals_begun_ = false;
};

}  // namespace ttc::tools
