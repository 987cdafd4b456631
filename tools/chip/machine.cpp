#include "tools/chip/machine.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <utility>

#include "tools/chip/event_queue.hpp"
#include "tools/chip/machine_state.hpp"

namespace ttc::chip {
namespace {

constexpr Cycles kGoLatency = 150;  // from the dispatcher to a core, without hops
constexpr Cycles kRiscStart = 12;   // BRISC starts the others one after another
// BRISC reads the launch message and sets the core up, and in the end tidies it: what FW zones last longer than the kernels in them in
// published tables of ops, 400 to 1000 ns of most (README of ttemu).
constexpr Cycles kTakeLaunch = 260;
constexpr Cycles kTakeLaunchSpread = 120;  // by core and program
constexpr Cycles kWrapUp = 110;
constexpr Cycles kPushOfALog = 30;       // BRISC appends one RISC's buffer to its log
constexpr Cycles kLoopCycles = 4;        // one turn
constexpr size_t kMomentsOfACore = 512;  // an ordinary program's

class Machine {
 public:
  Machine(const Shape& shape, const ChipProgram& program, Cycles go, uint64_t seed, bool note_buffers,
          Sizes expected)
      : shape_(shape), program_(program), note_buffers_(note_buffers), channels_(shape.channels) {
    place_of_.assign(shape.cores.size(), kNoCore);
    for (size_t c = 0; c < program.cores.size(); ++c)
      place_of_[program.cores[c].core] = static_cast<uint16_t>(c);
    cores_.resize(program.cores.size());
    const size_t ordinary = program.cores.size() * kMomentsOfACore;
    out_.moments.reserve(expected.moments != 0 ? expected.moments : ordinary);
    out_.steps.reserve(expected.steps != 0 ? expected.steps : ordinary);
    const uint32_t go_moment = add({go, kNoCause, kNoCore, 0, Why::begin, 0});
    for (size_t c = 0; c < program.cores.size(); ++c) prepare(static_cast<uint16_t>(c), go, go_moment, seed);
  }

  Timeline run() {
    while (!events_.empty()) {
      const EventQueue::Event event = events_.pop();
      if (event.what >= threads_.size())
        deliver(deliveries_[event.what - threads_.size()], event.at);
      else
        resume(event.what);
    }
    report_delays_and_races();
    for (const Thread& t : threads_) {
      if (t.phase == Phase::over) continue;
      const auto later = [](const Moment& a, const Moment& b) { return a.at < b.at; };
      out_.last = static_cast<uint32_t>(std::max_element(out_.moments.begin(), out_.moments.end(), later) -
                                        out_.moments.begin());
      for (const Thread& each : threads_)
        if (each.code != nullptr || each.risc == brisc)
          out_.standing.push_back({each.shape_core, each.risc, standing_of(each)});
      throw Deadlock(sentence_about(t), std::move(out_));
    }
    return std::move(out_);
  }

 private:
  void prepare(uint16_t c, Cycles go, uint32_t go_moment, uint64_t seed) {
    Core& core = cores_[c];
    core.first_thread = static_cast<uint32_t>(threads_.size());
    for (uint8_t r = 0; r < kRiscs; ++r) {
      Thread t;
      t.core = c, t.risc = r, t.shape_core = program_.cores[c].core;
      const int16_t code = program_.cores[c].code[r];
      t.code = code < 0 ? nullptr : &program_.codes[static_cast<size_t>(code)];
      t.dice = mixed(seed ^ mixed(uint64_t{program_.cores[c].core} * kRiscs + r));
      t.turn = static_cast<uint32_t>(program_.cores[c].core + 5u * r);
      threads_.push_back(t);
    }
    const Place at = shape_.cores[program_.cores[c].core];
    Thread& master = threads_[core.first_thread];
    master.now = go + kGoLatency + shape_.hop * (at.x + at.y);
    set_moment(master, add(master, master.now, go_moment, Why::go));
    master.phase = Phase::launch;
    schedule(core.first_thread);
  }

  // --- moments

