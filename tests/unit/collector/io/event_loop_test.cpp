// Both event loops, io_uring and plain, have to do the same.
#include "collector/io/event_loop.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <vector>

namespace ttc::collect {
namespace {

using Clock = std::chrono::steady_clock;
constexpr uint64_t kLong = 60'000'000'000;  // no test waits that long: an event has to come
constexpr uint64_t kMillisecond = 1'000'000;

class EventLoops : public testing::TestWithParam<bool> {
 protected:
  std::unique_ptr<EventLoop> loop(int signal_fd, int hangup_fd) {
    std::string why;
    auto made = make_event_loop(signal_fd, hangup_fd, GetParam(), why);
    fell_back_ = !why.empty();
    EXPECT_EQ(made->name() == "io_uring", !GetParam() && !fell_back_);
    return made;
  }
  void SetUp() override {
    loop(-1, -1);
    if (fell_back_) GTEST_SKIP() << "io_uring is refused here";
  }
  bool fell_back_ = false;
};

// A file of `words` words, each its own index.
class Numbers {
 public:
  explicit Numbers(size_t words) : fd_(memfd_create("numbers", MFD_CLOEXEC)) {
    std::vector<uint64_t> text(words);
    for (size_t i = 0; i < words; ++i) text[i] = i;
    EXPECT_EQ(write(fd_, text.data(), words * 8), static_cast<ssize_t>(words * 8));
  }
  Numbers(const Numbers&) = delete;
  ~Numbers() { close(fd_); }
  int fd() const { return fd_; }

