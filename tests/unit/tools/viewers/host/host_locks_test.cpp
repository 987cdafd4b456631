#include "tools/viewers/host/host_locks.hpp"

#include <gtest/gtest.h>

#include <random>
#include <string>

namespace ttc::tools {
namespace {

std::string text_of(const std::vector<LockSpan>& spans) {
  std::string text;
  for (const LockSpan& s : spans) {
    if (!text.empty()) text += "; ";
    text += std::to_string(s.thread) + (s.wait ? " waits " : " holds ") + std::to_string(s.lock) + " " +
            std::to_string(s.begin_ns) + ".." + std::to_string(s.end_ns);
    text += s.wait ? " for " + std::to_string(s.other) : " waited " + std::to_string(s.waited_ns);
    if (s.cut) text += std::string(" ") + s.cut;
  }
  return text;
}

TEST(HostLocks, a_wait_is_one_that_began_while_another_thread_held_the_lock) {
  HostLocks locks;
  EXPECT_EQ(text_of(locks.wait(5, 1, 100)), "");
  EXPECT_EQ(text_of(locks.obtain(5, 1, 103)), "");
  EXPECT_EQ(text_of(locks.wait(5, 2, 110)), "");
  EXPECT_EQ(text_of(locks.release(5, 0, 150)), "1 holds 5 103..150 waited 3") << "a release names no thread";
  EXPECT_EQ(text_of(locks.obtain(5, 2, 152)), "2 waits 5 110..152 for 1");
  EXPECT_EQ(text_of(locks.release(5, 0, 160)), "2 holds 5 152..160 waited 42");
}

TEST(HostLocks, a_recursive_lock_is_held_until_its_last_release) {
  HostLocks locks;
  locks.obtain(5, 1, 100);
  EXPECT_EQ(text_of(locks.wait(5, 1, 105)), "");
  EXPECT_EQ(text_of(locks.obtain(5, 1, 106)), "") << "its holder does not wait for itself";
  EXPECT_EQ(text_of(locks.release(5, 0, 110)), "");
  EXPECT_EQ(text_of(locks.release(5, 0, 120)), "1 holds 5 100..120 waited 0");
}

TEST(HostLocks, a_shared_lock_has_several_holders) {
  HostLocks locks;
  locks.obtain(5, 1, 100);
  locks.obtain(5, 2, 101);
  EXPECT_EQ(text_of(locks.release(5, 0, 104)), "") << "whose release it is, is not known";
  EXPECT_EQ(text_of(locks.release(5, 2, 105)), "2 holds 5 101..105 waited 0");
  EXPECT_EQ(text_of(locks.release(5, 1, 106)), "1 holds 5 100..106 waited 0");
}

TEST(HostLocks, what_is_open_where_events_are_missing_ends_there) {
  HostLocks locks;
  locks.obtain(5, 1, 100);
  locks.wait(5, 2, 101);
  locks.wait(6, 3, 102);
  EXPECT_EQ(text_of(locks.cut(150, "cut")), "1 holds 5 100..150 waited 0 cut; 2 waits 5 101..150 for 1 cut");
  EXPECT_EQ(text_of(locks.release(5, 0, 160)), "") << "it may be another's";
}

TEST(HostLocks, times_that_go_back_make_no_negative_span) {
  HostLocks locks;
  locks.obtain(5, 1, 100);
  locks.wait(5, 2, 99);
  EXPECT_EQ(text_of(locks.release(5, 0, 95)), "1 holds 5 100..100 waited 0");
  EXPECT_EQ(text_of(locks.obtain(5, 2, 90)), "2 waits 5 99..99 for 1");
}

// Whatever comes, every hold is of a lock and thread that obtained it, and holds of a thread do not overlap.
TEST(HostLocks, any_order_of_events) {
  for (uint32_t seed = 1; seed <= 300; ++seed) {
    std::mt19937 dice(seed);
    HostLocks locks;
    std::vector<LockSpan> all;
    const auto add = [&](const std::vector<LockSpan>& more) {
      all.insert(all.end(), more.begin(), more.end());
    };
    for (uint64_t ns = 0; ns < 400; ++ns) {
      const uint64_t lock = dice() % 3;
      const uint32_t thread = dice() % 4, what = dice() % 4;
      if (what == 0) add(locks.wait(lock, thread + 1, ns));
      if (what == 1) add(locks.obtain(lock, thread + 1, ns));
      if (what == 2) add(locks.release(lock, thread, ns));
      if (what == 3 && dice() % 20 == 0) add(locks.cut(ns, "cut"));
    }
    add(locks.cut(400, "end"));
    for (const LockSpan& a : all) {
      EXPECT_LE(a.begin_ns, a.end_ns) << "seed " << seed;
      EXPECT_NE(a.thread, 0u) << "seed " << seed;
      EXPECT_TRUE(!a.wait || a.other != a.thread) << "seed " << seed;
      for (const LockSpan& b : all) {
        if (&a == &b || a.wait != b.wait || a.lock != b.lock || a.thread != b.thread) continue;
        EXPECT_TRUE(a.end_ns <= b.begin_ns || b.end_ns <= a.begin_ns)
            << "seed " << seed << ": " << text_of({a, b});
      }
    }
  }
}

}  // namespace
}  // namespace ttc::tools