  uint32_t add(const Moment& m) {
    std::vector<Moment>& all = out_.moments;
    if (all.size() == all.capacity()) [[unlikely]]
      all.reserve(2 * all.size() + 1);
    all.push_back(m);
    return static_cast<uint32_t>(all.size() - 1);
  }
  uint32_t add(const Thread& t, Cycles at, uint32_t cause, Why why, uint8_t what = 0) {
    return add({at, cause, t.shape_core, t.risc, why, what});
  }
  // The RISC is there now.
  static void set_moment(Thread& t, uint32_t moment) {
    t.moment = moment;
    t.moment_at = t.now;
  }
  // A moment of the RISC now: the time since its last moment was its own work.
  uint32_t here(Thread& t) {
    if (t.moment_at != t.now) set_moment(t, add(t, t.now, t.moment, Why::work));
    return t.moment;
  }
  void step(const Thread& t, Act act, uint8_t zone = 0) {
    out_.steps.push_back({t.now, t.shape_core, t.risc, act, zone});
  }
  void marker(Thread& t, Act act, uint8_t zone = 0) {
    step(t, act, zone);
    t.now += kMarkerCycles;
  }

  // --- events

  void schedule(uint32_t thread) { events_.push(threads_[thread].now, thread); }
  void wake(uint32_t thread, Cycles at, uint32_t cause, Why why) {
    Thread& t = threads_[thread];
    t.blocked = false;
    t.now = std::max(t.now, at + kPollCycles);
    set_moment(t, add(t, t.now, cause, why, t.waits_for));
    schedule(thread);
  }
  void resume(uint32_t thread) {
    Thread& t = threads_[thread];
    while (go_on(t, thread))
      if (events_.next_at() <= t.now && !is_private(t)) return schedule(thread);
  }
  // The next action concerns this RISC alone, so it need not wait its turn.
  static bool is_private(const Thread& t) {
    if (t.phase != Phase::body || t.pc == t.code->size()) return false;
    switch ((*t.code)[t.pc].what) {
      case Do::spin:
      case Do::barrier:
      case Do::loop:
      case Do::loop_end:
        return true;
      default:
        return false;
    }
  }

  // Does what comes next. False: it waits or is over.
  bool go_on(Thread& t, uint32_t thread) {
    Core& core = cores_[t.core];
    switch (t.phase) {
      case Phase::launch:
        marker(t, Act::launch);
        t.dice = mixed(t.dice);
        t.now += kTakeLaunch + t.dice % (kTakeLaunchSpread + 1);
        t.phase = Phase::start;
        return true;
      case Phase::start:
        start_others(t, core);
        t.phase = Phase::kernel;
        return true;
      case Phase::fw:
        marker(t, Act::fw_start);
        t.phase = Phase::kernel;
        return true;
      case Phase::kernel:
        kernel_start(t);
        return true;
      case Phase::body:
        if (t.pc == t.code->size()) {
          t.phase = Phase::kernel_end;
          return true;
        }
        if (is_checked_first(t, core, (*t.code)[t.pc])) return true;
        return execute(t, thread, (*t.code)[t.pc++]);
      case Phase::kernel_end:
        marker(t, Act::kernel_end);
        t.phase = t.risc == brisc ? Phase::riscs : Phase::fw_end;
        return true;
      case Phase::riscs:
        t.phase = Phase::wrap_up;
        if (core.riscs_running == 0) return true;
        core.master = thread;
        t.blocked = true;
        return false;
      case Phase::wrap_up:
        t.now += kWrapUp;
        t.phase = Phase::fw_end;
        return true;
      case Phase::fw_end:
        if (t.risc == brisc) report_dispatcher(t);
        marker(t, Act::fw_end);
        t.phase = t.risc == brisc ? Phase::push : Phase::over;
        if (t.risc != brisc) risc_done(t, core);
        return t.risc == brisc;
      case Phase::push:
        t.now += kPushOfALog * kRiscs;
        t.phase = Phase::finish;
        return true;
      case Phase::finish:
        step(t, Act::finish);
        t.phase = Phase::over;
        return false;
      case Phase::over:
        return false;
    }
    return false;
  }
  void kernel_start(Thread& t) {
    if (!t.code) {
      t.phase = t.risc == brisc ? Phase::riscs : Phase::fw_end;
      return;
    }
    marker(t, Act::kernel_start);
    t.phase = Phase::body;
  }
  void start_others(Thread& master, Core& core) {
    for (uint32_t r = 1; r < kRiscs; ++r) {
      Thread& t = threads_[core.first_thread + r];
      if (!t.code) continue;
      master.now += kRiscStart;
      t.now = master.now;
      set_moment(t, here(master));
      t.phase = Phase::fw;
      ++core.riscs_running;
      schedule(core.first_thread + r);
    }
  }
  void risc_done(Thread& t, Core& core) {
    const uint32_t moment = here(t);
    if (--core.riscs_running == 0 && core.master != kNobody)
      wake(std::exchange(core.master, kNobody), t.now, moment, Why::riscs);
  }
  void report_dispatcher(Thread& t) {
    const Place at = shape_.cores[t.shape_core];
    const uint32_t done = add(t, t.now + kGoLatency + shape_.hop * (at.x + at.y), here(t), Why::done);
    if (out_.last == kNoCause || out_.moments[done].at > out_.moments[out_.last].at) out_.last = done;
  }

