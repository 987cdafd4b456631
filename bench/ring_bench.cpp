// What publishing costs the drain: the smallest chunk, chunks of 4 KiB against a plain memcpy over the same
// memory, and both with three readers looking on, which poll the announcements or, as before there were any, the tail. How long a
// record takes to a reader that polls, both ways.
#include <atomic>
#include <cstring>
#include <thread>

#include "bench/core_fetches.hpp"
#include "bench/machine.hpp"
#include "collector/publish/publisher.hpp"
#include "shm/ring.hpp"

namespace {

using namespace ttc;
using namespace ttc::bench;

constexpr size_t kReaders = 3;
constexpr size_t kWatchedLaps = 16;

struct Ring {
  explicit Ring(size_t bytes) : memory(bytes), writer(control, {memory.words(), bytes / 8}) {}
  shm::RingControl control;
  SharedMemory memory;
  shm::RingWriter writer;
};

// A chunk of `bytes` with a header that readers accept.
std::vector<uint64_t> make_chunk(size_t bytes) {
  std::vector<uint64_t> chunk(bytes / 8, 0x0123456789abcdef);
  shm::ChunkHeader h;
  h.bytes = static_cast<uint32_t>(bytes);
  h.kind = shm::ChunkKind::device_words;
  std::memcpy(chunk.data(), &h, sizeof h);
  return chunk;
}

// Chunks in each announcement. A busy sweep of a card with 64 to 140 cores brings as many.
constexpr size_t kSweep = 64;

enum class By { announcement, tail };
const char* to_string(By by) {
  return by == By::tail ? "the tail" : "announcements";
}

void publish(Ring& ring, const std::vector<uint64_t>& chunk, size_t count) {
  const size_t bytes = chunk.size() * 8;
  for (size_t i = 0; i < count; ++i) {
    uint64_t* at = ring.writer.claim(bytes);
    shm::store_bytes(at, chunk.data(), bytes);
    ring.writer.publish(bytes);
    if (i % kSweep == kSweep - 1) ring.writer.announce();
  }
}

// The baseline: the same source, the same destination, nothing else. It leaves the records as they were,
// because chunks lie where they lay a lap ago.
template <class Copy>
void copy_over(Ring& ring, const std::vector<uint64_t>& chunk, Copy copy) {
  uint64_t* const base = ring.memory.words();
  for (size_t at = 0; at < ring.memory.bytes() / 8; at += chunk.size())
    copy(base + at, chunk.data(), chunk.size() * 8), keep(*base);
}

void plain_copy(uint64_t* to, const uint64_t* from, size_t bytes) {
  std::memcpy(to, from, bytes);
}

// glibc copies 4 KiB with `rep movsb`, which is not the fastest way on every CPU: 16-byte moves beside it.
void vector_copy(uint64_t* to, const uint64_t* from, size_t bytes) {
  using Vector = uint64_t __attribute__((vector_size(16)));
  for (size_t i = 0; i < bytes / 8; i += 2) {
    Vector v;
    std::memcpy(&v, from + i, sizeof v);
    std::memcpy(to + i, &v, sizeof v);
    asm volatile("" : : : "memory");  // or the compiler makes it the memcpy it is compared with
  }
}

// Follow the ring as fast as they can, the most a reader can be in the way.
class Readers {
 public:
  Readers(Ring& ring, By by) {
    for (size_t i = 0; i < kReaders; ++i) threads_.emplace_back([&ring, by, this] { follow(ring, by); });
    while (running_ < kReaders) std::this_thread::yield();
  }
  ~Readers() { finish(); }
  uint64_t finish() {
    stop_ = true;
    for (auto& t : threads_) t.join();
    threads_.clear();
    return chunks_;
  }

