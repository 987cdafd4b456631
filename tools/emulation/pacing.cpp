#include "tools/emulation/pacing.hpp"

#include <algorithm>
#include <chrono>
#include <thread>

#include "ttcollect/host_time.hpp"

namespace ttc::emulation {
namespace {

constexpr auto kWaitStep = std::chrono::microseconds(20);
// Polls of a core's vector that make some visits: an observer accepts a value after two reads of it, and polls twice
// after a reset.
constexpr uint32_t kPollsToNotice = 24;
// Of an Ethernet core. Its first words are delivered when they look the same at a later poll, and each poll reads the vector some four
// times, some of them behind the words.
constexpr uint32_t kPollsOfEthernetToNotice = 16;
// The workload continues after so many polls without a fetch: the observer does not fetch what is left.
constexpr uint64_t kPollsInVain = 400;
// Before the first launch after a reset: nothing can then have happened unseen in between.
constexpr uint64_t kPollsBeforeLaunch = 4;
constexpr uint64_t kCloselyNs = 500'000;
// A core that observers poll less often than this in so long is on a tile that they leave alone, and try now and then: it is not
// waited for.
constexpr uint64_t kLeftAloneNs = 5'000'000'000, kPollsOfATileInUse = 6;

// Ethernet cores are polled a few times a second only, so that one poll of theirs counts for several.
uint64_t polls_at(const EmulatedCore& core, uint64_t polls) {
  return core.where().kind == markers::CoreKind::tensix ? polls : std::max<uint64_t>(2, polls / 4);
}

}  // namespace

bool Pacing::wait_step() {
  world_.land_due();
  if (*stop_ || world_.card().lost()) return false;
  const uint64_t now = collect::monotonic_now_ns();
  if (world_.card().observers() > 0)
    alone_since_ns_ = 0;
  else if (alone_since_ns_ == 0)
    alone_since_ns_ = now;
  else if (now - alone_since_ns_ > no_observer_ns_)
    return on_ = false;
  if (world_.writes_under_way()) return true;  // they land when they are due, not when a sleep is over
  std::this_thread::sleep_for(kWaitStep);      // the workload's own pace, waiting for another process
  return true;
}

// Lets some time pass until observers have polled the core. False: stop waiting.
bool Pacing::waits_for(const EmulatedCore& core) {
  const uint64_t polls = world_.card().control_reads(core.where().at), now = collect::monotonic_now_ns();
  LastPoll& last = last_polls_.try_emplace(&core, LastPoll{polls, now}).first->second;
  const bool alone = world_.card().observers() == 0;  // wait_step() limits that
  if (alone || polls >= last.polls + kPollsOfATileInUse) last = {polls, now};
  return now - last.seen_ns < kLeftAloneNs && wait_step();
}

void Pacing::before_launch(const EmulatedCore& core) {
  if (on_ && first_after_read_ && !at_once_) wait_polls(core, polls_at(core, kPollsBeforeLaunch));
}

void Pacing::wait_unread(size_t at_most) {
  for (EmulatedCore* core : cores_) {
    const uint64_t enough = world_.card().control_reads(core->where().at) + polls_at(*core, kPollsInVain);
    while (core->unread_programs() > at_most) {
      if (world_.card().control_reads(core->where().at) > enough) core->forget_unread();
      if (waits_for(*core)) continue;
      core->forget_unread();
      break;
    }
  }
}

void Pacing::wait_polls(const EmulatedCore& core, uint64_t polls) {
  const auto count = [&] { return world_.card().control_reads(core.where().at); };
  for (uint64_t enough = count() + polls;;) {
    const uint64_t before_ns = collect::monotonic_now_ns();
    if (!waits_for(core)) return;
    // The next step must follow a poll closely. If this thread was kept waiting, that is not certain.
    if (count() >= enough && collect::monotonic_now_ns() - before_ns < kCloselyNs) return;
    if (count() >= enough) enough = count() + 1;
  }
}

// A paced card gives observers the time for some polls of every core; silicon would not.
void Pacing::wait_noticed() {
  std::vector<uint64_t> polls_before;
  for (EmulatedCore* core : cores_) polls_before.push_back(world_.card().control_reads(core->where().at));
  size_t i = 0;
  for (EmulatedCore* core : cores_) {
    const bool tensix = core->where().kind == markers::CoreKind::tensix;
    const uint64_t enough = polls_before[i++] + (tensix ? kPollsToNotice : kPollsOfEthernetToNotice);
    while (world_.card().control_reads(core->where().at) < enough && waits_for(*core)) {
    }
  }
}

void Pacing::host_read(bool last) {
  if (on_) {
    world_.land_all();
    wait_unread(0);
    wait_noticed();  // the observer has also verified what it fetched
  }
  while (!world_.host_may_reset() && wait_step()) {
  }
  world_.land_all();  // the host reads after the writes have arrived
  std::vector<WorldCore> all;
  for (const EmulatedCore* core : cores_) all.push_back(core->where());
  world_.results_read(all);
  ++host_reads_;
  first_after_read_ = true;
  if (on_ && !last && !at_once_) wait_noticed();
}

}  // namespace ttc::emulation