  // --- programs

  bool execute(Thread& t, uint32_t thread, const Instruction& i) {
    switch (i.what) {
      case Do::zone_begin:
        marker(t, Act::zone_begin, i.a);
        return true;
      case Do::zone_end:
        marker(t, Act::zone_end, i.a);
        return true;
      case Do::spin:
        spin(t, i);
        return true;
      case Do::read:
      case Do::write:
        transfer(t, i.n, i.what == Do::read);
        return true;
      case Do::send:
        send(t, i.a, i.n);
        return true;
      case Do::barrier:
        if (t.arrived > t.now) {
          t.now = t.arrived;
          set_moment(t, add(t, t.now, t.arrived_after, Why::latency));
        }
        return true;
      case Do::signal:
        signal(t, i);
        return true;
      case Do::await:
        return await(t, thread, i);
      case Do::reserve:
      case Do::front:
        return wait_for_buffer(t, thread, i);
      case Do::push:
      case Do::pop:
        move_block(t, i);
        return true;
      case Do::post:
        post(t, i);
        return true;
      case Do::look:
      case Do::clear:
        take(t, i);
        return true;
      case Do::loop:
        begin_loop(t, i);
        return true;
      case Do::loop_end:
        end_loop(t);
        return true;
    }
    return true;
  }

  void spin(Thread& t, const Instruction& i) {
    if (i.a == 1) {
      t.now += i.n;
      return;
    }
    t.dice = mixed(t.dice);
    const double off = static_cast<double>(t.dice >> 11) / static_cast<double>(uint64_t{1} << 53) * 2 - 1;
    t.now += static_cast<Cycles>(std::llround(i.n * (1 + program_.jitter * off)));
  }

  enum Command : uint8_t { reads, writes, atomics, none };
  Command command_of(const Thread& t, const Instruction& i) const {
    const auto to = [&] { return program_.cores[t.core].group[i.a].size(); };
    switch (i.what) {
      case Do::read:
        return reads;
      case Do::write:
        return writes;
      case Do::send:
      case Do::post:
        return to() == 0 ? none : writes;
      case Do::signal:
        return to() == 0 ? none : to() == 1 ? atomics : writes;
      default:
        return none;
    }
  }
  // The watcher's work before a NoC command: a moment of its own, since others may issue theirs meanwhile. False: it
  // does nothing, or it is done.
  bool is_checked_first(Thread& t, Core& core, const Instruction& i) {
    const Watched& w = shape_.watched;
    if (w.check + w.delay == 0 || std::exchange(t.checked, false)) return false;
    const Command command = command_of(t, i);
    if (command == none) return false;
    t.checked = true;
    t.now += w.check;
    if (w.delay == 0 || w.masks.empty() || (w.masks[t.shape_core][command] >> t.risc & 1) == 0) return true;
    here(t);
    t.now += w.delay;
    set_moment(t, add(t, t.now, t.moment, Why::delay));
    ++core.delayed[command];
    return true;
  }
  void report_delays_and_races() {
    for (const Core& core : cores_)
      for (const Race& race : core.race)
        if (race.from != kNoCore && race.to != kNoCore) out_.races.push_back(race);
    for (size_t c = 0; c < cores_.size(); ++c)
      for (uint8_t command = 0; command < kCommands; ++command)
        if (const uint32_t times = cores_[c].delayed[command])
          out_.delayed.push_back({program_.cores[c].core, command, times});
  }

