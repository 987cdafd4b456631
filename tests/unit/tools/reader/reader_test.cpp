// The C ABI: what comes is what was published, and whatever is wrong is a value.
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "tests/support/ring_feed.hpp"
#include "ttcollect/marker_stream.hpp"

namespace ttc::tools {
namespace {

using collect::Feed;

class Opened {
 public:
  explicit Opened(const std::string& from, uint32_t batch_rows = 1 << 16, uint32_t host_times = 0) {
    options_.struct_bytes = sizeof options_;
    ttcollect_options_init(&options_);
    options_.host_times = host_times;
    options_.batch_rows = batch_rows;
    status_ = ttcollect_open(from.c_str(), &options_, &reader_, why_, sizeof why_);
    batch_.struct_bytes = sizeof batch_;
  }
  Opened(const Opened&) = delete;
  ~Opened() { ttcollect_close(reader_); }
  int next(uint32_t timeout_ms = 0) {
    const int status = ttcollect_next(reader_, timeout_ms, &batch_);
    markers_ += batch_.marker_count;
    zones_ += batch_.zone_count;
    return status;
  }
  int to_the_end() {
    for (;;) {
      const int status = next(1000);
      if (status != TTCOLLECT_OK && status != TTCOLLECT_LAPPED && status != TTCOLLECT_IDLE) return status;
    }
  }
  ttcollect_account account() const {
    ttcollect_account a{};
    a.struct_bytes = sizeof a;
    EXPECT_EQ(ttcollect_get_account(reader_, &a), TTCOLLECT_OK);
    return a;
  }
  ttcollect_reader* reader() const { return reader_; }
  const ttcollect_batch& batch() const { return batch_; }
  int status() const { return status_; }
  std::string why() const { return why_; }
  uint64_t markers() const { return markers_; }
  uint64_t zones() const { return zones_; }