 private:
  int fd_;
};

TEST_P(EventLoops, a_wait_for_nothing_times_out) {
  const auto events = loop(-1, -1);
  for (const uint64_t ns : {uint64_t{0}, uint64_t{1}, kMillisecond, 20 * kMillisecond}) {
    const auto begin = Clock::now();
    const Events got = events->wait(ns);
    EXPECT_GE(Clock::now() - begin, std::chrono::nanoseconds(ns));
    EXPECT_FALSE(got.signal || got.hangup);
  }
}

TEST_P(EventLoops, a_signal_is_seen_until_it_is_consumed_and_seen_again_when_it_comes_again) {
  sigset_t set, before;
  sigemptyset(&set);
  sigaddset(&set, SIGUSR2);
  ASSERT_EQ(pthread_sigmask(SIG_BLOCK, &set, &before), 0);
  const int fd = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
  ASSERT_GE(fd, 0);
  {
    const auto events = loop(fd, -1);
    EXPECT_FALSE(events->wait(0).signal);
    for (int round = 0; round < 3; ++round) {
      ASSERT_EQ(pthread_kill(pthread_self(), SIGUSR2), 0);
      const Events got = events->wait(kLong);
      EXPECT_TRUE(got.signal);
      EXPECT_FALSE(got.hangup);
      EXPECT_TRUE(events->wait(kLong).signal) << "not consumed yet";
      signalfd_siginfo info;
      ASSERT_EQ(read(fd, &info, sizeof info), static_cast<ssize_t>(sizeof info));
      events->wait(0);  // may still report what was there when it was armed
      EXPECT_FALSE(events->wait(kMillisecond).signal) << "round " << round;
    }
  }
  close(fd);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

TEST_P(EventLoops, a_hangup_of_the_card_is_seen_and_stays) {
  int pair[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
  const auto events = loop(-1, pair[0]);
  EXPECT_FALSE(events->wait(kMillisecond).hangup);
  close(pair[1]);
  for (int i = 0; i < 3; ++i) {
    const Events got = events->wait(kLong);
    EXPECT_TRUE(got.hangup);
    EXPECT_FALSE(got.signal);
  }
  close(pair[0]);
}

TEST_P(EventLoops, both_events_are_seen) {
  const int a = eventfd(1, EFD_CLOEXEC), b = eventfd(1, EFD_CLOEXEC);
  const auto events = loop(a, b);
  bool signal = false, hangup = false;
  for (int i = 0; i < 4 && !(signal && hangup); ++i) {
    const Events got = events->wait(kLong);
    signal |= got.signal;
    hangup |= got.hangup;
  }
  EXPECT_TRUE(signal && hangup);
  close(a);
  close(b);
}

TEST_P(EventLoops, reads_fill_their_spans) {
  const Numbers file(10000);
  const auto events = loop(-1, -1);
  EXPECT_TRUE(events->read_all({}));
  std::vector<uint64_t> a(100), b(1), c(5000);
  const FileRead reads[] = {
      {file.fd(), 800, a}, {file.fd(), 79992, b}, {file.fd(), 0, c}, {file.fd(), 0, {}}};
  ASSERT_TRUE(events->read_all(reads));
  for (size_t i = 0; i < a.size(); ++i) ASSERT_EQ(a[i], 100 + i);
  EXPECT_EQ(b[0], 9999u);
  for (size_t i = 0; i < c.size(); ++i) ASSERT_EQ(c[i], i);
}

TEST_P(EventLoops, many_reads_in_one_batch_all_arrive) {
  const Numbers file(4096);
  const auto events = loop(-1, -1);
  for (const size_t count : {1, 31, 32, 33, 64, 65, 200}) {
    std::vector<std::vector<uint64_t>> out(count, std::vector<uint64_t>(3));
    std::vector<FileRead> reads;
    for (size_t i = 0; i < count; ++i) reads.push_back({file.fd(), 8 * (i * 20), out[i]});
    ASSERT_TRUE(events->read_all(reads));
    for (size_t i = 0; i < count; ++i)
      for (size_t w = 0; w < 3; ++w) ASSERT_EQ(out[i][w], i * 20 + w) << count;
  }
}

TEST_P(EventLoops, a_short_or_failed_read_is_said_and_the_loop_goes_on) {
  const Numbers file(100);
  const auto events = loop(-1, -1);
  const int closed = dup(file.fd());
  close(closed);
  const int write_only = open("/dev/null", O_WRONLY | O_CLOEXEC);
  std::vector<uint64_t> out(50), good(50);
  const FileRead bad[] = {{file.fd(), 408, out},  // one word short
                          {file.fd(), 800, out},  // nothing
                          {file.fd(), 1 << 30, out}, {closed, 0, out}, {-1, 0, out}, {write_only, 0, out}};
  for (const FileRead& r : bad) {
    EXPECT_FALSE(events->read_all({&r, 1}));
    for (const bool first : {true, false}) {
      const FileRead good_read{file.fd(), 0, good};
      const FileRead mixed[] = {first ? r : good_read, first ? good_read : r};
      EXPECT_FALSE(events->read_all(mixed));
    }
    std::fill(good.begin(), good.end(), 0);
    const FileRead again{file.fd(), 400, good};
    ASSERT_TRUE(events->read_all({&again, 1}));
    EXPECT_EQ(good[49], 99u);
  }
  close(write_only);
}

TEST_P(EventLoops, a_failure_among_many_reads_leaves_nothing_of_them_behind) {
  const Numbers file(4096);
  const auto events = loop(-1, -1);
  std::vector<std::vector<uint64_t>> out(200, std::vector<uint64_t>(8));
  std::vector<FileRead> reads;
  for (size_t i = 0; i < 200; ++i) reads.push_back({i % 50 == 7 ? -1 : file.fd(), 8 * i, out[i]});
  EXPECT_FALSE(events->read_all(reads));
  for (auto& r : reads) r.fd = file.fd();
  ASSERT_TRUE(events->read_all(reads));
  for (size_t i = 0; i < 200; ++i) ASSERT_EQ(out[i][7], i + 7);
}

TEST_P(EventLoops, events_that_come_during_reads_are_not_lost) {
  const Numbers file(4096);
  const int a = eventfd(0, EFD_CLOEXEC), b = eventfd(0, EFD_CLOEXEC);
  const auto events = loop(a, b);
  for (int round = 0; round < 20; ++round) {
    const uint64_t one = 1;
    ASSERT_EQ(write(round % 2 ? a : b, &one, 8), 8);
    std::vector<std::vector<uint64_t>> out(40, std::vector<uint64_t>(8));
    std::vector<FileRead> reads;
    for (size_t i = 0; i < 40; ++i) reads.push_back({file.fd(), 8 * i, out[i]});
    ASSERT_TRUE(events->read_all(reads));
    ASSERT_EQ(out[39][7], 46u);
    // It is there already: a wait of any length returns at once. One that slept would run into ctest's limit.
    const Events got = events->wait(3'600'000 * kMillisecond);
    EXPECT_TRUE(round % 2 ? got.signal : got.hangup) << round;
    uint64_t value;
    ASSERT_EQ(read(round % 2 ? a : b, &value, 8), 8);
    events->wait(0);
    events->wait(kMillisecond);
  }
  close(a);
  close(b);
}

TEST(EventLoop, the_plain_one_needs_no_reason) {
  std::string why;
  EXPECT_EQ(make_event_loop(-1, -1, true, why)->name(), "poll");
  EXPECT_EQ(why, "");
}

INSTANTIATE_TEST_SUITE_P(Backends, EventLoops, testing::Bool(),
                         [](const auto& i) { return std::string(i.param ? "plain" : "io_uring"); });

}  // namespace
}  // namespace ttc::collect
