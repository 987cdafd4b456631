// The data of one launch, its cores and its executions; and the parts of launches that are put aside.
//
// A log holds a launch in pieces: core after core, for every dump. What does not fit into memory is appended to a
// spill as a part and is joined with the other parts of its launch at the end, so that the result does not
// depend on how much memory there was.
//
// If a log does not number replays (13 columns), the same launch comes again under the same id: a piece that begins
// on a processor that has begun already belongs to the next execution, distinguished by time.
#pragma once
#include <bitset>
#include <functional>
#include <vector>

#include "tools/report/programs/device_op.hpp"
#include "tools/report/text/record_sort.hpp"

namespace ttc::report {

// One core in one execution.
struct CoreTime {
  uint8_t x = 0, y = 0;
  bool firmware = false;      // had a *-FW marker
  uint8_t riscs = 0;          // bit LogRisc: this processor had a *-FW start; bit kRiscs: an ERISC's twin
  uint8_t kernels = 0;        // the same, had a *-KERNEL marker
  Range kernel;               // of any marker of a *-KERNEL zone
  uint64_t dm_start = ~0ull;  // first ZONE_START of BRISC-KERNEL or NCRISC-KERNEL
  uint64_t last_end = 0;      // last ZONE_END of a *-KERNEL zone

  void add(const CoreTime& other);
};

struct Execution {
  DeviceOp op;  // what single cores add up to is filled in by OpBuilder's end
  std::vector<CoreTime> cores;
  std::bitset<256> met;  // of cores, by the low bits of their places; not set: the core is new

  // Null where the core has no entry.
  CoreTime* find(uint8_t x, uint8_t y);
  CoreTime& core(uint8_t x, uint8_t y);
  // Cycles between its zones and `span`; 0 where it has none yet.
  uint64_t distance(const Range& span) const;
  // `other` is a part of the same execution.
  void add(const Execution& other);
  size_t bytes() const { return sizeof *this + cores.capacity() * sizeof(CoreTime); }
};

// The executions of a launch in order of appearance; never empty.
struct Program {
  std::vector<Execution> executions;

  // The execution that something within `span` belongs to: the nearest in time for which `begun` is false. A
  // new one where none is near.
  template <class Begun>
  Execution& execution_at(const Range& span, const Begun& begun) {
    if (executions.size() == 1 && !begun(executions.front())) return executions.front();
    Execution* best = nullptr;
    uint64_t nearest = kFar;
    for (Execution& e : executions) {
      if (begun(e)) continue;
      const uint64_t away = e.distance(span);
      if (away >= nearest) continue;
      nearest = away;
      best = &e;
    }
    return best ? *best : begin_execution();
  }
  void add(const Program& part);
  size_t bytes() const;

 private:
  static constexpr uint64_t kFar = 1'000'000;  // cycles; replays of one program are no nearer than its length
  Execution& begin_execution();
};

// Parts of programs in a spill.
class ProgramParts {
 public:
  // Throws std::runtime_error, as Spill does.
  void put(const Program& part);
  bool empty() const { return number_ == 0; }
  // Hands over every program, joined of its parts, in order of chip, host id, trace id and trace counter.
  void drain(const std::function<void(Program&)>& take);

 private:
  struct Part {
    Launch launch;
    uint64_t number, place;  // of put(), in the spill
    uint32_t executions;
  };
  struct InOrder {
    bool operator()(const Part& a, const Part& b) const;
  };
  Program read(const Part& part);

  Spill bytes_;
  RecordSort<Part, InOrder> parts_;
  uint64_t number_ = 0;
};

}  // namespace ttc::report