 private:
  ttcollect_options options_{};
  ttcollect_reader* reader_ = nullptr;
  ttcollect_batch batch_{};
  char why_[512] = {};
  int status_ = 0;
  uint64_t markers_ = 0, zones_ = 0;
};

TEST(Reader, a_live_run_is_delivered_as_it_is_published_and_ends) {
  Feed feed("reader-live");
  Opened o("live:" + feed.name());
  ASSERT_EQ(o.status(), TTCOLLECT_OK) << o.why();
  feed.publish(10);
  ASSERT_EQ(o.next(1000), TTCOLLECT_OK);
  EXPECT_EQ(o.markers(), feed.markers());
  EXPECT_EQ(o.next(0), TTCOLLECT_IDLE);
  EXPECT_EQ(o.batch().marker_count, 0u);
  feed.publish(5);
  feed.end();
  EXPECT_EQ(o.to_the_end(), TTCOLLECT_END) << ttcollect_error(o.reader());
  EXPECT_EQ(o.markers(), feed.markers());
  EXPECT_EQ(o.account().markers, feed.markers());
  EXPECT_EQ(o.zones(), feed.markers() / 2);  // every marker of the feed is half of a zone
  EXPECT_EQ(o.next(0), TTCOLLECT_END);
  EXPECT_STREQ(ttcollect_error(o.reader()), "");
}

TEST(Reader, an_overwritten_ring_is_an_error_value_and_reading_goes_on) {
  Feed feed("reader-lapped", 1 << 20);
  Opened o("live:" + feed.name());
  feed.publish(10);
  ASSERT_EQ(o.next(1000), TTCOLLECT_OK);
  for (int i = 0; i < 200; ++i) feed.publish(100);
  EXPECT_EQ(o.next(1000), TTCOLLECT_LAPPED);
  EXPECT_NE(std::string(ttcollect_error(o.reader())).find("overwrote"), std::string::npos);
  EXPECT_GT(o.batch().marker_count, 0u);
  EXPECT_GT(o.account().missed_bytes, 0u);
  feed.end();
  EXPECT_EQ(o.to_the_end(), TTCOLLECT_INCOMPLETE);
  EXPECT_GT(o.account().lost_intervals, 0u);
  EXPECT_LT(o.markers(), feed.markers());
}

TEST(Reader, a_collector_that_died_is_an_error_value_behind_all_that_it_published) {
  auto feed = std::make_unique<Feed>("reader-died");
  Opened o("live:" + feed->name());
  feed->publish(10);
  const uint64_t markers = feed->markers();
  feed.reset();
  EXPECT_EQ(o.to_the_end(), TTCOLLECT_INCOMPLETE);
  EXPECT_NE(std::string(ttcollect_error(o.reader())).find("ended abnormally"), std::string::npos)
      << ttcollect_error(o.reader());
  EXPECT_NE(ttcollect_remark(o.reader(), 0), nullptr);
  EXPECT_EQ(o.markers(), markers);
}

TEST(Reader, wrong_use_is_a_status_and_a_sentence) {
  ttcollect_reader* reader = reinterpret_cast<ttcollect_reader*>(1);
  char why[256];
  EXPECT_EQ(ttcollect_open(nullptr, nullptr, &reader, why, sizeof why), TTCOLLECT_USAGE);
  EXPECT_EQ(reader, nullptr);
  EXPECT_NE(why[0], 0);
  EXPECT_EQ(ttcollect_open("x", nullptr, nullptr, nullptr, 0), TTCOLLECT_USAGE);
  EXPECT_EQ(ttcollect_open("/no/such/file.ttc", nullptr, &reader, why, sizeof why), TTCOLLECT_NO_SOURCE);
  EXPECT_NE(std::string(why).find("/no/such/file.ttc"), std::string::npos);
  EXPECT_EQ(ttcollect_open("live:no-such-run", nullptr, &reader, why, 8), TTCOLLECT_NO_SOURCE);
  EXPECT_LT(std::strlen(why), 8u);
  ttcollect_options options{};
  EXPECT_EQ(ttcollect_open("x", &options, &reader, why, sizeof why), TTCOLLECT_USAGE);
  options.struct_bytes = sizeof options;
  ttcollect_options_init(&options);
  options.threads = 65;
  EXPECT_EQ(ttcollect_open("x", &options, &reader, why, sizeof why), TTCOLLECT_USAGE);
  options.threads = 1, options.tables = 0x100;
  EXPECT_EQ(ttcollect_open("x", &options, &reader, why, sizeof why), TTCOLLECT_USAGE);
  EXPECT_EQ(ttcollect_next(nullptr, 0, nullptr), TTCOLLECT_USAGE);
  EXPECT_EQ(ttcollect_get_account(nullptr, nullptr), TTCOLLECT_USAGE);
  EXPECT_STREQ(ttcollect_error(nullptr), "no reader");
  EXPECT_EQ(ttcollect_remark(nullptr, 0), nullptr);
  ttcollect_close(nullptr);
  for (const int status : {-1000, -6, 0, 2, 1000}) EXPECT_NE(ttcollect_status_text(status)[0], 0);
  EXPECT_STREQ(ttcollect_processor(0, 0), "BRISC");
  EXPECT_NE(ttcollect_processor(200, 200)[0], 0);
  EXPECT_NE(ttcollect_loss_cause(200)[0], 0);
}

TEST(Reader, a_caller_of_an_older_header_gets_what_it_knows_and_nothing_behind_it) {
  Feed feed("reader-old");
  feed.publish(3);
  feed.end();
  Opened o("live:" + feed.name());
  alignas(ttcollect_batch) unsigned char memory[sizeof(ttcollect_batch)];
  std::memset(memory, 0xaa, sizeof memory);
  auto* batch = reinterpret_cast<ttcollect_batch*>(memory);
  batch->struct_bytes = offsetof(ttcollect_batch, zones);
  EXPECT_EQ(ttcollect_next(o.reader(), 10'000, batch), TTCOLLECT_END);
  EXPECT_EQ(batch->marker_count, feed.markers());
  EXPECT_EQ(batch->struct_bytes, offsetof(ttcollect_batch, zones));
  for (size_t i = offsetof(ttcollect_batch, zones); i < sizeof memory; ++i) ASSERT_EQ(memory[i], 0xaa) << i;
}

TEST(Reader, a_caller_of_a_later_header_gets_zeros_behind_what_is_known) {
  Feed feed("reader-later");
  feed.end();
  Opened o("live:" + feed.name());
  struct {
    ttcollect_account known;
    uint64_t later[4];
  } account;
  std::memset(&account, 0xaa, sizeof account);
  account.known.struct_bytes = sizeof account;
  ASSERT_EQ(ttcollect_get_account(o.reader(), &account.known), TTCOLLECT_OK);
  EXPECT_EQ(account.known.struct_bytes, sizeof account);
  for (const uint64_t count : account.later) EXPECT_EQ(count, 0u);
  account.known.struct_bytes = 4097;
  EXPECT_EQ(ttcollect_get_account(o.reader(), &account.known), TTCOLLECT_USAGE);
}

TEST(Reader, texts_of_names_stay_while_names_are_added) {
  const std::string capture = std::string(TTC_TEST_DATA) + "/capture/version_3.ttc";
  Opened o(capture, 1);
  std::vector<std::pair<const char*, std::string>> seen;
  size_t batches_with_names = 0;
  for (int status = TTCOLLECT_OK; status != TTCOLLECT_END && status != TTCOLLECT_INCOMPLETE;) {
    status = o.next();
    batches_with_names += o.batch().name_count > seen.size();
    for (size_t i = seen.size(); i < o.batch().name_count; ++i)
      seen.emplace_back(o.batch().names[i].name, o.batch().names[i].name);
  }
  EXPECT_GT(batches_with_names, 1u);
  for (const auto& [text, copy] : seen) EXPECT_EQ(text, copy);
}

TEST(Reader, small_batches_bring_the_same_rows) {
  Feed feed("reader-batches");
  for (int i = 0; i < 20; ++i) feed.publish(10);
  feed.end();
  Opened all("live:" + feed.name()), some("live:" + feed.name(), 1);
  EXPECT_EQ(all.to_the_end(), TTCOLLECT_END);
  ASSERT_EQ(some.next(0), TTCOLLECT_OK);
  EXPECT_LT(some.markers(), feed.markers() / 2);
  EXPECT_EQ(some.to_the_end(), TTCOLLECT_END);
  EXPECT_EQ(some.markers(), all.markers());
  EXPECT_EQ(some.zones(), all.zones());
}

// Zones agree with their markers.
TEST(Reader, zones_of_old_captures_are_the_pairs_of_their_markers) {
  for (const char* version : {"1", "2", "3"}) {
    uint64_t zones = 0, marker_cycles = 0, sum = 0;
    std::map<std::tuple<int, int, int, int>, std::vector<uint64_t>> open;
    ttcollect::MarkerStream stream(std::string(TTC_TEST_DATA) + "/capture/version_" + version + ".ttc");
    while (const auto batch = stream.next()) {
      for (const ttcollect_marker& m : batch->markers()) {
        auto& starts_of = open[{m.x, m.y, m.risc, m.zone_id}];
        if (m.type == TTCOLLECT_ZONE_START) starts_of.push_back(m.cycles);
        if (m.type != TTCOLLECT_ZONE_END || starts_of.empty()) continue;
        marker_cycles += m.cycles - starts_of.back();
        starts_of.pop_back();
      }
      for (const ttcollect_zone& z : batch->zones()) {
        ++zones;
        sum += z.end_cycles - z.begin_cycles;
        EXPECT_LT(z.name, batch->name_count());
      }
    }
    EXPECT_GT(zones, 20u) << version;
    EXPECT_EQ(sum, marker_cycles) << version;
  }
}

TEST(Reader, a_damaged_capture_ends_in_a_value_wherever_it_is_damaged) {
  std::ifstream file(std::string(TTC_TEST_DATA) + "/capture/version_3.ttc", std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(file)), {});
  ASSERT_GT(bytes.size(), 1000u);
  std::mt19937_64 dice(20261123);
  unsigned errors = 0;
  for (int i = 0; i < 60; ++i) {
    const collect::MemoryFile damaged(bytes);
    for (int flips = 0; flips < 4; ++flips) damaged.flip(dice() % (bytes.size() * 8));
    if (i % 3 == 0) damaged.cut(dice() % bytes.size());
    Opened o(damaged.path(), 1 << 16, i & 1);
    if (o.status() != TTCOLLECT_OK) {
      EXPECT_NE(o.why(), "");
      ++errors;
      continue;
    }
    const int status = o.to_the_end();
    EXPECT_TRUE(status == TTCOLLECT_END || status == TTCOLLECT_INCOMPLETE) << status;
    errors += status == TTCOLLECT_INCOMPLETE;
    EXPECT_EQ(status == TTCOLLECT_INCOMPLETE, *ttcollect_error(o.reader()) != 0);
  }
  EXPECT_GT(errors, 20u);
}

}  // namespace
}  // namespace ttc::tools
