// Accumulating firmware keeps running while a poll reads its buffers.
#include <gtest/gtest.h>

#include <algorithm>

#include "collector/drain/drain.hpp"
#include "tests/sim/macro_attachment.hpp"
#include "tests/sim/ring_reading.hpp"

namespace ttc::sim {
namespace {

// Makes `launches_left` launches right before the first marker of BRISC's buffer is read, `launches_at_buffer` before the whole
// buffer is, and `launches_amid_buffer` between two halves of it, as the observer loses the CPU there.
class LaunchesWithinAPoll : public MacroCard {
 public:
  using MacroCard::MacroCard;
  card::Access copy(card::Window window, uint32_t offset, std::span<uint64_t> out) override {
    const uint32_t first_marker = buffer_address() + 4 * device::kFirstCustomWord;
    if (window == card::Window::control && offset == (first_marker & (card::kWindowBytes - 1)))
      for (; launches_left > 0; --launches_left) launch(Launch::plain);
    const bool whole = 2 * out.size() >= device::kBufferWords;
    if (window == card::Window::control && whole && offset == (buffer_address() & (card::kWindowBytes - 1)))
      for (; launches_at_buffer > 0; --launches_at_buffer) launch(Launch::plain);
    if (window == card::Window::control && whole && launches_amid_buffer > 0) {
      const size_t half = out.size() / 2;
      if (const card::Access a = MacroCard::copy(window, offset, out.first(half)); a != card::Access::ok)
        return a;
      for (; launches_amid_buffer > 0; --launches_amid_buffer) launch(Launch::plain);
      return MacroCard::copy(window, offset + 8 * static_cast<uint32_t>(half), out.subspan(half));
    }
    return MacroCard::copy(window, offset, out);
  }
  int launches_left = 0, launches_at_buffer = 0, launches_amid_buffer = 0;
};

// A ring of the test's own: what another one left in it would be read, too.
struct AccumulatingRing {
  RingReading::Shared ring;
};
class AccumulatingCore : AccumulatingRing, public RingReading, public testing::Test {
 protected:
  explicit AccumulatingCore(uint32_t zones = 60)
      : RingReading(ring), card_{{4, device::Mode::accumulate, zones, false}} {
    options_.bytes_per_risc = 4 * MacroCard::kLogWords;
  }
  void poll(collect::Drain& drain, int times) {
    for (int i = 0; i < times; ++i) {
      card_.pass(200'000);
      drain.sweep(card_.now(), true);
    }
  }
  // Each polled for: lanes that have delivered frames, and buffers that have been begun.
  void push_twice(collect::Drain& drain) {
    for (int pushes = 0; pushes < 2 || stored_by_brisc() == 0; pushes += stored_by_brisc() == 0) {
      card_.launch(MacroCard::Launch::plain);
      poll(drain, 4);
    }
  }
  void launch_until_pushed() {
    do card_.launch(MacroCard::Launch::plain);
    while (stored_by_brisc() != 0);
  }
  // Behind a host reset that was noticed and a launch that was polled: no poll comes between that and the push.
  void push_first_of_an_epoch(collect::Drain& drain) {
    push_twice(drain);
    card_.reset();
    poll(drain, 20);
    card_.launch(MacroCard::Launch::plain);
    poll(drain, 8);
    EXPECT_GT(stored_by_brisc(), device::kFirstCustomWord);
    launch_until_pushed();
  }
  // Empty: everything is accounted for.
  std::string unaccounted_for(collect::Publisher& publisher, const collect::Drain& drain) {
    read_ring(publisher);
    losses_ = drain.losses().intervals();
    std::vector<SimMarker> stored;
    for (const MacroMarker& m : card_.markers()) stored.push_back(m.marker);
    return delivered_.empty() ? "nothing was delivered" : RingReading::unaccounted_for(stored);
  }
  uint32_t stored_by_brisc() const {
    return card_.load(MacroCard::kControlAddress + 4u * card_.format().device_end);
  }

  LaunchesWithinAPoll card_;
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

// A push without room in the log restarts the buffer and moves no index. Its count came with a poll at which words waited.
TEST_F(AccumulatingCore, whose_push_had_no_room_while_words_waited_was_not_reset) {
  LaunchesWithinAPoll card(
      {.mode = device::Mode::accumulate, .zones = 60, .log_words = 3000});  // five frames
  collect::Attachment attachment = attachment_of(card);
  collect::Publisher publisher(shared_.segment, 0, card.format().generation);
  const auto logs = collect::window_log_reader(card);
  options_.bytes_per_risc = 4 * card.log_words();
  collect::Drain drain(card, attachment, *logs, publisher, shared_.segment, options_);
  const auto launch_and_poll = [&](int launches, int polls) {
    for (int i = 0; i < launches; ++i) card.launch(MacroCard::Launch::plain);
    for (int i = 0; i < polls; ++i) {
      card.pass(200'000);
      drain.sweep(card.now(), true);
    }
  };
  const auto dropped = [&] { return card.load(MacroCard::kControlAddress + 4u * card.format().dropped); };
  launch_and_poll(1, 4);
  launch_and_poll(10, 1);  // two polls take this much
  ASSERT_EQ(dropped(), 0u);
  launch_and_poll(2, 10);
  ASSERT_NE(dropped(), 0u);
  EXPECT_EQ(drain.epochs(), 0u);
  drain.close_account(false);
  const auto lost = drain.losses().intervals();
  const auto in_full_log = [&](const shm::LossRecord& gap) {
    return std::any_of(lost.begin(), lost.end(), [&](const shm::LossRecord& full) {
      return full.cause == shm::LossCause::dropped_on_card && full.risc == gap.risc &&
             full.from_cycles <= gap.from_cycles && gap.to_cycles <= full.to_cycles;
    });
  };
  EXPECT_FALSE(lost.empty());
  EXPECT_TRUE(std::all_of(lost.begin(), lost.end(), in_full_log));
}

// A push that lasts for some polls: its index moves with one of them, DEVICE_END is cleared with the next, the count comes last.
TEST_F(AccumulatingCore, that_is_polled_within_a_push_was_not_reset) {
  collect::Publisher publisher(shared_.segment, 0, card_.format().generation);
  const auto logs = collect::window_log_reader(card_);
  collect::Drain drain(card_, attachment_, *logs, publisher, shared_.segment, options_);
  unsigned pushes = 0;
  card_.in_push = [&] {
    ++pushes;
    poll(drain, 2);
  };
  for (int i = 0; i < 8; ++i) {
    card_.launch(MacroCard::Launch::plain);
    poll(drain, 4);
  }
  card_.in_push = nullptr;
  EXPECT_EQ(pushes, 4 * MacroCard::kRiscs);
  EXPECT_EQ(drain.epochs(), 0u);
  drain.close_account(false);
  EXPECT_TRUE(drain.losses().intervals().empty());
  read_ring(publisher);
  std::vector<SimMarker> stored;
  for (const MacroMarker& m : card_.markers()) stored.push_back(m.marker);
  EXPECT_EQ(delivered_once(stored), "");
  std::sort(stored.begin(), stored.end());
  EXPECT_TRUE(missing_of(stored).empty());
}

// A RISC that runs no kernel leaves in its buffer what an earlier session stored there. A host reset delivers what a buffer holds, but not
// that: it is older than the begin of collecting, and no poll showed that the lane had begun the buffer.
TEST_F(AccumulatingCore, whose_buffer_an_earlier_session_left_delivers_nothing_of_it) {
  constexpr uint32_t kMarkers = 40;
  for (uint32_t m = 0; m < kMarkers; ++m) {
    const uint64_t time = MacroCard::kBeginNs - 1'000'000 + 100 * m;
    const uint32_t word = device::kBufferWords + device::kFirstCustomWord + 2 * m;
    card_.store(card_.buffer_address() + 4 * word, 0x80000000 | static_cast<uint32_t>(time >> 32));
    card_.store(card_.buffer_address() + 4 * word + 4, static_cast<uint32_t>(time));
  }
  collect::Publisher publisher(shared_.segment, 0, card_.format().generation);
  const auto logs = collect::window_log_reader(card_);
  collect::Drain drain(card_, attachment_, *logs, publisher, shared_.segment, options_);
  for (int i = 0; i < 2; ++i) {
    card_.launch(MacroCard::Launch::sits_out);
    poll(drain, 4);
    card_.pass(3'000'000);
    card_.reset();
    poll(drain, 8);
  }
  drain.close_account(false);
  read_ring(publisher);
  std::vector<SimMarker> stored;
  for (const MacroMarker& m : card_.markers()) stored.push_back(m.marker);
  ASSERT_FALSE(delivered_.empty());
  EXPECT_EQ(delivered_once(stored), "");
}

// A host reset, and launches until the buffers are read, of which the last is in L1 and those before it are in the log: what L1 holds
// must not come in front of that, since readers drop what is older than what they have.
TEST_F(AccumulatingCore, that_pushes_until_its_buffers_are_read_behind_a_reset_keeps_what_it_pushed) {
  collect::Publisher publisher(shared_.segment, 0, card_.format().generation);
  const auto logs = collect::window_log_reader(card_);
  collect::Drain drain(card_, attachment_, *logs, publisher, shared_.segment, options_);
  do {
    card_.launch(MacroCard::Launch::plain);
    poll(drain, 4);
  } while (stored_by_brisc() <= device::kFirstCustomWord);
  card_.reset();
  const uint64_t reset_ns = card_.now();
  card_.launches_at_buffer = 5;
  poll(drain, 8);
  ASSERT_EQ(card_.launches_at_buffer, 0);
  drain.close_account(false);
  read_ring(publisher);
  std::vector<SimMarker> stored;
  for (const MacroMarker& m : card_.markers()) stored.push_back(m.marker);
  EXPECT_EQ(delivered_once(stored), "");
  std::sort(stored.begin(), stored.end());
  for (const SimMarker& m : missing_of(stored))
    ADD_FAILURE() << (m.time > reset_ns ? "pushed behind the reset" : "copied before the reset")
                  << " and missing: " << text(m);
}

class AccumulatingReadOf : public AccumulatingCore, public testing::WithParamInterface<int> {};

// A host reset, and the new epoch begins BRISC's buffer again while it is read: its front was of the old epoch and its back of the new
// one, in ascending order, and what lay between them was missing without an interval.
TEST_P(AccumulatingReadOf, a_buffer_that_begins_again_meanwhile_accounts_for_what_was_overwritten) {
  collect::Publisher publisher(shared_.segment, 0, card_.format().generation);
  const auto logs = collect::window_log_reader(card_);
  collect::Drain drain(card_, attachment_, *logs, publisher, shared_.segment, options_);
  card_.launch(MacroCard::Launch::plain);
  poll(drain, 4);
  card_.reset();
  card_.launches_amid_buffer = GetParam();
  poll(drain, 8);
  EXPECT_EQ(card_.launches_amid_buffer, 0) << "the buffer was not read";
  drain.close_account(false);
  EXPECT_EQ(unaccounted_for(publisher, drain), "");
}
INSTANTIATE_TEST_SUITE_P(Launches, AccumulatingReadOf, testing::Values(1, 2, 3));

// The place of the last zone end of a push, when a host reset falls in front of its last word.
enum class LastEnd : uint8_t { blank, high_word, of_the_push_before };
class AccumulatingCoreInAPush : public AccumulatingCore, public testing::WithParamInterface<LastEnd> {};

// A push stores its zones word by word. Where a host reset fell before the last end, it was missing without an interval; where it fell
// within that end, its time was made up.
TEST_P(AccumulatingCoreInAPush, accounts_for_zones_that_are_stored_in_part_at_a_reset) {
  collect::Publisher publisher(shared_.segment, 0, card_.format().generation);
  const auto logs = collect::window_log_reader(card_);
  collect::Drain drain(card_, attachment_, *logs, publisher, shared_.segment, options_);
  const auto until_pushed = [&] {
    do {
      card_.launch(MacroCard::Launch::plain);
      poll(drain, 4);
    } while (stored_by_brisc() != 0);
  };
  const uint32_t place = card_.buffer_address() + 4 * device::kKernelEndWord;
  using Words = std::array<uint32_t, 2>;
  const auto load = [&] { return Words{card_.load(place), card_.load(place + 4)}; };
  const auto store = [&](const Words& words) {
    for (uint32_t w = 0; w < 2; ++w) card_.store(place + 4 * w, words[w]);
  };
  until_pushed();
  const Words before = load();
  if (GetParam() == LastEnd::of_the_push_before) until_pushed();
  const Words last = load();
  ASSERT_TRUE(markers::is_marker(last[0]));
  store(GetParam() == LastEnd::of_the_push_before
            ? before
            : Words{GetParam() == LastEnd::high_word ? last[0] : device::kUnsetWord, device::kUnsetWord});
  card_.reset();
  poll(drain, 8);
  store(last);  // the firmware stores it after all
  card_.launch(MacroCard::Launch::plain);
  poll(drain, 8);
  drain.close_account(false);
  EXPECT_EQ(unaccounted_for(publisher, drain), "");
  EXPECT_LT(delivered_.size(), card_.markers().size()) << "the end that was stored late is delivered";
}
INSTANTIATE_TEST_SUITE_P(Places, AccumulatingCoreInAPush,
                         testing::Values(LastEnd::blank, LastEnd::high_word, LastEnd::of_the_push_before));

// Between two polls, of which the second is late, a push, a host reset, and a second push with another reset within it: that clears the
// indices, and the firmware then counts the push. The count was taken for the reason that the buffers begin with other markers, and the
// first push was missing without an interval.
TEST_F(AccumulatingCore, that_is_reset_within_a_push_was_not_just_pushed) {
  collect::Publisher publisher(shared_.segment, 0, card_.format().generation);
  const auto logs = collect::window_log_reader(card_);
  collect::Drain drain(card_, attachment_, *logs, publisher, shared_.segment, options_);
  push_first_of_an_epoch(drain);
  card_.reset();
  uint32_t lanes = 0;
  card_.in_push = [&] {
    if (++lanes == MacroCard::kRiscs) card_.reset();
  };
  do card_.launch(MacroCard::Launch::plain);
  while (lanes == 0);
  card_.in_push = nullptr;
  const auto word = [&](uint32_t w) { return card_.load(MacroCard::kControlAddress + 4 * w); };
  ASSERT_EQ(word(card_.format().run_counter), 1u) << "the firmware did not count the push behind the reset";
  ASSERT_EQ(word(card_.format().host_end), 0u);
  card_.pass(2 * collect::timing::kPollDeadlineNs);
  card_.launch(MacroCard::Launch::plain);
  ASSERT_GT(stored_by_brisc(), device::kFirstCustomWord);
  poll(drain, 8);
  card_.reset();
  poll(drain, 8);
  drain.close_account(false);
  EXPECT_EQ(unaccounted_for(publisher, drain), "");
}

// A host reset behind the first push of an epoch, and in front of the zones that the push stores last. No poll came in between: the zones
// were missing without an interval.
TEST_F(AccumulatingCore, that_is_reset_before_it_stores_the_zones_of_its_first_push_accounts_for_them) {
  collect::Publisher publisher(shared_.segment, 0, card_.format().generation);
  const auto logs = collect::window_log_reader(card_);
  collect::Drain drain(card_, attachment_, *logs, publisher, shared_.segment, options_);
  push_first_of_an_epoch(drain);
  std::array<uint32_t, device::kFirstCustomWord - device::kFwStartWord> zones{};
  const auto place = [&](size_t w) {
    return card_.buffer_address() + 4 * static_cast<uint32_t>(device::kFwStartWord + w);
  };
  for (size_t w = 0; w < zones.size(); ++w) {
    zones[w] = card_.load(place(w));
    card_.store(place(w), device::kUnsetWord);
  }
  ASSERT_TRUE(markers::is_marker(zones[0]));
  card_.reset();
  poll(drain, 8);
  for (size_t w = 0; w < zones.size(); ++w) card_.store(place(w), zones[w]);
  card_.launch(MacroCard::Launch::plain);
  poll(drain, 8);
  drain.close_account(false);
  EXPECT_EQ(unaccounted_for(publisher, drain), "");
  EXPECT_LT(delivered_.size(), card_.markers().size()) << "the zones that were stored late are delivered";
}

// With 12 zones the launch within which the host resets does not end with a push, with 60 it does.
class AccumulatingCoreInALaunch : public AccumulatingCore, public testing::WithParamInterface<uint32_t> {
 protected:
  AccumulatingCoreInALaunch() : AccumulatingCore(GetParam()) {}
};

// Between two polls a push, a launch in L1, and a host reset within the next launch, whose NCRISC then begins its buffer again: what
// NCRISC had stored since the push was missing without an interval.
TEST_P(AccumulatingCoreInALaunch, accounts_for_a_buffer_that_no_poll_saw_before_a_reset) {
  collect::Publisher publisher(shared_.segment, 0, card_.format().generation);
  const auto logs = collect::window_log_reader(card_);
  collect::Drain drain(card_, attachment_, *logs, publisher, shared_.segment, options_);
  push_twice(drain);
  launch_until_pushed();
  card_.launch(MacroCard::Launch::plain);
  card_.launch(MacroCard::Launch::reset_first);
  poll(drain, 8);
  drain.close_account(false);
  EXPECT_EQ(unaccounted_for(publisher, drain), "");
}
INSTANTIATE_TEST_SUITE_P(Zones, AccumulatingCoreInALaunch, testing::Values(12, 60));

}  // namespace
}  // namespace ttc::sim
