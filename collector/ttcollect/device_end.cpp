// The last sweeps of a card whose collecting ends.
#include "collector/ttcollect/device_run.hpp"
#include "ttcollect/host_time.hpp"

namespace ttc::collect {
namespace {

using card::Access;

constexpr int kLastSweeps = 4;      // settling takes two polls
constexpr int kLastSearches = 600;  // sweeps that a search for the size of the logs takes at most
// Further sweeps follow where one takes a part of what waits; if the workload continues, for so long.
constexpr uint64_t kLastPartsNs = 1'000'000'000;

}  // namespace

// What became visible until now is still taken, also what settles only on a second poll.
DeviceRun::End DeviceRun::take_what_is_visible(End end) {
  const uint64_t last_parts_ns = monotonic_now_ns() + kLastPartsNs;
  int again = kLastSweeps, searches = 0;
  for (int i = 0; i < kLastSweeps; ++i) {
    if (again-- > 0) card_->try_again();  // also tiles that are left alone, these few times
    const uint64_t now_ns = monotonic_now_ns(), frames = drain_->frames();
    const bool gone = drain_->sweep(now_ns, true) == Access::gone;
    const bool took_a_part = drain_->took_a_part() && drain_->frames() != frames;
    if (took_a_part && (end == End::leaving || now_ns < last_parts_ns)) i = -1;
    if (drain_->recycling_under_way()) i = -1;  // it ends within its patience
    if (drain_->skipped_words()) i = -1;        // a log ends
    if (drain_->region_size().searching() && ++searches <= kLastSearches) i = -1;
    loop_->wait(options_.drain.busy_interval_ns);
    if (gone) return End::gone;
  }
  return end;
}

}  // namespace ttc::collect
