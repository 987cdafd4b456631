#include "tools/replay/replay.hpp"

#include <algorithm>
#include <chrono>
#include <thread>

#include "firmware_markers/frame.hpp"
#include "ttcollect/host_time.hpp"

namespace ttc::emulation {
namespace {

using namespace device;

constexpr auto kReplayStep = std::chrono::microseconds(20);
constexpr auto kClockStep = std::chrono::microseconds(50);  // how finely the clock follows at a given speed
// An observer that looks so often and fetches nothing has what it can get.
constexpr uint64_t kReplayPollsInVain = 1000;
// Polls of every core after which an observer that reads twice before it accepts words has finished.
constexpr uint64_t kReplayPollsToNotice = 24;
// The clock jumps between launches, and an observer that samples it now and then would take a jump for time
// in which it missed something. After a reset, where that matters, it gets the time for some samples.
constexpr uint64_t kNoticeClockNs = 25'000'000;
constexpr uint64_t kJumpNs = 1'000'000;
// An observer learns the size of the log from lanes other than the first: these are too few.
constexpr size_t kFewLanes = 3;

// Ethernet cores are examined a few times a second only; that, too, makes a poll worth more.
uint64_t polls_at(const WorldCore& core, uint64_t polls) {
  return core.kind == markers::CoreKind::tensix ? polls : std::max<uint64_t>(2, polls / 4);
}

}  // namespace

ReplayPlayer::ReplayPlayer(World& world, const ReplayPlan& plan, const ReplayOptions& options)
    : world_(world), plan_(plan), options_(options), pad_lanes_(plan.lanes() < kFewLanes) {
  for (const WorldCore& core : world.cores()) cores_[core.at] = {&core};
  for (const WorldCore& core : world.ethernet()) cores_[core.at] = {&core};
  for (const ReplayLaunch& l : plan.launches) cores_.at(l.core).used = true;
  schedule();
}

uint32_t ReplayPlayer::control(const Core& core, uint32_t word) const {
  return world_.card().load(core.where->at, core.where->control_address + 4 * word);
}
void ReplayPlayer::set_control(const Core& core, uint32_t word, uint32_t value) {
  world_.card().store(core.where->at, core.where->control_address + 4 * word, value);
}
void ReplayPlayer::set_buffer(const Core& core, uint32_t risc, uint32_t word, uint32_t value) {
  world_.card().store(core.where->at, world_.buffer_address(*core.where) + 4 * (risc * kBufferWords + word),
                      value);
}

// --- one launch --------------------------------------------------------------------------------------------

void ReplayPlayer::stamp(const Core& core, uint32_t risc, uint16_t trace_counter) {
  set_buffer(core, risc, kIdIdentity, world_.format().identity(risc, core.where->flat_id, trace_counter));
}

void ReplayPlayer::open(const Core& core, const ReplayLaunch& l) {
  const Format& f = world_.format();
  set_control(core, f.done, 0);
  if (control(core, f.run_counter) == 0) {
    for (uint32_t r = 0; r < core.where->riscs; ++r) {
      for (uint32_t w = 0; w < 4; ++w) set_buffer(core, r, w, 0);
      stamp(core, r, l.trace_counter);
    }
    set_control(core, f.noc_x, core.where->at.x);
    set_control(core, f.noc_y, core.where->at.y);
  }
  // If the id has 16 bits, it shares its word with the run counter.
  const uint32_t host_word = f.host_id.put(l.host_id) | (control(core, f.run_counter) & ~f.host_id.mask());
  for (uint32_t r = 0; r < core.where->riscs; ++r) {
    for (uint32_t w = kFwStartWord; w < kFirstCustomWord; ++w) set_buffer(core, r, w, kUnsetWord);
    set_buffer(core, r, kIdHost, host_word);
  }
}

void ReplayPlayer::write(const Core& core, uint32_t risc, const ReplayFrame& frame) {
  for (uint32_t w = 0; w < frame.slots.size(); ++w) set_buffer(core, risc, kFwStartWord + w, frame.slots[w]);
  for (uint32_t w = 0; w < frame.customs.size(); ++w)
    set_buffer(core, risc, kFirstCustomWord + w, frame.customs[w]);
}

void ReplayPlayer::post(const Core& core, uint32_t risc, uint32_t at, uint32_t words) {
  std::vector<uint32_t> copy(words);
  for (uint32_t w = 0; w < words; ++w)
    copy[w] = world_.card().load(core.where->at,
                                 world_.buffer_address(*core.where) + 4 * (risc * kBufferWords + w));
  const uint64_t slot = core.where->flat_id % world_.cores_per_bank() * kMaxRiscs + risc;
  world_.post(*core.where, risc, slot * world_.options().bytes_per_risc + 4ull * at, std::move(copy),
              at + words, {});
}

// Pushes as quick push does: the data, then the index.
void ReplayPlayer::push_in_run(const Core& core, const ReplayLaunch& l, uint32_t risc,
                               const ReplayFrame& frame) {
  const Format& f = world_.format();
  if (control(core, f.host_end + risc) + frame.words() > log_words()) host_read(false);
  write(core, risc, frame);
  stamp(core, risc, l.trace_counter);
  const uint32_t at = control(core, f.host_end + risc);
  post(core, risc, at, frame.words());
  set_control(core, f.host_end + risc, at + frame.words());
}

// RISC 0 pushes what every RISC has: the index, then the data. A RISC that sat the launch out is pushed as it
// was, with fresh slots (tt-metal kernel_profiler.hpp).
void ReplayPlayer::finish(const Core& core, const ReplayLaunch& l) {
  if (!fits(core, l)) host_read(false);
  const Format& f = world_.format();
  for (const ReplayLane& lane : l.lanes) {
    write(core, lane.risc, lane.frames.back());
    set_control(core, f.device_end + lane.risc, lane.frames.back().words());
  }
  for (uint32_t r = 0; r < core.where->riscs; ++r) {
    if (pad_lanes_ && control(core, f.device_end + r) == 0)
      set_control(core, f.device_end + r, kFirstCustomWord);
    const uint32_t words = control(core, f.device_end + r);
    if (words == 0) continue;
    stamp(core, r, l.trace_counter);
    const uint32_t at = control(core, f.host_end + r);
    set_control(core, f.host_end + r, at + words);
    post(core, r, at, words);
  }
  set_control(core, f.run_counter, control(core, f.run_counter) + 1);
  set_control(core, f.done, 1);
}

// Everything RISC 0 pushes at the end of this launch, RISCs that sat it out included.
bool ReplayPlayer::fits(const Core& core, const ReplayLaunch& l) const {
  const Format& f = world_.format();
  for (uint32_t r = 0; r < core.where->riscs; ++r) {
    uint32_t words = std::max(control(core, f.device_end + r), pad_lanes_ ? kFirstCustomWord : 0);
    for (const ReplayLane& lane : l.lanes)
      if (lane.risc == r) words = lane.frames.back().words();
    if (words && control(core, f.host_end + r) + words > log_words()) return false;
  }
  return true;
}

void ReplayPlayer::play(const Step& step) {
  const ReplayLaunch& l = *step.launch;
  Core& core = cores_.at(l.core);
  // While a run stays open, an observer that has not read the size of the log yet cannot get it.
  if (step.kind == Step::open && !l.finished() && launches_ > 0) wait_read();
  clock_to(step.at);
  let_notice_clock(core, step.at);
  switch (step.kind) {
    case Step::open:
      ++launches_;
      return open(core, l);
    case Step::push:
      return push_in_run(core, l, step.risc, *step.frame);
    case Step::finish:
      return finish(core, l);
  }
}

// --- all of them -------------------------------------------------------------------------------------------

void ReplayPlayer::append_steps(const ReplayLaunch& l, std::vector<Step>& steps) {
  steps.push_back({Step::open, l.begin, &l});
  const size_t first = steps.size();
  for (const ReplayLane& lane : l.lanes) {
    const size_t in_run = lane.frames.size() - (l.finished() ? 1 : 0);
    for (size_t i = 0; i < in_run; ++i) {
      const uint64_t into = (lane.frames[i].last_time - l.begin) & markers::kClockMask;
      steps.push_back({Step::push, l.begin + into, &l, lane.risc, &lane.frames[i]});
    }
  }
  std::stable_sort(steps.begin() + static_cast<ptrdiff_t>(first), steps.end(),
                   [](const Step& a, const Step& b) { return a.at < b.at; });
  if (l.finished()) steps.push_back({Step::finish, l.end, &l});
}

void ReplayPlayer::schedule() {
  std::map<card::Coord, uint64_t> latest;
  for (const ReplayLaunch& l : plan_.launches) {
    const size_t first = steps_.size();
    append_steps(l, steps_);
    for (size_t i = first; i < steps_.size(); ++i) {
      uint64_t& before = latest[l.core];
      before = steps_[i].at = std::max(before, steps_[i].at);
    }
  }
  std::stable_sort(steps_.begin(), steps_.end(), [](const Step& a, const Step& b) { return a.at < b.at; });
}

void ReplayPlayer::play(const std::atomic<bool>& stop) {
  stop_ = &stop;
  pace_host_ns_ = collect::monotonic_now_ns();
  pace_cycles_ = noticed_cycles_ = world_.card().clock();
  for (const Step& step : steps_) {
    if (stop) break;
    play(step);
  }
  host_read(true);
}

// --- clock and host ----------------------------------------------------------------------------------------

// Never back: launches overlap, and a launch's markers are only visible when it has ended.
void ReplayPlayer::clock_to(uint64_t cycles) {
  card::EmulatedCard& card = world_.card();
  const auto set = [&](uint64_t to) {
    if (const uint64_t now = card.clock(); to > now) card.advance_clock(to - now);
  };
  if (options_.speed > 0) {
    const double per_ns = options_.speed * static_cast<double>(options_.hz) / 1e9;
    const auto follow = [&] {
      return pace_cycles_ +
             static_cast<uint64_t>(static_cast<double>(collect::monotonic_now_ns() - pace_host_ns_) * per_ns);
    };
    for (uint64_t now = follow(); now < cycles && !*stop_; now = follow()) {
      set(now);
      world_.land_due();
      std::this_thread::sleep_for(kClockStep);
    }
  }
  set(cycles);
  world_.land_due();
}

// The first step of a core after a reset: an observer must have polled when the clock was about there, else
// it must report a possible loss.
void ReplayPlayer::let_notice_clock(Core& core, uint64_t at) {
  if (core.entered || host_reads_ == 0) return;
  core.entered = true;
  if (at <= noticed_cycles_ + kJumpNs * (options_.hz / 1'000'000) / 1000) return;
  wait_polls(4, kNoticeClockNs);
  noticed_cycles_ = world_.card().clock();
}

void ReplayPlayer::host_read(bool last) {
  world_.land_all();
  wait_read();
  wait_polls(kReplayPollsToNotice, 0);  // observers have also verified what they fetched
  for (auto& [at, core] : cores_) {
    for (uint32_t r = 0; r < core.where->riscs; ++r) {
      const uint32_t end = control(core, world_.format().host_end + r);
      const uint32_t read = world_.words_read(core.where->flat_id, r);
      unread_words_ += end > read ? end - read : 0;
    }
    world_.host_reset(*core.where);
    core.entered = false;
  }
  ++host_reads_;
  if (!last) wait_polls(kReplayPollsToNotice, 0);
  pace_host_ns_ = collect::monotonic_now_ns();  // the time that observers needed is not the workload's
  pace_cycles_ = world_.card().clock();
}

// --- waiting for another process ---------------------------------------------------------------------------

bool ReplayPlayer::wait(const std::function<bool()>& done) {
  while (!done()) {
    world_.land_due();
    if (*stop_ || !waits_) return false;
    const uint64_t now = collect::monotonic_now_ns();
    if (world_.card().observers() > 0)
      alone_since_ns_ = 0;
    else if (alone_since_ns_ == 0)
      alone_since_ns_ = now;
    else if (now - alone_since_ns_ > options_.no_observer_ns)
      return waits_ = false;
    if (!world_.writes_under_way()) std::this_thread::sleep_for(kReplayStep);
  }
  return true;
}

void ReplayPlayer::wait_read() {
  for (const auto& [at, core] : cores_) {
    if (!core.used) continue;
    const uint64_t enough = world_.card().control_reads(at) + polls_at(*core.where, kReplayPollsInVain);
    const auto read = [&, &at = at, &core = core] {
      if (world_.card().control_reads(at) > enough) return true;
      for (uint32_t r = 0; r < core.where->riscs; ++r)
        if (world_.words_read(core.where->flat_id, r) < control(core, world_.format().host_end + r))
          return false;
      return true;
    };
    if (!wait(read)) return;
  }
}

void ReplayPlayer::wait_polls(uint64_t polls, uint64_t at_least_ns) {
  const uint64_t until = collect::monotonic_now_ns() + at_least_ns;
  std::map<card::Coord, uint64_t> enough;
  for (const auto& [at, core] : cores_)
    if (core.used) enough[at] = world_.card().control_reads(at) + polls_at(*core.where, polls);
  for (const auto& [at, reads] : enough)
    if (!wait([&, &at = at, &reads = reads] { return world_.card().control_reads(at) >= reads; })) return;
  wait([&] { return collect::monotonic_now_ns() >= until; });
}

}  // namespace ttc::emulation
