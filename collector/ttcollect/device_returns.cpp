// Waiting while there is no log to drain: for a card that was reset, or for a workload whose firmware is gone.
#include <algorithm>

#include "collector/attach/attach.hpp"
#include "collector/ttcollect/device_run.hpp"
#include "ttcollect/host_time.hpp"

namespace ttc::collect {
namespace {

using card::Access;
using card::Health;

constexpr uint64_t kTryWorkloadNs = 50'000'000;  // while no profiler is there
constexpr uint64_t kTryAgainNs = 100'000'000;    // while a card is away

}  // namespace

// The windows and mappings of this process must be freed before the card is reset.
void DeviceRun::let_card_go() {
  if (card_) earlier_suspicions_ = suspicions();
  names_.reset();
  drain_.reset();
  if (recycling_) recycle_account_ = recycling_->account;
  recycling_.reset();
  options_.drain.seen = nullptr;
  clock_.reset();
  if (sampler_) options_.sampler.first_era = sampler_->next_era();
  sampler_.reset();
  logs_.reset();
  loop_.reset();
  card_.reset();
}

// The card stays, and its clock is followed on.
void DeviceRun::let_workload_go() {
  names_.reset();
  drain_.reset();
  if (recycling_) recycle_account_ = recycling_->account;
  recycling_.reset();
  logs_.reset();
}

// Costs what polling an idle core does: one tile is read every kTryWorkloadNs. `reloaded`: the profiler was attached to.
DeviceRun::End DeviceRun::await_workload() {
  uint64_t next_try = 0;
  for (;;) {
    const uint64_t now = monotonic_now_ns();
    segment_->heartbeat(now);
    if (card_->health() == Health::gone) return End::gone;
    if (card_->health() == Health::leaving) return End::leaving;
    if (clock_ && clock_->poll(now) == Access::gone) return End::gone;
    if (now >= next_try) {
      if (try_attach_again()) return End::reloaded;
      next_try = monotonic_now_ns() + kTryWorkloadNs;
    }
    const uint64_t due = clock_ ? std::min(next_try, clock_->next_due_ns()) : next_try;
    const uint64_t after = monotonic_now_ns();
    const Events events = loop_->wait(due > after ? due - after : 0);
    if (events.signal) return End::halted;
    if (events.hangup && card_->health() == Health::gone) return End::gone;
  }
}

bool DeviceRun::try_attach_again() {
  const auto tiles = card_->tiles();
  const auto tensix = std::find_if(tiles.begin(), tiles.end(), [](const card::Tile& t) {
    return t.kind == card::TileKind::tensix && !t.harvested;
  });
  const markers::Layout* only = options_.layout.empty() ? nullptr : markers::layout_by_name(options_.layout);
  if (tensix == tiles.end() || !shows_profiler(*card_, tensix->at, only)) return false;
  try {
    attachment_ = collect::attach(*card_, {only, options_.mode, true});
    return true;
  } catch (const AttachError&) {
    return false;  // the host is still writing its vectors
  }
}

// False: halted before the card was back and its profiler running.
bool DeviceRun::await_return() {
  std::string unused;
  const auto waiting = make_event_loop(halt_.fd(), -1, true, unused);
  const std::string awaited = result_.identity.live_name;
  std::string noted;
  while (!halt_.why()) {
    std::string why;
    try {
      attach_once();
      // What is leaving would be gone at any moment, as if unannounced.
      const Health health = card_->health();
      if (card_->identity().live_name != awaited)
        why = "another card is there now (" + card_->identity().live_name + " instead of " + awaited + ")";
      else if (health == Health::ok)
        return true;
      else
        why = health == Health::leaving ? "the card is still leaving" : "the card went away again";
    } catch (const card::OpenError& e) {
      why = e.what();
    } catch (const AttachError& e) {
      why = e.what();
    }
    card_.reset();
    if (why != noted) note("not yet: " + why);
    noted = why;
    segment_->heartbeat(monotonic_now_ns());
    if (waiting->wait(kTryAgainNs).signal) break;
  }
  return false;
}

}  // namespace ttc::collect
