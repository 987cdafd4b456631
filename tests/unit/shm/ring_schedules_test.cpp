// Every interleaving of a small case of the ring: a writer that publishes and overwrites, readers that copy
// and validate, a writer that is killed after any of its stores, and a reader that adopts what is left.
//
// The real ring.cpp runs here with its atomic accesses replaced by ones that a schedule orders. The writer
// never loads what others store, so its stores are recorded once, in their order; a reader then runs with so
// many of them done before each of its loads as in the schedule. Readers store nothing: what one of them
// reads does not depend on another, so all interleavings with two readers are pairs of those with one; a
// smaller case with two of them is run as it is, each on a stack of its own. Order is sequential here; that
// the memory order suffices is ring.hpp's proof and ring_threads_test's business.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "tests/sim/fiber.hpp"

namespace stepped {

struct Store {
  uint64_t* at;
  uint64_t value;
};
// The schedule's side of every access.
struct Stage {
  std::vector<Store>* recording = nullptr;  // the writer runs
  std::function<void()> before_load;        // a reader runs
};
inline Stage stage;

inline uint64_t load(const uint64_t* at) {
  if (stage.before_load) stage.before_load();
  return *at;
}
inline void store(uint64_t* at, uint64_t value) {
  if (stage.recording) stage.recording->push_back({at, value});
  *at = value;
}

}  // namespace stepped

namespace std {  // where ring.hpp looks for it, under another name
template <class T>
struct scheduled_atomic {
  static constexpr bool is_always_lock_free = true;
  scheduled_atomic(T v) : value(v) {}
  T load(memory_order) const { return stepped::load(&value); }
  void store(T v, memory_order) { stepped::store(&value, v); }
  T value;
};
}  // namespace std

#define atomic scheduled_atomic
#define shm shm_scheduled
#define __atomic_load_n(at, order) stepped::load(at)
#define __atomic_store_n(at, value, order) stepped::store(at, value)
#include "shm/src/ring.cpp"  // NOLINT(bugprone-suspicious-include): the code under test, instrumented
#undef __atomic_store_n
#undef __atomic_load_n
#undef shm
#undef atomic

