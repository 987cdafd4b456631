// Measures the latency from the word on the card to the reader that has it. The drain runs in a thread as in
// ttcollect, a reader follows the segment, programs are launched at random times. The latency is from the end of
// finish_launch() to the reader holding the chunk with the last of the five frames of that launch.
//
// The baseline is the schedule alone: the same launches, detected by visits that happen exactly
// when they are due and take no time. The rest is timers, the sweep itself, wake-ups, and words that were
// not accepted yet.
#include <sys/prctl.h>

#include <atomic>
#include <random>
#include <thread>

#include "bench/emulated_rig.hpp"
#include "firmware_markers/decoder.hpp"
#include "shm/reader.hpp"

namespace {

using namespace ttc;
using namespace ttc::bench;

void collect_until(Rig& rig, const std::atomic<bool>& stop) {
  prctl(PR_SET_TIMERSLACK, 1000UL);
  while (!stop) {
    if (rig.drain->sweep(now_ns()) != card::Access::ok) std::puts("WRONG: the card refused"), std::exit(1);
    const uint64_t due = rig.drain->next_due_ns(), after = now_ns();
    rig.loop->wait(due > after ? due - after : 0);
  }
}

// When the last frame of each launch was received, by host id.
class Receiver {
 public:
  Receiver(const std::string& live, size_t launches)
      : reader_(live, shm::StartAt::newest), frames_(launches + 1), received_(launches + 1) {}

  void follow(const std::atomic<bool>& stop) {
    std::vector<uint64_t> chunk;
    while (!stop)
      if (reader_.next(chunk, 20) == shm::Reader::Next::chunk) take(chunk, now_ns());
  }
  size_t complete() const { return complete_; }
  uint64_t received(uint32_t host) const { return received_[host]; }

 private:
  void take(std::span<const uint64_t> chunk, uint64_t at) {
    const shm::ChunkHeader& h = shm::header_of(chunk);
    if (h.kind != shm::ChunkKind::device_words) return;
    const device::Format& f = markers::layout_by_generation(h.generation)->format;
    for (const shm::SpanEntry& span : shm::spans_of(chunk)) {
      markers::LaneDecoder decoder({&f, span.risc, static_cast<uint8_t>(h.flat_id)});
      batch_.clear();
      decoder.decode(shm::words_of(chunk, span), batch_);
      for (const markers::Frame& frame : batch_.frames()) {
        if (frame.host_id == 0 || frame.host_id >= frames_.size()) continue;
        if (++frames_[frame.host_id] != device::kMaxRiscs) continue;
        received_[frame.host_id] = at;
        ++complete_;
      }
    }
  }

  shm::Reader reader_;
  markers::Batch batch_;
  std::vector<uint8_t> frames_;
  std::vector<uint64_t> received_;
  std::atomic<size_t> complete_{0};
};

void sleep_until(uint64_t ns) {
  const timespec t{static_cast<time_t>(ns / 1000000000u), static_cast<long>(ns % 1000000000u)};
  clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, nullptr);
}

struct Case {
  const char* what;
  size_t launches;
  size_t cores;  // launches go to one of so many at random
  double mean_gap_us;
  bool data;
  uint32_t round_trip_ns;
};

struct Launched {
  size_t core;
  uint64_t finished;
};

// Latencies under an ideal drain.
Samples ideal(const std::vector<Launched>& launches, size_t cores, const collect::DrainOptions& o) {
  Samples latency;
  for (size_t core = 0; core < cores; ++core) {
    std::vector<uint64_t> mine;
    for (const Launched& l : launches)
      if (l.core == core) mine.push_back(l.finished);
    uint64_t interval = o.idle_interval_ns;
    size_t next = 0;
    for (uint64_t visit = launches.front().finished; next < mine.size(); visit += interval) {
      bool news = false;
      for (; next < mine.size() && mine[next] <= visit; ++next, news = true) latency.add(visit - mine[next]);
      interval = news ? o.busy_interval_ns
                      : std::min(o.idle_interval_ns, std::max(o.busy_interval_ns, 2 * interval));
    }
  }
  return latency;
}

