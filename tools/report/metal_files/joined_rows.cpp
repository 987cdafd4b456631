#include "tools/report/metal_files/joined_rows.hpp"

#include <tuple>

#include "tools/report/text/record_sort.hpp"

namespace ttc::report {
namespace {

struct NumberedOp {
  HostOp op;
  uint64_t number = 0;
};
struct LaunchOrder {
  bool operator()(const NumberedOp& a, const NumberedOp& b) const {
    return std::tie(a.op.device, a.op.call_count, a.number) <
           std::tie(b.op.device, b.op.call_count, b.number);
  }
};
struct TimeOrder {
  bool operator()(const Joined& a, const Joined& b) const {
    return std::tie(a.at_ns, a.number, a.of_op) < std::tie(b.at_ns, b.number, b.of_op);
  }
};

class Joining {
 public:
  Joining(const DeviceRows& device, const HostLog& host, const RawTime& raw_ns, JoinSummary& summary)
      : host_(host), summary_(summary), rows_of_(device, ChipOwners(host), raw_ns) {}

  // One row for each launch or replay of the op, else one without device cells.
  void op(const HostOp& op, uint64_t number) {
    summary_.without_time += !op.start_ns;
    Joined row{op.start_ns.value_or(op.message_ns), number, 0, RowPlace::kNoDevice, nullptr, op, {}};
    const auto take = [&](const RowsOfLaunches::Place& place) {
      sorted_.add(with_device(row, place));
      ++row.of_op;
    };
    if (op.device && rows_of_.for_each(*op.device, op.call_count, op.trace_id, op.process, take) != 0) return;
    if (op.on_device && op.trace_id) {
      ++summary_.captured;
      return;
    }
    summary_.without_device += op.on_device;
    sorted_.add(row);
  }
  void signposts() {
    uint64_t number = host_.ops.size();
    for (const Signpost& s : host_.signposts)
      sorted_.add({s.ns, number++, 0, RowPlace::kNoDevice, &s, {}, {}});
  }
  Records<Joined> rows() {
    Records<Joined> rows;
    sorted_.drain([&](const Joined& row) { rows.push_back(row); });
    summary_.rows = rows.size();
    summary_.without_host = rows_of_.not_taken();
    summary_.of_any_process = rows_of_.of_any();
    return rows;
  }

 private:
  Joined with_device(Joined row, const RowsOfLaunches::Place& place) const {
    row.device = place.row;
    row.trace = place.trace ? place.trace : row.op.trace_id;
    if (!place.session || !row.trace) return row;
    const auto replays = host_.replays_ns.find({row.op.process, place.device, *row.trace});
    if (replays != host_.replays_ns.end() && *place.session <= replays->second.size() && *place.session > 0)
      row.at_ns = replays->second[*place.session - 1];
    return row;
  }

  const HostLog& host_;
  JoinSummary& summary_;
  RowsOfLaunches rows_of_;
  RecordSort<Joined, TimeOrder> sorted_;
};

}  // namespace

Records<Joined> join(const DeviceRows& device, const HostLog& host, const RawTime& raw_ns,
                     JoinSummary& summary) {
  RecordSort<NumberedOp, LaunchOrder> by_launch;
  uint64_t number = 0;
  for (const HostOp op : host.ops) by_launch.add({op, number++});
  Joining joining(device, host, raw_ns, summary);
  by_launch.drain([&](const NumberedOp& one) { joining.op(one.op, one.number); });
  joining.signposts();
  return joining.rows();
}

}  // namespace ttc::report
