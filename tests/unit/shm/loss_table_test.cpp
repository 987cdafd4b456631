// Readers that come late, or were lapped, have the whole account: every interval as it was published last.
#include "shm/loss_table.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <map>
#include <random>
#include <span>
#include <thread>
#include <vector>

#include "collector/loss/loss_log.hpp"
#include "collector/publish/publisher.hpp"
#include "shm/reader.hpp"
#include "shm/segment.hpp"

namespace ttc::collect {
namespace {

using shm::LossCause;
using shm::LossPrecision;
using shm::LossRecord;
using shm::StartAt;

// A collector's segment with an account that goes into it.
class Losing {
 public:
  explicit Losing(uint64_t ring_bytes) : segment_(name_.text, "test", 7, options(ring_bytes)) {
    segment_.add_standing(shm::ChunkKind::session, "{}");
  }
  ~Losing() { segment_.end(); }
  static shm::SegmentOptions options(uint64_t ring_bytes) {
    shm::SegmentOptions o;
    o.ring_bytes = ring_bytes;
    o.standing_bytes = 4096;
    return o;
  }
  const std::string& name() const { return name_.text; }
  LossLog& account() { return account_; }
  shm::SegmentWriter& segment() { return segment_; }

 private:
  struct Name {  // goes after the writer, whose segment cannot be removed
    const std::string text = "test-losses-" + std::to_string(getpid());
    ~Name() { shm::remove_segment(text); }
  } name_;
  shm::SegmentWriter segment_;
  Publisher publisher_{segment_, 3, 4};
  LossLog account_{[this](const LossRecord& r) { publisher_.publish_loss(r); }};
};

using Account = std::map<uint64_t, LossRecord>;

// Takes what there is; false when the reader reports that no more will come.
bool take(shm::Reader& reader, Account& account, unsigned wait_ms = 0) {
  for (std::vector<uint64_t> chunk;;) {
    const auto next = reader.next(chunk, wait_ms);
    if (next == shm::Reader::Next::lapped) continue;
    if (next == shm::Reader::Next::timeout) return true;
    if (next != shm::Reader::Next::chunk) {
      EXPECT_EQ(next, shm::Reader::Next::ended) << reader.damage();
      return false;
    }
    if (shm::header_of(chunk).kind != shm::ChunkKind::loss) continue;
    LossRecord r;
    std::memcpy(&r, shm::body_of(chunk).data(), sizeof r);
    account[r.id] = r;
  }
}

std::string text_of(const LossRecord& r) {
  return std::to_string(r.id) + ": " + std::to_string(r.core_x) + "-" + std::to_string(r.core_y) + "/" +
         std::to_string(r.risc) + " " + to_string(r.cause) + " " + std::to_string(r.from_cycles) + ".." +
         std::to_string(r.to_cycles) + " " + std::to_string(r.words) + " " + std::to_string(r.launches) +
         " of " + std::to_string(r.device) + ", epoch " + std::to_string(r.epoch) + ", " +
         to_string(r.precision);
}
// Whether a reader's account is that of the collector, to the last byte. Tens of thousands of records are compared: a text is
// made of the first two that differ.
testing::AssertionResult same(const Account& account, std::span<const LossRecord> intervals) {
  if (account.size() != intervals.size())
    return testing::AssertionFailure() << account.size() << " intervals instead of " << intervals.size();
  auto wanted = intervals.begin();
  for (const auto& [id, r] : account) {
    LossRecord published = *wanted++;
    published.device = 3;
    if (std::memcmp(&r, &published, sizeof r) != 0)
      return testing::AssertionFailure() << text_of(r) << " instead of " << text_of(published);
  }
  return testing::AssertionSuccess();
}

// The test has as many tiles as a chip can have, each losing in several ways until the account takes no more.
TEST(LossTable, the_largest_account_there_can_be_is_there_for_whoever_comes_late) {
  Losing losing(64 << 10);
  shm::Reader slow(losing.name(), StartAt::oldest);  // lapped many times over
  constexpr unsigned kTiles = 160, kCauses = 6;
  uint64_t now = 1000;
  for (unsigned round = 0; round < 18; ++round)
    for (uint8_t tile = 0; tile < kTiles; ++tile)
      for (uint8_t risc = 0; risc < 5; ++risc)
        for (unsigned cause = 0; cause < kCauses; ++cause) {
          // Those of the last cause come when the account is full already.
          if (cause + 1 == kCauses && round < 17) continue;
          losing.account().record({tile, 1, risc, 0}, static_cast<LossCause>(cause),
                                  LossPrecision::exact_words, now, now + 10, 2, 0);
          ++now;
        }
  const std::vector<LossRecord>& intervals = losing.account().intervals();
  EXPECT_GT(intervals.size(), LossMerge::kMost);
  EXPECT_LE(intervals.size(), shm::kLossTableRecords);
  for (const StartAt start : {StartAt::newest, StartAt::oldest}) {
    shm::Reader late(losing.name(), start);
    Account account;
    EXPECT_TRUE(take(late, account));
    EXPECT_TRUE(same(account, intervals));
  }
  Account account;
  EXPECT_TRUE(take(slow, account));
  EXPECT_GT(slow.laps(), 0u);
  EXPECT_TRUE(same(account, intervals));
}

TEST(LossTable, an_interval_that_grows_takes_no_more_room) {
  Losing losing(64 << 10);
  const LossLog::Where here{1, 2, 3, 4};
  for (uint64_t launches = 1; launches < uint64_t{1} << 40; launches *= 2)
    losing.account().open(here, LossCause::dropped_on_card, 100, launches);
  for (uint64_t i = 0; i < 10'000; ++i)
    losing.account().record(here, LossCause::unparsable, LossPrecision::exact_words, 10 * i, 10 * i + 5, 1,
                            0);
  losing.account().close(here, LossCause::dropped_on_card, 200'000);
  shm::Reader late(losing.name(), StartAt::newest);
  std::vector<uint64_t> chunk;
  uint64_t chunks = 0, loss_of_session = 0;
  while (late.next(chunk, 0) == shm::Reader::Next::chunk) {
    ++chunks;
    const shm::ChunkHeader& h = shm::header_of(chunk);
    loss_of_session += h.kind == shm::ChunkKind::loss && h.session == 7 && h.device == 3;
  }
  EXPECT_EQ(loss_of_session, losing.account().intervals().size());
  EXPECT_EQ(chunks, loss_of_session + 1) << "the session, and each interval once";
  EXPECT_EQ(late.lost_chunks(), 0u);
}

TEST(LossTable, a_full_table_says_so_and_goes_on_replacing) {
  std::atomic<uint64_t> used{0};
  std::vector<uint64_t> words(3 * shm::kLossRecordWords + 1);
  shm::LossTableWriter table(used, words);
  LossRecord r;
  for (const uint64_t id : {70, 5, 900}) {
    r.id = id;
    EXPECT_TRUE(table.publish(r));
  }
  r.id = 6;
  EXPECT_FALSE(table.publish(r));
  r.id = 5, r.words = 11;
  EXPECT_TRUE(table.publish(r));
  EXPECT_EQ(used, 3u);
  EXPECT_EQ(shm::loss_at(words.data(), 0).id, 70u);
  EXPECT_EQ(shm::loss_at(words.data(), 1).words, 11u);
  EXPECT_EQ(shm::loss_at(words.data(), 2).id, 900u);
}

// Readers come and go while intervals are published and replaced; a reader that stays to the end has the last of each.
TEST(LossTable, whoever_stays_to_the_end_has_the_account_whenever_he_came) {
  Losing losing(64 << 10);
  std::atomic<bool> started{false};
  std::vector<std::thread> readers;
  std::vector<Account> accounts(4);
  std::atomic<unsigned> ready{0};
  for (size_t i = 0; i < accounts.size(); ++i)
    readers.emplace_back([&, i] {
      if (i % 2) started.wait(false);
      shm::Reader reader(losing.name(), i < 2 ? StartAt::oldest : StartAt::newest);
      ++ready;
      while (take(reader, accounts[i], 20)) {
      }
    });
  std::mt19937_64 dice(1);
  for (uint64_t i = 0; i < 20'000; ++i) {
    const LossLog::Where where{static_cast<uint8_t>(dice() % 8), 1, static_cast<uint8_t>(dice() % 5), 0};
    if (dice() % 3)
      losing.account().record(where, LossCause::unparsable, LossPrecision::exact_words, i, i + 3, 1, 0);
    else if (losing.account().is_open(where, LossCause::dropped_on_card))
      losing.account().close(where, LossCause::dropped_on_card, i + 2);
    else
      losing.account().open(where, LossCause::dropped_on_card, i, 1);
    if (i == 5000) started = true, started.notify_all();
  }
  while (ready != accounts.size()) std::this_thread::yield();
  losing.segment().end();
  for (std::thread& t : readers) t.join();
  for (const Account& account : accounts) EXPECT_TRUE(same(account, losing.account().intervals()));
}

}  // namespace
}  // namespace ttc::collect