namespace {

using namespace ttc::shm_scheduled;

constexpr size_t kRingWords = 1024 / 8;
constexpr uint64_t kShort = 24, kLong = 104;  // bytes of records; slots of 64 and 128

struct World {
  RingControl control;
  alignas(64) uint64_t ring[kRingWords] = {};
};

// A record whose every word holds the record's number.
void publish(RingWriter& writer, uint64_t number, uint64_t bytes) {
  uint64_t* at = writer.claim(bytes);
  for (uint64_t w = 1; w < bytes / 8; ++w) store_word(at + w, number * 1000 + w);
  store_word(at, bytes | uint64_t{static_cast<uint16_t>(ChunkKind::names)} << 32);
  writer.publish(bytes);
}
// Its number; fails when it is not one record whole.
uint64_t number_of(const std::vector<uint64_t>& chunk) {
  const uint64_t bytes = chunk[0] & 0xffffffff;
  EXPECT_EQ(bytes, chunk.size() * 8);
  const uint64_t number = chunk.at(1) / 1000;
  for (uint64_t w = 1; w < chunk.size(); ++w) EXPECT_EQ(chunk[w], number * 1000 + w) << "torn";
  return number;
}

// A full ring, and the stores of a writer that continues in it: overwriting, with padding at the end.
struct Case {
  explicit Case(uint64_t more, bool announces = false) {
    RingWriter writer(world.control, world.ring);
    uint64_t number = 1;
    while (world.control.tail.value < 960) publish(writer, number, number % 3 ? kShort : kLong), ++number;
    before = number - 1;
    if (announces) writer.announce();
    start = world;
    stepped::stage.recording = &stores;
    for (uint64_t i = 0; i < more; ++i) publish(writer, number + i, i % 2 ? kShort : kLong);
    if (announces) writer.announce();
    stepped::stage.recording = nullptr;
    last = before + more;
    world = start;
  }
  World world, start;
  std::vector<stepped::Store> stores;
  uint64_t before = 0, last = 0;  // numbers of records
};

// Calls `run` for every way to do `stores` stores before the first `loads` loads; the rest are done after.
void all_schedules(size_t stores, size_t loads, std::vector<size_t>& done_by,
                   const std::function<void(const std::vector<size_t>&)>& run) {
  if (done_by.size() == loads) return run(done_by);
  for (size_t done = done_by.empty() ? 0 : done_by.back(); done <= stores; ++done) {
    done_by.push_back(done);
    all_schedules(stores, loads, done_by, run);
    done_by.pop_back();
  }
}

struct Outcome {
  std::vector<uint64_t> numbers;
  uint64_t lost_bytes = 0, laps = 0;
  bool damaged = false;
};

// A reader that takes what comes while `schedule` lasts and everything after it. `until`: the writer is killed
// after so many stores.
Outcome read_under(Case& c, const std::vector<size_t>& schedule, size_t until, bool from_newest) {
  c.world = c.start;
  size_t load = 0, done = 0;
  const auto do_stores = [&](size_t to) {
    for (; done < std::min(to, until); ++done) *c.stores[done].at = c.stores[done].value;
  };
  stepped::stage.before_load = [&] {
    do_stores(load < schedule.size() ? schedule[load] : c.stores.size());
    ++load;
  };
  RingCursor cursor(c.world.control, c.world.ring);
  if (from_newest)
    cursor.to_newest();
  else
    cursor.to_oldest();
  Outcome o;
  std::vector<uint64_t> chunk;
  for (unsigned turn = 0; turn < 100; ++turn) {
    // A reader of a dead writer's ring reads up to the tail, as Reader does.
    const bool dead = load > schedule.size();
    const Poll poll = dead ? cursor.next_before(cursor.tail(), chunk) : cursor.next(chunk);
    if (poll == Poll::record) o.numbers.push_back(number_of(chunk));
    if (poll == Poll::damaged) o.damaged = true;
    if (poll == Poll::damaged || (poll == Poll::empty && dead)) break;
  }
  stepped::stage.before_load = nullptr;
  o.lost_bytes = cursor.lost_bytes();
  o.laps = cursor.laps();
  return o;
}

void expect_sound(const Outcome& o, uint64_t last, const std::string& what) {
  ASSERT_FALSE(o.damaged) << what;
  for (size_t i = 1; i < o.numbers.size(); ++i) {
    ASSERT_GT(o.numbers[i], o.numbers[i - 1]) << what;
    if (o.laps == 0) {
      ASSERT_EQ(o.numbers[i], o.numbers[i - 1] + 1)
          << what << ": a record is missing and no lap was reported";
    }
  }
  ASSERT_EQ(o.lost_bytes != 0, o.laps != 0) << what;
  if (last && !o.numbers.empty()) {
    ASSERT_EQ(o.numbers.back(), last) << what;
  }
}

std::string text_of(const std::vector<size_t>& schedule) {
  std::string text = "schedule";
  for (const size_t s : schedule) text += " " + std::to_string(s);
  return text;
}

TEST(RingSchedules, readers_of_a_writer_that_overwrites) {
  Case c(1);  // a long record: oldest is raised, fourteen words, tail
  size_t runs = 0, lapped = 0;
  std::vector<size_t> schedule;
  all_schedules(c.stores.size(), 7, schedule, [&](const std::vector<size_t>& s) {
    for (const bool newest : {false, true}) {
      const Outcome o = read_under(c, s, c.stores.size(), newest);
      expect_sound(o, newest ? 0 : c.last, text_of(s));
      ++runs;
      lapped += o.laps != 0;
      if (testing::Test::HasFatalFailure()) return;
    }
  });
  EXPECT_GT(lapped, 0u);
  EXPECT_LT(lapped, runs);
}

TEST(RingSchedules, readers_across_the_end_of_the_ring) {
  Case c(3);  // with the padding at the ring's end
  std::vector<size_t> schedule;
  all_schedules(c.stores.size(), 4, schedule, [&](const std::vector<size_t>& s) {
    if (testing::Test::HasFatalFailure()) return;
    expect_sound(read_under(c, s, c.stores.size(), false), c.last, text_of(s));
  });
}

TEST(RingSchedules, a_writer_that_dies_after_any_store_leaves_whole_records) {
  Case c(3);
  for (size_t until = 0; until <= c.stores.size(); ++until) {
    // A reader that was there, at every moment of the dying; then one that adopts what is left.
    std::vector<size_t> schedule;
    all_schedules(until, 3, schedule, [&](const std::vector<size_t>& s) {
      if (testing::Test::HasFatalFailure()) return;
      expect_sound(read_under(c, s, until, false), 0,
                   "killed after " + std::to_string(until) + ", " + text_of(s));
    });
    const Outcome adopted = read_under(c, {until}, until, false);
    expect_sound(adopted, 0, "adopted after " + std::to_string(until));
    ASSERT_EQ(adopted.laps, 0u) << "what is at or above oldest is intact";
    ASSERT_GE(adopted.numbers.size(), c.before - 4) << until;
    ASSERT_LE(adopted.numbers.back(), c.last);
  }
}

TEST(RingSchedules, readers_that_go_by_announcements) {
  Case c(1, true);
  std::vector<size_t> schedule;
  size_t runs = 0, lapped = 0;
  all_schedules(c.stores.size(), 6, schedule, [&](const std::vector<size_t>& s) {
    if (testing::Test::HasFatalFailure()) return;
    const Outcome o = read_under(c, s, c.stores.size(), false);
    expect_sound(o, c.last, text_of(s));
    ++runs;
    lapped += o.laps != 0;
  });
  EXPECT_GT(lapped, 0u);
  EXPECT_LT(lapped, runs);
}

TEST(RingSchedules, a_writer_that_dies_before_it_announces_loses_nothing_that_it_published) {
  Case c(3, true);
  for (size_t until = 0; until <= c.stores.size(); ++until) {
    const Outcome adopted = read_under(c, {}, until, false);
    ASSERT_FALSE(adopted.numbers.empty());
    std::vector<size_t> schedule;
    all_schedules(until, 3, schedule, [&](const std::vector<size_t>& s) {
      if (testing::Test::HasFatalFailure()) return;
      expect_sound(read_under(c, s, until, false), adopted.numbers.back(),
                   "killed after " + std::to_string(until) + ", " + text_of(s));
    });
  }
}

// A reader that stops before each of its loads, until it may continue.
class SteppedReader {
 public:
  SteppedReader(Case& c, const bool& settled)
      : case_(c), settled_(settled), fiber_([this] {
          read();
          for (done_ = true;;) fiber_.yield();
        }) {
    step();  // to its first load
  }
  void step() {
    if (done_) return;
    stepped::stage.before_load = [this] { fiber_.yield(); };
    fiber_.resume();
    stepped::stage.before_load = nullptr;
  }
  Outcome to_the_end() {
    while (!done_) step();
    return outcome_;
  }

