// Is the firmware on the card still the one that was attached to?
//
// A workload that opens the device loads firmware: L1 is cleared, then the host writes the DRAM address, the flat id and the
// cores per bank into every control vector, with indices and counts of 0 (tt-metal impl/profiler/profiler.cpp). Another build has
// its vector elsewhere. What the drain reads by the old layout is then meaningless, so these rules hold:
//
//   - The first words of an epoch are read only after the vector showed the attached firmware's identity: every firmware begins
//     with indices of 0, which is the begin of an epoch for the drain.
//   - After a poll that missed its deadline nothing is concluded from L1 before that: what ran meanwhile left its marks there, and
//     other firmware clears them.
//   - Without any news one core's vector is read every kCheckEveryNs, in turn.
//
// Firmware that is loaded within that time, with the same identity words and before the host read results for the first
// time, is taken for the same firmware after a host reset. Opening a device takes seconds.
#include "collector/drain/drain.hpp"

namespace ttc::collect {
namespace {

using card::Access;
using shm::LossCause;

constexpr uint64_t kCheckEveryNs = 50'000'000;
constexpr uint64_t kNever = ~uint64_t{0};

}  // namespace

Access Drain::check_firmware(CoreState& core) {
  const auto now = reader_.identity(core.core);
  if (!now) return now.error();
  const bool same = now->dram_address == attachment_.dram_base && now->flat_id == core.core.flat_id &&
                    now->core_count_per_dram == attachment_.core_count_per_dram;
  // A results read sets these words; only a host that sets the profiler up clears them.
  firmware_changed_ = firmware_changed_ || !same || (core.firmware.read_by_host && !now->read_by_host);
  core.firmware.read_by_host = now->read_by_host;
  core.firmware.proven = !firmware_changed_;
  return Access::ok;
}

Access Drain::check_one_core_now_and_then() {
  const uint64_t now = reader_.now_ns();
  if (now - firmware_checked_ns_ < kCheckEveryNs || cores_.empty()) return Access::ok;
  firmware_checked_ns_ = now;
  for (size_t i = 0; i < cores_.size(); ++i) {
    CoreState& core = cores_[next_to_check_++ % cores_.size()];
    if (core.core.kind == markers::CoreKind::tensix && !core.recycling.under_way) return check_firmware(core);
  }
  return Access::ok;
}

void Drain::close_workload() {
  const uint64_t now_ns = reader_.now_ns();
  const uint64_t now_cycles = cycles_at(now_ns);
  const ControlSample none;  // of its indices nothing can be read any more
  for (CoreState& core : cores_) {
    const bool in_time = at_most_one_reset_since_known(core, now_ns);
    core.rewind.noticed_ns = now_ns;
    core.rewind.after_ns = core.polls.before_ns;
    const RecycleState& recycling = core.recycling;
    const Access access = take_what_was_reset(core, none);
    for (uint32_t r = 0; r < core.core.riscs; ++r) {
      if (recycling.under_way) account_unresolved(core, r, *recycling.under_way);
      const bool accumulates = kind_of(core).accumulates;
      publish_rest(core, r, core.lanes[r].l1.rest,
                   accumulates ? core.lanes[r].l1.joins : prove_l1_tail({.last_of_replay = true}));
    }
    core.account.begin_epoch(prove_reset(core, in_time && access == Access::ok, false));
    core.account.end_at(now_cycles);
    core.visits.due_ns = kNever;
  }
  losses_.report_open();
  report_losses();
  store_counters();
  publisher_.end_sweep();
}

}  // namespace ttc::collect