 private:
  void follow(Ring& ring, By by) {
    shm::RingCursor cursor(ring.control, {ring.memory.words(), ring.memory.bytes() / 8});
    cursor.to_newest();
    ++running_;
    std::vector<uint64_t> chunk;
    uint64_t seen = 0;
    while (!stop_) {
      const shm::Poll poll = cursor.next_before(by == By::tail ? cursor.tail() : cursor.announced(), chunk);
      seen += poll == shm::Poll::record;
      if (poll == shm::Poll::damaged) std::puts("WRONG: damaged"), std::exit(1);
    }
    chunks_ += seen;
  }

  std::atomic<bool> stop_{false};
  std::atomic<size_t> running_{0};
  std::atomic<uint64_t> chunks_{0};
  std::vector<std::thread> threads_;
};

// The fetches of this thread, which publishes.
const CoreFetches& fetches() {
  static const CoreFetches counter;
  return counter;
}

struct Cost {
  Best wall, cpu;
  double fetches = 0;  // of cache lines, a record
};

void time_publishing(Ring& ring, const std::vector<uint64_t>& chunk, size_t count, Cost& cost) {
  const uint64_t cpu = thread_cpu_ns(), fetched = fetches().read_count();
  cost.wall.time([&] { publish(ring, chunk, count); });
  cost.cpu.add(thread_cpu_ns() - cpu);
  cost.fetches = static_cast<double>(fetches().read_count() - fetched) / static_cast<double>(count);
}

void print_fetches(const Cost& alone, const Cost& watched) {
  if (fetches().counted())
    result("  lines the writer fetched (%s): %.2f a record, alone %.2f", fetches().name(), watched.fetches,
           alone.fetches);
}

void measure_watched(Ring& ring, const std::vector<uint64_t>& chunk, By by, const Cost& alone) {
  const size_t count = ring.memory.bytes() / (chunk.size() * 8);
  Cost watched;
  uint64_t seen = 0;
  for (int i = 0; i < repetitions(5); ++i) {
    Readers readers(ring, by);
    time_publishing(ring, chunk, kWatchedLaps * count, watched);  // long enough for the scheduler to matter
    seen += readers.finish();
  }
  const auto each = [&](const Best& b) { return b.ns() / static_cast<double>(kWatchedLaps * count); };
  const double alone_ns = alone.cpu.ns() / static_cast<double>(count);
  const double ratio = each(watched.cpu) / alone_ns;
  result(
      "  beside %zu readers that poll %s: writer's CPU %.1f ns, ratio %.2f %s; wall %.1f ns, ratio %.2f "
      "(readers took %.1f %% each)",
      kReaders, to_string(by), each(watched.cpu), ratio, by == By::tail ? "" : judged(ratio, "<=", 2).c_str(),
      each(watched.wall), each(watched.wall) / alone_ns,
      100.0 * static_cast<double>(seen) /
          static_cast<double>(kReaders * kWatchedLaps * count * static_cast<size_t>(repetitions(5))));
  print_fetches(alone, watched);
}

void measure(Ring& ring, size_t chunk_bytes) {
  const auto chunk = make_chunk(chunk_bytes);
  const size_t count = ring.memory.bytes() / chunk_bytes;  // one lap
  const auto each = [&](const Best& b) { return b.ns() / static_cast<double>(count); };
  Cost alone;
  Best plain, vectors;
  publish(ring, chunk, count);
  for (int i = 0; i < repetitions(15); ++i) {
    plain.cpu_time([&] { copy_over(ring, chunk, plain_copy); });
    vectors.cpu_time([&] { copy_over(ring, chunk, vector_copy); });
    time_publishing(ring, chunk, count, alone);
  }
  result("chunk of %zu B: publish %.1f ns, plain memcpy of the same bytes %.1f ns, 16-byte moves %.1f ns",
         chunk_bytes, each(alone.cpu), each(plain), each(vectors));
  if (chunk_bytes == sizeof(shm::ChunkHeader))
    result("  smallest chunk (a header of %zu B) %.1f ns %s", chunk_bytes, each(alone.cpu),
           judged(each(alone.cpu), "<=", 20).c_str());
  else
    result("  %.2f GB/s, ratio to memcpy %.2f %s, to 16-byte moves %.2f",
           alone.cpu.gb_per_s(ring.memory.bytes()), plain.ns() / alone.cpu.ns(),
           judged(plain.ns() / alone.cpu.ns(), ">=", 0.8).c_str(), vectors.ns() / alone.cpu.ns());
  for (const By by : {By::tail, By::announcement}) measure_watched(ring, chunk, by, alone);
}

void spin_ns(uint64_t ns) {
  for (const uint64_t until = now_ns() + ns; now_ns() < until;) {
  }
}

// Sweeps of 16 visits, 50 us apart: of 2 us, as over a link, and of 0.2 us, as where loads are free. Each record holds when it was published.
// Announcements are made as Publisher makes them.
double latency(Ring& ring, By by, uint64_t visit_ns) {
  constexpr size_t kVisits = 16;
  constexpr uint64_t kApartNs = 50'000;
  std::atomic<bool> stop{false}, running{false};
  Samples all, last;
  std::thread reader([&] {
    shm::RingCursor cursor(ring.control, {ring.memory.words(), ring.memory.bytes() / 8});
    cursor.to_newest();
    running = true;
    std::vector<uint64_t> chunk;
    while (!stop)
      if (cursor.next_before(by == By::tail ? cursor.tail() : cursor.announced(), chunk) ==
          shm::Poll::record) {
        const uint64_t took = now_ns() - chunk[8];
        all.add(took);
        if (chunk[9] == kVisits - 1) last.add(took);
      }
  });
  while (!running) std::this_thread::yield();
  std::vector<uint64_t> chunk = make_chunk(128);
  uint64_t announce_from = 0;
  for (int sweep = 0; sweep < (once() ? 50 : 4000); ++sweep) {
    for (chunk[9] = 0; chunk[9] < kVisits; ++chunk[9]) {
      const uint64_t read_time = now_ns();
      spin_ns(visit_ns);
      uint64_t* at = ring.writer.claim(128);
      chunk[8] = now_ns();
      shm::store_bytes(at, chunk.data(), 128);
      ring.writer.publish(128);
      if (read_time >= announce_from)
        ring.writer.announce(), announce_from = read_time + collect::Publisher::kAnnounceNs;
    }
    ring.writer.announce();
    spin_ns(kApartNs);
  }
  stop = true;
  reader.join();
  result(
      "latency of visits of %.1f us by %s: all records %.2f us at the tenth percentile, %.2f us in the "
      "median; a "
      "sweep's last one %.2f and %.2f us",
      static_cast<double>(visit_ns) / 1000, to_string(by), all.us(10), all.us(50), last.us(10), last.us(50));
  return all.us(50);
}

void compare_latency(Ring& ring, uint64_t visit_ns) {
  const double by_tail = latency(ring, By::tail, visit_ns);
  const double announced = latency(ring, By::announcement, visit_ns);
  result("  median by announcements beside the tail's: ratio %.2f, %.2f us more", announced / by_tail,
         announced - by_tail);
}

}  // namespace

int main() {
  print_machine("ring_bench");
  if (sysconf(_SC_NPROCESSORS_ONLN) <= static_cast<long>(kReaders))
    result(
        "fewer cores than threads: with readers, wall time has the scheduler in it; CPU time shows what they "
        "cost");
  Ring ring(working_set());
  if (!fetches().counted())
    result("fetches of cache lines are not counted (%s): only the ratio shows what readers cost",
           fetches().why_not().c_str());
  result("ring of %zu MiB, one lap a measurement", ring.memory.bytes() >> 20);
  measure(ring, sizeof(shm::ChunkHeader));
  measure(ring, 4096);
  for (const uint64_t visit_ns : {2000, 200}) compare_latency(ring, visit_ns);
}