 private:
  void read() {
    RingCursor cursor(case_.world.control, case_.world.ring);
    cursor.to_oldest();
    std::vector<uint64_t> chunk;
    for (bool last_look = false;;) {
      const bool settled = settled_;
      const Poll poll = cursor.next(chunk);
      if (poll == Poll::record) outcome_.numbers.push_back(number_of(chunk));
      if (poll == Poll::damaged) outcome_.damaged = true;
      if (poll == Poll::damaged || (poll == Poll::empty && last_look)) break;
      last_look = settled;
    }
    outcome_.lost_bytes = cursor.lost_bytes();
    outcome_.laps = cursor.laps();
  }
  Case& case_;
  const bool& settled_;
  Outcome outcome_;
  bool done_ = false;
  ttc::sim::Fiber fiber_;
};

// 'W': the writer's next store, 'A' and 'B': a reader's next load. The writer is killed after `until` stores; then
// both read on, and a third one adopts what is left.
void run_together(Case& c, const std::string& order, size_t until, const Outcome& adopted) {
  c.world = c.start;
  bool settled = false;
  size_t done = 0;
  const auto store = [&] {
    if (done < until) *c.stores[done].at = c.stores[done].value, ++done;
  };
  SteppedReader a(c, settled), b(c, settled);
  for (const char who : order) {
    if (who == 'W')
      store();
    else
      (who == 'A' ? a : b).step();
  }
  while (done < until) store();
  settled = true;
  const std::string what = order + ", killed after " + std::to_string(until);
  for (SteppedReader* reader : {&a, &b}) {
    const Outcome o = reader->to_the_end();
    expect_sound(o, adopted.numbers.back(), what);
    ASSERT_FALSE(o.numbers.empty()) << what;
  }
}

TEST(RingSchedules, two_readers_and_a_dying_writer_in_every_order) {
  Case c(1);
  // The first loads and the stores around which everything turns: the others of this record are its words.
  ASSERT_GT(c.stores.size(), 6u);
  const size_t words = c.stores.size() - 5;  // stored in one go, in the middle
  size_t runs = 0;
  for (size_t until = 0; until <= c.stores.size(); ++until) {
    if (until > 2 && until < 2 + words) continue;
    const Outcome adopted = read_under(c, {until}, until, false);
    std::string order = "AAABBB";  // sorted: the first permutation
    order.append(until <= 2 ? until : until - words, 'W');
    do {
      std::string with_words;
      size_t stores = 0;
      for (const char who : order) {
        with_words += who;
        if (who == 'W' && ++stores == 2) with_words.append(words, 'W');
      }
      run_together(c, with_words, until, adopted);
      if (testing::Test::HasFatalFailure()) return;
      ++runs;
    } while (std::next_permutation(order.begin(), order.end()));
  }
  EXPECT_EQ(runs, 20u + 140 + 2 * 560 + 1680 + 4200 + 9240) << "11! / (3! 3! 5!) with all stores, and so on";
}

}  // namespace