// How late a wait ends on this machine.
void measure_timer() {
  std::string fallback;
  const auto loop = collect::make_event_loop(-1, -1, false, fallback);
  Samples late;
  constexpr uint64_t kWait = 50'000;
  for (int i = 0; i < (once() ? 10 : 2000); ++i) {
    const uint64_t begin = now_ns();
    loop->wait(kWait);
    late.add(now_ns() - begin - std::min(now_ns() - begin, kWait));
  }
  result("a wait of 50 us in the %s loop ends late by: p50 %.0f, p99 %.0f, max %.0f us", loop->name().c_str(),
         late.us(50), late.us(99), late.us(100));
}

void measure(const Case& c) {
  RigOptions options;
  options.round_trip_ns = c.round_trip_ns;
  options.bytes_per_risc = 1 << 20;  // no reset has to come between
  Rig rig(options);
  constexpr uint32_t kWarmUpHost = 0x10000000;
  for (uint32_t i = 0; i < 3; ++i) {
    for (auto& core : rig.cores) Rig::launch(*core, kWarmUpHost + i, 4, c.data);
    for (int j = 0; j < 4; ++j) rig.sweep_all();
  }
  const size_t launches = once() ? 20 : c.launches;
  Receiver receiver(rig.live_name(), launches);
  std::atomic<bool> stop{false};
  std::thread reading([&] { receiver.follow(stop); });
  std::thread collecting([&] { collect_until(rig, stop); });
  prctl(PR_SET_TIMERSLACK, 1000UL);

  std::mt19937_64 random(7);
  std::exponential_distribution<double> gap(1 / c.mean_gap_us);
  std::vector<Launched> launched;
  uint64_t next = now_ns() + 30'000'000;  // the warm-up ran ahead of the clock
  for (uint32_t host = 1; host <= launches; ++host) {
    next = std::max(next + static_cast<uint64_t>(gap(random) * 1000), now_ns());
    sleep_until(next);
    const size_t core = random() % c.cores;
    Rig::launch(*rig.cores[core], host, 4, c.data);
    launched.push_back({core, now_ns()});
  }
  const uint64_t give_up = now_ns() + 2'000'000'000;
  while (receiver.complete() < launches && now_ns() < give_up) sleep_until(now_ns() + 1'000'000);
  stop = true;
  collecting.join();
  reading.join();

  Samples latency;
  size_t missing = 0;
  for (uint32_t host = 1; host <= launches; ++host) {
    const uint64_t at = receiver.received(host);
    if (at == 0)
      ++missing;
    else
      latency.add(at - std::min(at, launched[host - 1].finished));  // it can be faster than the return
  }
  Samples schedule = ideal(launched, c.cores, options.drain);
  result("%s, %u ns a round trip: p50 %.0f, p99 %.0f, max %.0f us over %zu launches", c.what, c.round_trip_ns,
         latency.us(50), latency.us(99), latency.us(100), latency.count());
  result("  the schedule alone: p50 %.0f, p99 %.0f, max %.0f us, ratio of p50 %.2f", schedule.us(50),
         schedule.us(99), schedule.us(100), latency.us(50) / schedule.us(50));
  if (missing) result("  WRONG: %zu launches never arrived", missing), std::exit(1);
}

}  // namespace

int main() {
  print_machine("latency_bench");
  if (sysconf(_SC_NPROCESSORS_ONLN) < 3)
    result("fewer cores than threads (workload, collector, reader): the tail has the scheduler in it");
  measure_timer();
  for (const uint32_t charged : {0u, 1000u}) {
    measure({"idle cores, one of 72 every 3 ms", 1000, 72, 3000, false, charged});
    measure({"busy core, every 60 us", 5000, 1, 60, false, charged});
    measure({"busy core, every 60 us, with data", 5000, 1, 60, true, charged});
  }
}
