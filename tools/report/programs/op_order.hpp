// The programs of a run in order of chip and start, with what only their neighbours show: gaps, and which
// replay of its trace each one is. They are sorted in a spill (text/record_sort.hpp), so that memory does not
// grow with them; but of every replay whose trace id is not known (captures) 8 bytes are kept.
#pragma once
#include <functional>
#include <map>
#include <tuple>
#include <vector>

#include "tools/report/programs/device_op.hpp"
#include "tools/report/text/record_sort.hpp"

namespace ttc::report {

using DeviceOps = Records<DeviceOp>;

class OpOrder {
 public:
  void add(const DeviceOp& op);
  // The added programs in order, with `gap_ns`, `dm_gap_ns` and `session`. `mhz` by chip.
  DeviceOps ordered(const std::function<uint32_t(uint32_t chip)>& mhz);

 private:
  struct Found {
    DeviceOp op;
    uint64_t start, number;
  };
  struct Earlier {
    bool operator()(const Found& a, const Found& b) const {
      return std::tie(a.op.launch.chip, a.start, a.number) < std::tie(b.op.launch.chip, b.start, b.number);
    }
  };
  uint32_t session_of(const Launch& launch) const;

  RecordSort<Found, Earlier> found_;
  uint64_t number_ = 0;
  std::map<std::pair<uint32_t, uint32_t>, std::vector<int64_t>> replays_;  // counters by chip and program
};

}  // namespace ttc::report
