// Accumulating firmware keeps running while a poll reads its buffers.
#include <gtest/gtest.h>

#include "collector/drain/drain.hpp"
#include "tests/sim/macro_attachment.hpp"
#include "tests/sim/ring_reading.hpp"

namespace ttc::sim {
namespace {

// Makes `launches_left` launches right before the first marker of BRISC's buffer is read.
class LaunchesWithinAPoll : public MacroCard {
 public:
  using MacroCard::MacroCard;
  card::Access copy(card::Window window, uint32_t offset, std::span<uint64_t> out) override {
    const uint32_t first_marker = buffer_address() + 4 * device::kFirstCustomWord;
    if (window == card::Window::control && offset == (first_marker & (card::kWindowBytes - 1)))
      for (; launches_left > 0; --launches_left) launch(Launch::plain);
    return MacroCard::copy(window, offset, out);
  }
  int launches_left = 0;
};

class AccumulatingCore : public RingReading, public testing::Test {
 protected:
  AccumulatingCore() : RingReading(ring()) { options_.bytes_per_risc = 4 * MacroCard::kLogWords; }
  void poll(collect::Drain& drain, int times) {
    for (int i = 0; i < times; ++i) {
      card_.pass(200'000);
      drain.sweep(card_.now(), true);
    }
  }
  uint32_t stored_by_brisc() const {
    return card_.load(MacroCard::kControlAddress + 4u * card_.format().device_end);
  }
  static Shared& ring() {
    static Shared shared;
    return shared;
  }

  LaunchesWithinAPoll card_{{4, device::Mode::accumulate, 60, false}};
  collect::Attachment attachment_ = attachment_of(card_);
  collect::DrainOptions options_;
};

TEST_F(AccumulatingCore, that_pushes_between_the_sample_and_the_buffer_was_not_reset) {
  collect::Publisher publisher(shared_.segment, 0, card_.format().generation);
  const auto logs = collect::window_log_reader(card_);
  collect::Drain drain(card_, attachment_, *logs, publisher, shared_.segment, options_);
  for (const int launches : {2, 3}) {
    do {
      card_.launch(MacroCard::Launch::plain);
      poll(drain, 4);
    } while (stored_by_brisc() <= device::kFirstCustomWord);
    card_.launches_left = launches;
    poll(drain, 4);
    EXPECT_EQ(card_.launches_left, 0);
    EXPECT_EQ(drain.epochs(), 0u) << launches;
  }
  drain.close_account(false);
  EXPECT_TRUE(drain.losses().intervals().empty());
  EXPECT_EQ(drain.retries(), 0u);
}

// A buffer that was begun behind a push, and a poll after its deadline: the canaries in the log show that no host reset passed.
TEST_F(AccumulatingCore, that_begins_a_buffer_before_a_late_poll_was_not_reset) {
  collect::Publisher publisher(shared_.segment, 0, card_.format().generation);
  const auto logs = collect::window_log_reader(card_);
  collect::Drain drain(card_, attachment_, *logs, publisher, shared_.segment, options_);
  card_.launch(MacroCard::Launch::plain);
  poll(drain, 4);
  card_.reset();  // from now on the host may do so again
  poll(drain, 20);
  for (int i = 0; i < 3; ++i) {
    do {
      card_.launch(MacroCard::Launch::plain);
      poll(drain, 4);
    } while (stored_by_brisc() > device::kFirstCustomWord);
    card_.pass(2 * collect::timing::kPollDeadlineNs);
    card_.launch(MacroCard::Launch::plain);
    ASSERT_GT(stored_by_brisc(), device::kFirstCustomWord);
    poll(drain, 4);
    EXPECT_EQ(drain.epochs(), 1u) << i;
  }
  drain.close_account(false);
  EXPECT_TRUE(drain.losses().intervals().empty());
}

}  // namespace
}  // namespace ttc::sim