  // A thread uses a resource from `from` on, in the order of requests: behind its last user.
  void use(const Thread& t, Resource& r, const Resource& from, double rate, uint32_t bytes, Why why,
           uint8_t what) {
    const bool taken = r.moment != kNoCause && r.free > from.free;
    r.free = (taken ? r.free : from.free) + std::max<Cycles>(1, static_cast<Cycles>(std::ceil(bytes / rate)));
    r.moment = add(t, r.free, taken ? r.moment : from.moment, why, what);
  }
  // A transfer that has passed a port arrives `latency` later. Its moment exists from the barrier on that waits for it.
  static void arrives(Thread& t, const Resource& from, Cycles latency) {
    if (from.free + latency < t.arrived) return;
    t.arrived = from.free + latency;
    t.arrived_after = from.moment;
  }
  static uint8_t noc_of(const Thread& t) { return t.risc == brisc ? 1 : 0; }
  Resource& port(const Thread& t, bool in) { return cores_[t.core].port[noc_of(t)][in]; }
  void transfer(Thread& t, uint32_t bytes, bool in) {
    t.now += kIssueCycles;
    const auto channel = static_cast<uint8_t>(t.turn++ % shape_.channels);
    Resource& dram = channels_[channel];
    Resource& noc = port(t, in);
    use(t, dram, {t.now, here(t)}, shape_.channel_bytes_a_cycle, bytes, Why::channel, channel);
    use(t, noc, dram, shape_.port_bytes_a_cycle, bytes, Why::port, noc_of(t));
    arrives(t, noc, shape_.dram_latency);
  }
  Cycles way(const Thread& t, uint16_t to) const {
    const Place a = shape_.cores[t.shape_core], b = shape_.cores[to];
    return shape_.hop * static_cast<Cycles>(std::abs(a.x - b.x) + std::abs(a.y - b.y) + 2);
  }
  void send(Thread& t, uint8_t group, uint32_t bytes) {
    const auto& to = program_.cores[t.core].group[group];
    if (to.empty()) return;
    t.now += kIssueCycles;
    Cycles furthest = 0;
    for (const uint16_t core : to) furthest = std::max(furthest, way(t, core));
    Resource& noc = port(t, false);
    use(t, noc, {t.now, here(t)}, shape_.port_bytes_a_cycle, bytes, Why::port, noc_of(t));
    t.sent = noc.free + furthest;
    t.sent_moment = add(t, t.sent, noc.moment, Why::latency);
    arrives(t, noc, furthest);
  }
  void signal(Thread& t, const Instruction& i) {
    const auto& to = program_.cores[t.core].group[i.a];
    if (to.empty()) return;
    t.now += kIssueCycles;
    for (const uint16_t core : to) {
      Cycles at = t.now + way(t, core);
      const bool behind_data = t.sent > at;
      if (behind_data) at = t.sent;
      deliver_at(at, {place_of_[core], i.b, t.risc, behind_data, i.n, behind_data ? t.sent_moment : here(t),
                      t.shape_core});
    }
  }
  void deliver_at(Cycles at, const Delivery& d) {
    deliveries_.push_back(d);
    events_.push(at, static_cast<uint32_t>(threads_.size() + deliveries_.size() - 1));
  }
  void post(Thread& t, const Instruction& i) {
    send(t, i.a, i.n);
    for (const uint16_t core : program_.cores[t.core].group[i.a])
      deliver_at(t.sent, {place_of_[core], kPosted, t.risc, true, 0, t.sent_moment, t.shape_core});
  }
  void take(Thread& t, const Instruction& i) {
    const bool data = i.what == Do::look;
    Core& core = cores_[t.core];
    Race& race = core.race[data ? Race::data : Race::wake_up];
    race.kind = data ? Race::data : Race::wake_up;
    race.to = t.shape_core;
    race.taken = t.now;
    race.lost = data == (race.arrived == Race::kNever);
    if (!data) core.semaphore[i.a].value = 0;
    t.now += kPollCycles;
  }
  void arrived(Race& race, const Delivery& d, Cycles at) {
    race.from = d.from;
    race.arrived = at;
  }
  void deliver(const Delivery& d, Cycles at) {
    if (d.semaphore == kPosted) return arrived(cores_[d.core].race[Race::data], d, at);
    if (d.semaphore == kSemaphores - 1) arrived(cores_[d.core].race[Race::wake_up], d, at);
    Semaphore& s = cores_[d.core].semaphore[d.semaphore];
    s.value += d.n;
    if (s.waiter == kNobody || s.value < s.wanted) return;
    s.value -= s.wanted;
    const uint32_t cause = d.behind_data ? d.moment : add({at, d.moment, d.from, d.risc, Why::latency, 0});
    wake(std::exchange(s.waiter, kNobody), at, cause, Why::semaphore);
  }
  bool await(Thread& t, uint32_t thread, const Instruction& i) {
    t.now += kPollCycles;
    if (i.n == 0) return true;
    Semaphore& s = cores_[t.core].semaphore[i.a];
    if (s.value >= i.n) {
      s.value -= i.n;
      return true;
    }
    s.wanted = i.n, s.waiter = thread;
    t.waits_for = i.a, t.blocked = true;
    return false;
  }
  bool wait_for_buffer(Thread& t, uint32_t thread, const Instruction& i) {
    t.now += kPollCycles;
    Buffer& b = cores_[t.core].buffer[i.a];
    const bool room = i.what == Do::reserve;
    if (room ? b.filled < program_.capacity[i.a] : b.filled > 0) return true;
    (room ? b.producer : b.consumer) = thread;
    t.waits_for = i.a, t.blocked = true;
    return false;
  }
  void move_block(Thread& t, const Instruction& i) {
    Buffer& b = cores_[t.core].buffer[i.a];
    const bool in = i.what == Do::push;
    b.filled += in ? 1u : ~0u;
    if (note_buffers_) out_.buffers.push_back({t.now, t.shape_core, i.a, static_cast<int8_t>(in ? 1 : -1)});
    uint32_t& waiter = in ? b.consumer : b.producer;
    if (waiter == kNobody) return;
    wake(std::exchange(waiter, kNobody), t.now, here(t), Why::buffer);
  }
  void begin_loop(Thread& t, const Instruction& i) {
    const uint32_t turns = i.a == 1 ? program_.cores[t.core].count : i.n;
    if (turns != 0) {
      t.loop.at(t.loops++) = {t.pc, turns};
      return;
    }
    for (unsigned open = 1; open != 0; ++t.pc) {
      if ((*t.code)[t.pc].what == Do::loop) ++open;
      if ((*t.code)[t.pc].what == Do::loop_end) --open;
    }
  }
  void end_loop(Thread& t) {
    t.now += kLoopCycles;
    auto& [first, left] = t.loop.at(t.loops - 1u);
    if (--left == 0)
      --t.loops;
    else
      t.pc = first;
  }

  const Shape& shape_;
  const ChipProgram& program_;
  bool note_buffers_;
  std::vector<Resource> channels_;
  std::vector<Core> cores_;
  std::vector<Thread> threads_;
  std::vector<uint16_t> place_of_;  // in cores_, by Shape::cores
  std::vector<Delivery> deliveries_;
  EventQueue events_;  // a thread, or behind those a delivery
  Timeline out_;
};

}  // namespace

Timeline run(const Shape& shape, const ChipProgram& program, Cycles go, uint64_t seed, bool note_buffers,
             Sizes expected) {
  return Machine(shape, program, go, seed, note_buffers, expected).run();
}

}  // namespace ttc::chip
