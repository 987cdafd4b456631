// When the chunks of a sweep become visible to readers that poll.
#include "collector/publish/publisher.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <vector>

#include "shm/reader.hpp"

namespace ttc::collect {
namespace {

using Next = shm::Reader::Next;

class PublisherSweeps : public testing::Test {
 protected:
  PublisherSweeps() {
    shm::SegmentOptions options;
    options.ring_bytes = 64 << 10;
    segment_ = std::make_unique<shm::SegmentWriter>(name_, "emu:card", 1, options);
    publisher_ = std::make_unique<Publisher>(*segment_, 0, uint8_t{4});
    reader_ = std::make_unique<shm::Reader>(name_, shm::StartAt::oldest);
    visit(1);
    publisher_->end_sweep();
    EXPECT_EQ(seen(), 1u);
  }
  ~PublisherSweeps() override {
    segment_.reset();
    shm::remove_segment(name_);
  }
  void visit(uint64_t read_time_ns) {
    uint64_t* const at = publisher_->claim(Publisher::kHeadBytes);
    ASSERT_NE(at, nullptr);
    publisher_->publish_words(
        at, Publisher::kHeadBytes,
        {1, 1, markers::CoreKind::tensix, device::Mode::normal, 0, 0, 0, read_time_ns, 0}, {});
  }
  // Chunks that a reader gets without waiting.
  size_t seen() {
    std::vector<uint64_t> chunk;
    size_t count = 0;
    while (reader_->next(chunk, 0) == Next::chunk) ++count;
    return count;
  }

  const std::string name_ = "test-publisher-" + std::to_string(getpid());
  std::unique_ptr<shm::SegmentWriter> segment_;
  std::unique_ptr<Publisher> publisher_;
  std::unique_ptr<shm::Reader> reader_;
};

TEST_F(PublisherSweeps, visits_over_a_link_are_each_seen_at_once) {
  for (uint64_t i = 0; i < 100; ++i) {
    visit(1'000'000 + i * Publisher::kAnnounceNs);
    EXPECT_EQ(seen(), 1u) << "visit " << i;
  }
  publisher_->end_sweep();
  EXPECT_EQ(seen(), 0u);
}

TEST_F(PublisherSweeps, visits_that_take_next_to_nothing_share_announcements) {
  size_t so_far = 0, announcements = 0;
  for (uint64_t i = 0; i < 100; ++i) {
    visit(1'000'000 + i * 100);
    const size_t now = seen();
    so_far += now;
    announcements += now != 0;
    EXPECT_GE(so_far + 9, i + 1) << "visit " << i << ": more than 1 us is not announced";
  }
  EXPECT_EQ(announcements, 10u) << "the line that readers poll is stored once in 1 us";
  publisher_->end_sweep();
  EXPECT_EQ(so_far + seen(), 100u) << "the rest at the sweep's end";
}

TEST_F(PublisherSweeps, the_first_chunk_of_a_sweep_does_not_wait_for_its_end) {
  visit(1'000'000);
  EXPECT_EQ(seen(), 1u);
  publisher_->end_sweep();
  visit(1'000'100);
  EXPECT_EQ(seen(), 0u) << "announced 100 ns ago";
  publisher_->end_sweep();
  EXPECT_EQ(seen(), 1u);
}

TEST_F(PublisherSweeps, the_fullest_log_since_the_last_question) {
  const auto words_until = [&](uint32_t log_end, shm::SpanSource source) {
    uint64_t* const at = publisher_->claim(Publisher::kHeadBytes + 8);
    ASSERT_NE(at, nullptr);
    const Publisher::Span span{0, 7000, 2, Publisher::kHeadBytes, {}, source, log_end};
    publisher_->publish_words(at, Publisher::kHeadBytes + 8,
                              {1, 1, markers::CoreKind::tensix, device::Mode::normal, 0, 0, 0, 5, 0},
                              {&span, 1});
  };
  EXPECT_EQ(publisher_->take_fullest_log_words(), 0u);
  words_until(900, shm::SpanSource::dram_log);
  words_until(400, shm::SpanSource::dram_log);
  EXPECT_EQ(publisher_->take_fullest_log_words(), 900u);
  words_until(0, shm::SpanSource::l1_buffer);  // not in a log
  EXPECT_EQ(publisher_->take_fullest_log_words(), 0u);
}

}  // namespace
}  // namespace ttc::collect
