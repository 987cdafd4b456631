// How long devices were busy: of every device the union of [firmware end - kernel time, firmware end] of its
// ops. Intervals are sorted in a spill (text/record_sort.hpp), so that memory does not grow with ops.
#pragma once
#include <cstdint>
#include <map>
#include <tuple>
#include <vector>

#include "tools/report/ops/op_row.hpp"
#include "tools/report/text/record_sort.hpp"

namespace ttc::report {

struct Busy {  // us
  double busy_us = 0, span_us = 0, sum_us = 0;
};

class BusyTime {
 public:
  void add(const OpRow& op);
  // Consumes what was added.
  std::map<uint32_t, Busy> by_device();

 private:
  struct Known {
    Busy busy;
    double origin = -1;  // cycles: the first firmware end
  };
  struct Span {
    uint32_t device;
    double begin, end;  // ns, from the origin
  };
  struct Earlier {
    bool operator()(const Span& a, const Span& b) const {
      return std::tie(a.device, a.begin, a.end) < std::tie(b.device, b.begin, b.end);
    }
  };
  std::map<uint32_t, Known> known_;
  RecordSort<Span, Earlier> spans_;
};

// Of the ops of one device.
Busy busy_time(const std::vector<const OpRow*>& ops);

}  // namespace ttc::report
