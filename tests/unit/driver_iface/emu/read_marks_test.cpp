// The emulated card's read marks, by which its firmware is paced: how many of the words that landed were read.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "driver_iface/emulated_card.hpp"
#include "tests/unit/driver_iface/emu/card_emulated_fixture.hpp"

namespace ttc::card {
namespace {

class ReadMarks : public testing::TestWithParam<bool> {
 protected:
  static constexpr uint32_t kBase = 4096, kPerRisc = 1024, kPerBank = 2;
  void SetUp() override {
    auto o = options(std::string("marks-") + (GetParam() ? "strict" : "mapped"));
    o.strict = GetParam();
    card = std::make_unique<EmulatedCard>(o);
    card->set_log_geometry({0, 0, kBase, kPerRisc, kPerBank});
    card->announce();
    observer = open_card("emu:" + o.name);
  }
  // A lane of view 1: flat id 2 is its first core.
  static constexpr uint32_t lane(uint32_t core, uint32_t risc) { return (1 * kPerBank + core) * 5 + risc; }
  static uint64_t address(uint32_t core, uint32_t risc, uint32_t word) {
    return kBase + uint64_t{core * 5 + risc} * kPerRisc + word * 4;
  }
  void write(uint32_t core, uint32_t risc, uint32_t first, uint32_t words, uint32_t value) {
    std::vector<uint32_t> text(words);
    for (uint32_t i = 0; i < words; ++i) text[i] = value + i;
    card->store_dram(1, address(core, risc, first), text);
  }
  void read(uint32_t core, uint32_t risc, uint32_t first, uint32_t words) {
    const DramView& view = card->arch().dram_views()[1];
    const uint64_t at = view.offset + address(core, risc, first);
    out.assign(words / 2, 0);
    ASSERT_EQ(observer->aim(Window::payload, view.endpoint, at), Access::ok);
    ASSERT_EQ(observer->copy(Window::payload, static_cast<uint32_t>(at % kWindowBytes), out), Access::ok);
  }
  std::unique_ptr<EmulatedCard> card;
  std::unique_ptr<Card> observer;
  std::vector<uint64_t> out;
};

TEST_P(ReadMarks, what_was_read_from_the_start_on_counts_up_to_what_had_landed) {
  write(0, 2, 0, 100, 1);
  card->set_landed(lane(0, 2), 0, 60);
  EXPECT_EQ(card->words_read(lane(0, 2), 0), 0u);
  read(0, 2, 0, 20);
  EXPECT_EQ(card->words_read(lane(0, 2), 0), 20u);
  read(0, 2, 20, 20);
  EXPECT_EQ(card->words_read(lane(0, 2), 0), 40u);
  read(0, 2, 0, 10);  // again: earlier marks stay
  EXPECT_EQ(card->words_read(lane(0, 2), 0), 40u);
  read(0, 2, 30, 60);
  EXPECT_EQ(card->words_read(lane(0, 2), 0), 60u);
  for (uint32_t risc : {0, 1, 3, 4}) EXPECT_EQ(card->words_read(lane(0, risc), 0), 0u);
  EXPECT_EQ(card->words_read(lane(1, 2), 0), 0u);
}

TEST_P(ReadMarks, a_probe_further_on_does_not_count) {
  write(1, 0, 0, 100, 1);
  card->set_landed(lane(1, 0), 0, 100);
  read(1, 0, 40, 20);
  EXPECT_EQ(card->words_read(lane(1, 0), 0), 0u);
  read(1, 0, 0, 40);
  EXPECT_EQ(card->words_read(lane(1, 0), 0), 40u);
}

TEST_P(ReadMarks, a_host_reset_starts_again) {
  write(0, 0, 0, 100, 1);
  card->set_landed(lane(0, 0), 0, 100);
  read(0, 0, 0, 100);
  EXPECT_EQ(card->words_read(lane(0, 0), 0), 100u);
  card->set_landed(lane(0, 0), 1, 0);
  EXPECT_EQ(card->words_read(lane(0, 0), 1), 0u);
  write(0, 0, 0, 50, 1000);
  card->set_landed(lane(0, 0), 1, 50);
  read(0, 0, 20, 20);
  EXPECT_EQ(card->words_read(lane(0, 0), 1), 0u);
  read(0, 0, 0, 20);
  EXPECT_EQ(card->words_read(lane(0, 0), 1), 20u);
  EXPECT_EQ(card->words_read(lane(0, 0), 0), 0u);
}

TEST_P(ReadMarks, a_read_that_came_early_counts_for_the_words_it_got) {
  write(0, 1, 0, 30, 500);  // there, but not yet announced
  read(0, 1, 0, 60);
  EXPECT_EQ(card->words_read(lane(0, 1), 0), 0u);
  write(0, 1, 30, 30, 900);
  card->set_landed(lane(0, 1), 0, 60);
  read(1, 1, 0, 2);  // any next access settles it
  EXPECT_EQ(card->words_read(lane(0, 1), 0), 30u);
  read(0, 1, 30, 30);
  EXPECT_EQ(card->words_read(lane(0, 1), 0), 60u);
}

TEST_P(ReadMarks, a_read_that_came_early_counts_nothing_after_a_reset) {
  write(0, 1, 0, 30, 500);
  read(0, 1, 0, 30);
  write(0, 1, 0, 30, 500);  // the same words, of the next epoch
  card->set_landed(lane(0, 1), 1, 30);
  read(1, 1, 0, 2);
  EXPECT_EQ(card->words_read(lane(0, 1), 1), 0u);
}

// The latency of the link is spent between the test of what has landed and the copy.
TEST(EmulatedCard, words_that_land_while_a_copy_runs_count_when_the_copy_has_them) {
  auto o = options("landing");
  o.virtual_time = false;
  o.round_trip_ns = 200'000'000;
  EmulatedCard card(o);
  card.set_log_geometry({0, 0, 4096, 1024, 2});
  card.announce();
  const auto observer = open_card("emu:" + o.name);
  const Coord port = card.arch().dram_views()[0].endpoint;
  ASSERT_EQ(observer->aim(Window::payload, port, 0), Access::ok);
  std::vector<uint64_t> out(8);
  std::thread reader([&] { observer->copy(Window::payload, 4096, out); });
  while (card.account().round_trips == 0) std::this_thread::yield();
  const std::vector<uint32_t> words(16, 0x1234567);
  card.store_dram(0, 4096, words);
  card.set_landed(0, 0, 16);
  reader.join();
  uint64_t word;  // settles it
  observer->copy(Window::payload, 0, {&word, 1});
  const bool has_them =
      std::all_of(out.begin(), out.end(), [](uint64_t w) { return w == 0x0123456701234567; });
  EXPECT_EQ(card.words_read(0, 0), has_them ? 16u : 0u);
}

TEST_P(ReadMarks, descriptor_reads_count_when_they_are_released) {
  if (GetParam()) GTEST_SKIP() << "no descriptor";
  write(0, 3, 0, 100, 1);
  card->set_landed(lane(0, 3), 0, 100);
  const DramView& view = card->arch().dram_views()[1];
  const auto range = observer->descriptor_range(view.endpoint, view.offset + address(0, 3, 0), 400);
  ASSERT_TRUE(range);
  std::vector<uint64_t> got(50);
  ASSERT_EQ(pread(range->fd, got.data(), 400, static_cast<off_t>(range->file_offset)), 400);
  EXPECT_EQ(card->words_read(lane(0, 3), 0), 0u);
  observer->release(*range, got);
  EXPECT_EQ(card->words_read(lane(0, 3), 0), 100u);
}

// Words fetched before a host reset do not count for those that landed after it, even if they are more.
TEST_P(ReadMarks, a_descriptor_read_across_a_reset_does_not_count_for_the_new_words) {
  if (GetParam()) GTEST_SKIP() << "no descriptor";
  write(0, 3, 0, 100, 1);
  card->set_landed(lane(0, 3), 0, 100);
  const DramView& view = card->arch().dram_views()[1];
  const auto range = observer->descriptor_range(view.endpoint, view.offset + address(0, 3, 0), 400);
  ASSERT_TRUE(range);
  std::vector<uint64_t> got(50);
  ASSERT_EQ(pread(range->fd, got.data(), 400, static_cast<off_t>(range->file_offset)), 400);
  write(0, 3, 0, 200, 5000);
  card->set_landed(lane(0, 3), 1, 200);
  observer->release(*range, got);
  EXPECT_EQ(card->words_read(lane(0, 3), 1), 0u);
}

INSTANTIATE_TEST_SUITE_P(Emulated, ReadMarks, testing::Bool(),
                         [](const auto& i) { return std::string(i.param ? "strict" : "mapped"); });

}  // namespace
}  // namespace ttc::card
