// Makes rows of the bus from rows of a reader, with the ops' names from the host side. Pure.
#pragma once
#include <cstdint>

#include "tools/fleet/rows/host_side.hpp"
#include "tools/fleet/wire/batch.hpp"
#include "tools/tables/tables.hpp"

namespace ttc::fleet {

class RowMaker {
 public:
  // `host` must outlive this object.
  explicit RowMaker(const HostSide& host) : host_(host) {}

  // Takes one batch of a reader and adds its rows to `to` (Publisher); `op` is called for each op besides.
  template <class Sink, class Take>
  void take(const tools::Tables& tables, Sink& to, const Take& op) {
    for (const ttcollect_clock& c : tables.clocks) to.add(row_of(c));
    for (size_t i = 0; i < tables.ops.size(); ++i) {
      const OpRow row = row_of(tables.ops[i], tables.op_time_bounds[i]);
      to.add(row);
      op(row);
    }
    for (const ttcollect_loss& l : tables.losses) to.add(row_of(l));
    for (const ttcollect_telemetry& t : tables.telemetry) to.add(row_of(t));
  }

 private:
  static ClockRow row_of(const ttcollect_clock& clock);
  OpRow row_of(const ttcollect_op& op, uint32_t time_bound_ns) const;
  static LossRow row_of(const ttcollect_loss& loss);
  static TelemetryRow row_of(const ttcollect_telemetry& telemetry);

  const HostSide& host_;
};

}  // namespace ttc::fleet
