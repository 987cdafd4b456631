// SIGBUS on a revoked mapping becomes an answer, for the thread that raised it alone. The signal
// is real: pages behind the end of a file, as the driver's revoked ones, raise it with BUS_ADRERR.
#include "driver_iface/kmd/kmd_fault.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <thread>
#include <vector>

#include "driver_iface/kmd/kmd_copy.hpp"

namespace ttc::card::kmd {
namespace {

constexpr size_t kFaultPage = 4096;

class Window {
 public:
  explicit Window(size_t pages = 2) : bytes_(pages * kFaultPage) {
    fd_ = memfd_create("window", MFD_CLOEXEC);
    restore();
    at_ = static_cast<uint64_t*>(mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, fd_, 0));
    for (size_t i = 0; i < bytes_ / 8; ++i) at_[i] = i;
  }
  ~Window() {
    munmap(at_, bytes_);
    close(fd_);
  }
  Window(const Window&) = delete;
  Window& operator=(const Window&) = delete;
  void revoke(size_t kept_pages = 0) {
    ASSERT_EQ(ftruncate(fd_, static_cast<off_t>(kept_pages * kFaultPage)), 0);
  }
  void restore() { ASSERT_EQ(ftruncate(fd_, static_cast<off_t>(bytes_)), 0); }
  uint64_t* words() { return at_; }
  size_t bytes() const { return bytes_; }

 private:
  size_t bytes_;
  int fd_ = -1;
  uint64_t* at_ = nullptr;
};

bool copy_all(Window& window, uint64_t* to, CopyWidth width = widest_copy()) {
  const Copy kernel = copy_of(width);
  const uint64_t* from = window.words();
  const size_t words = window.bytes() / 8;
  return caught(from, window.bytes(), [kernel, to, from, words] { kernel(to, from, words); });
}

TEST(KmdFault, a_revoked_mapping_is_an_answer_for_every_width) {
  Window window;
  std::vector<uint64_t> out(window.bytes() / 8);
  for (const CopyWidth width : copy_widths()) {
    ASSERT_TRUE(copy_all(window, out.data(), width));
    EXPECT_EQ(out[700], 700u);
    window.revoke();
    EXPECT_FALSE(copy_all(window, out.data(), width)) << to_string(width);
    EXPECT_FALSE(copy_all(window, out.data(), width)) << "again, " << to_string(width);
    window.restore();
    for (size_t i = 0; i < out.size(); ++i) window.words()[i] = i;
  }
}

TEST(KmdFault, what_was_copied_before_the_revoked_page_is_there) {
  Window window;
  window.revoke(1);
  std::vector<uint64_t> out(window.bytes() / 8, 77);
  EXPECT_FALSE(copy_all(window, out.data()));
  EXPECT_EQ(out[kFaultPage / 8 - 1], kFaultPage / 8 - 1);
  EXPECT_EQ(out[kFaultPage / 8], 77u);
}

// Each thread's mapping is revoked and restored by itself while it reads: a reader of a good one is not
// affected by the others'.
TEST(KmdFault, threads_meet_their_own_faults_only) {
  constexpr int kThreads = 4, kRounds = 200;
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t)
    threads.emplace_back([&, t] {
      Window window;
      std::vector<uint64_t> out(window.bytes() / 8);
      for (int i = 0; i < kRounds; ++i) {
        const bool revoked = (i + t) % 2;
        if (revoked) window.revoke();
        if (copy_all(window, out.data()) == revoked) ++wrong;
        if (revoked) window.restore();
      }
    });
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(wrong, 0);
}

TEST(KmdFault, a_mapping_revoked_by_another_thread_in_the_middle_of_copying) {
  Window window(64);
  std::vector<uint64_t> out(window.bytes() / 8);
  std::atomic<bool> reading{false};
  std::thread revoker([&] {
    while (!reading) std::this_thread::yield();
    window.revoke();
  });
  reading = true;
  while (copy_all(window, out.data())) {
  }
  revoker.join();
  EXPECT_FALSE(copy_all(window, out.data()));
}

// True if the process was ended by the signal, or by a sanitizer that reports it.
bool died(int status) {
  return WIFSIGNALED(status) || WEXITSTATUS(status) != 0;
}

TEST(KmdFaultDeath, other_faults_are_not_swallowed) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  Window window;
  uint64_t word = 0;
  const uint64_t* good = window.words();
  ASSERT_TRUE(caught(good, 8, [good, &word] { word = *static_cast<const volatile uint64_t*>(good); }));
  // Outside of any net, and inside one for another range.
  EXPECT_EXIT(
      {
        window.revoke();
        word = *static_cast<const volatile uint64_t*>(window.words());
      },
      died, "");
  EXPECT_EXIT(
      {
        Window other;
        window.revoke();
        const uint64_t* bad = window.words();
        caught(other.words(), other.bytes(),
               [bad, &word] { word = *static_cast<const volatile uint64_t*>(bad); });
      },
      died, "");
}

}  // namespace
}  // namespace ttc::card::kmd
