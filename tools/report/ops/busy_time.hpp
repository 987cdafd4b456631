// How long devices were busy: of every device the union of [firmware end - kernel time, firmware end] of its
// ops. Intervals are sorted in a spill (text/record_sort.hpp), so that memory does not grow with ops.
#pragma once
#include <cstdint>
#include <map>
#include <tuple>
#include <vector>

#include "tools/report/ops/op_row.hpp"
#include "tools/report/programs/device_row.hpp"
#include "tools/report/text/record_sort.hpp"

namespace ttc::report {

struct Busy {  // us
  double busy_us = 0, span_us = 0, sum_us = 0;
  // The true times lie within so much of them; absent: a clock does not cover all of it.
  Number busy_bound_us, span_bound_us;
};

class BusyTime {
 public:
  // `clock`: of the table that the ops are of; null: none. `time`: what their durations are.
  explicit BusyTime(const DurationClock* clock = nullptr, TimeOf time = TimeOf::device)
      : clock_(clock), time_(time) {}

  void add(const OpRow& op);
  // Consumes what was added.
  std::map<uint32_t, Busy> by_device();

 private:
  struct Known {
    Busy busy;
    double origin = -1;  // cycles: the first firmware end
    bool placed = true;  // every op that has a duration also has a time
  };
  struct Span {
    uint32_t device;
    uint64_t from, to;  // cycles
    double begin, end;  // ns, from the origin
    uint64_t seen_ns;
  };
  struct Earlier {
    bool operator()(const Span& a, const Span& b) const {
      return std::tie(a.device, a.from, a.to, a.begin) < std::tie(b.device, b.from, b.to, b.begin);
    }
  };
  class Union;

  const DurationClock* clock_;
  TimeOf time_;
  std::map<uint32_t, Known> known_;
  RecordSort<Span, Earlier> spans_;
};

// `ops` must be of one device.
Busy busy_time(const std::vector<const OpRow*>& ops, const DurationClock* clock = nullptr,
               TimeOf time = TimeOf::device);

}  // namespace ttc::report
