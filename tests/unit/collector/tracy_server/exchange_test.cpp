// Every dialect between the client of tools/tracy and the server's side.
#include "collector/tracy_server/exchange.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <random>

#include "tests/support/tracy_conversation.hpp"

namespace {

using namespace ttc;
using collect::EventKind;
using tests::Conversation;
using tracy_server::ExchangeState;

constexpr size_t kWhole = 1u << 20;

// Same names, no shared code: the client's table and the server's must give the same stream.
class TracyServerDialects : public testing::TestWithParam<size_t> {
 protected:
  const tracy::Dialect& dialect() const { return tracy::dialects()[GetParam()]; }
};

TEST_P(TracyServerDialects, zones_nest_with_text_and_answered_names) {
  Conversation talk(dialect(), kWhole);
  EXPECT_EQ(talk.offered, dialect().protocol);
  auto& s = talk.stream();
  s.thread(7);
  s.zone_begin(5'000, 1);
  s.zone_begin(70'000, 2);
  s.zone_text("id:1024");
  s.zone_end(4'400'000'000'000);
  s.zone_end(4'400'000'065'536);
  s.thread(8);
  s.zone_begin(6'000, 2);
  s.zone_end(6'010);
  s.flush();
  talk.answer();
  talk.end();
  EXPECT_EQ(talk.exchange().state(), ExchangeState::ended) << talk.exchange().why();
  EXPECT_TRUE(talk.client().finished());
  const auto begins = talk.of(EventKind::zone_begin), ends = talk.of(EventKind::zone_end);
  ASSERT_EQ(begins.size(), 3u);
  ASSERT_EQ(ends.size(), 3u);
  EXPECT_EQ(begins[0].time, 5'000);
  EXPECT_EQ(begins[1].time, 70'000);
  EXPECT_EQ(begins[2].subject, 8u);
  EXPECT_EQ(ends[0].time, 4'400'000'000'000);
  EXPECT_EQ(ends[1].time, 4'400'000'065'536);
  EXPECT_EQ(ends[2].time, 6'010);
  EXPECT_EQ(begins[1].value, begins[2].value);
  const auto text = talk.of(EventKind::zone_text);
  ASSERT_EQ(text.size(), 1u);
  EXPECT_EQ(text[0].text, "id:1024");
  EXPECT_EQ(text[0].subject, 7u);
  const auto sources = talk.of(EventKind::source);
  ASSERT_EQ(sources.size(), 2u);
  EXPECT_NE(sources[0].text.find("zone 1"), std::string::npos);
  EXPECT_NE(sources[1].text.find("file 2.cpp"), std::string::npos);
  EXPECT_EQ(sources[1].subject, 2u);
  EXPECT_EQ(talk.of(EventKind::thread_name).size(), 2u);
  EXPECT_EQ(talk.exchange().process().program, "program");
  EXPECT_EQ(talk.exchange().process().init_begin, 1000);
}

TEST_P(TracyServerDialects, messages_of_every_length_and_plots) {
  Conversation talk(dialect(), kWhole);
  auto& s = talk.stream();
  s.thread(3);
  const size_t lengths[] = {0, 1, 255, 256, 257, 65'000};
  for (const size_t length : lengths) s.message(100 + length, std::string(length, 'm'), {1, 2, 3});
  s.plot(500, 77, 1.5);
  s.app_info(0, "about");
  s.flush();
  talk.end();
  const auto messages = talk.of(EventKind::message);
  ASSERT_EQ(messages.size(), std::size(lengths));
  for (size_t i = 0; i < messages.size(); ++i) {
    EXPECT_EQ(messages[i].text, std::string(lengths[i], 'm'));
    EXPECT_EQ(messages[i].time, static_cast<int64_t>(100 + lengths[i]));
    EXPECT_EQ(messages[i].subject, 3u);
  }
  const auto plots = talk.of(EventKind::plot);
  ASSERT_EQ(plots.size(), 1u);
  EXPECT_EQ(plots[0].time, 500);
  EXPECT_EQ(std::bit_cast<double>(plots[0].value), 1.5);
  ASSERT_EQ(talk.of(EventKind::string).size(), 1u);
  EXPECT_EQ(talk.of(EventKind::string)[0].value, 77u);
  EXPECT_EQ(talk.of(EventKind::app_info)[0].text, "about");
}

// What a fork's process sends of its devices is passed over, whatever the width of its contexts.
TEST_P(TracyServerDialects, gpu_items_are_passed_over_and_tell_the_variant) {
  Conversation talk(dialect(), kWhole);
  auto& s = talk.stream();
  s.gpu_context(1, 10, "Device: 0");
  s.gpu_begin(1, 4, 20, 9);
  s.gpu_end(1, 4, 30);
  s.thread(5);
  s.zone_begin(40, 1);
  s.zone_end(50);
  s.flush();
  talk.end();
  EXPECT_EQ(talk.exchange().state(), ExchangeState::ended) << talk.exchange().why();
  EXPECT_EQ(talk.of(EventKind::zone_end).at(0).time, 50);
  EXPECT_EQ(talk.exchange().decoder().dialect().fork, dialect().fork);
}

TEST_P(TracyServerDialects, pieces_of_any_size_give_the_same_events) {
  const auto heard_in = [&](size_t piece) {
    Conversation talk(dialect(), piece);
    auto& s = talk.stream();
    std::mt19937_64 random(11);
    for (int i = 0; i < 500; ++i) {
      s.thread(static_cast<uint32_t>(random() % 3));
      s.zone_begin(1000 + i * 40, 1 + random() % 5);
      if (i % 7 == 0) s.message(1000 + i * 40, std::string(random() % 300, 'x'), {});
      s.zone_end(1020 + i * 40);
      if (i % 50 == 0) s.flush(), talk.answer();
    }
    talk.end();
    EXPECT_EQ(talk.exchange().state(), ExchangeState::ended);
    return talk.heard;
  };
  const auto whole = heard_in(kWhole);
  EXPECT_EQ(heard_in(1), whole);
  EXPECT_EQ(heard_in(13), whole);
}

TEST_P(TracyServerDialects, the_last_query_comes_only_when_every_name_is_known) {
  Conversation talk(dialect(), kWhole);
  auto& s = talk.stream();
  s.thread(1);
  s.zone_begin(10, 1);
  s.zone_end(11);
  s.terminate();
  s.flush();
  EXPECT_EQ(talk.exchange().state(), ExchangeState::frames);
  EXPECT_FALSE(talk.client().finished());
  talk.answer();
  EXPECT_EQ(talk.exchange().state(), ExchangeState::ended);
  EXPECT_TRUE(talk.client().finished());
  EXPECT_EQ(talk.of(EventKind::source).size(), 1u);
}

// Thousands of names at once: never more queries than a client's buffer holds.
TEST_P(TracyServerDialects, queries_wait_for_answers) {
  Conversation talk(dialect(), kWhole);
  auto& s = talk.stream();
  s.thread(1);
  for (uint64_t i = 1; i <= 2000; ++i) s.zone_begin(i * 10, i), s.zone_end(i * 10 + 5);
  s.flush();
  const std::string asked = talk.exchange().to_send();
  EXPECT_LE(asked.size(), 256 * tracy::kQueryBytes);
  talk.client().take(asked);
  talk.client().answer();
  s.flush();
  talk.answer();
  talk.end();
  EXPECT_EQ(talk.of(EventKind::source).size(), 2000u);
  EXPECT_EQ(talk.exchange().state(), ExchangeState::ended);
}

INSTANTIATE_TEST_SUITE_P(All, TracyServerDialects, testing::Range<size_t>(0, tracy::dialects().size()),
                         [](const auto& of) {
                           const tracy::Dialect& d = tracy::dialects()[of.param];
                           return std::to_string(d.protocol) + (d.fork ? "_fork" : "");
                         });

TEST(TracyServer, other_answers_than_welcome) {
  const auto after = [](int answer) {
    tracy_server::Exchange exchange(76, [](const collect::HostEvent&) {});
    const auto byte = static_cast<std::byte>(answer);
    return exchange.receive({&byte, 1});
  };
  EXPECT_EQ(after(2), ExchangeState::mismatch);
  EXPECT_EQ(after(3), ExchangeState::refused);
  EXPECT_EQ(after(4), ExchangeState::refused);
  EXPECT_EQ(after(77), ExchangeState::broken);
}

TEST(TracyServer, damage_is_an_answer_and_nothing_comes_after_it) {
  const tracy::Dialect& dialect = *tracy::dialect_for(74, false);
  Conversation talk(dialect, kWhole);
  talk.deliver(std::string("\x04\0\0\0\xff\xff\xff\xff", 8));
  EXPECT_EQ(talk.exchange().state(), ExchangeState::broken);
  EXPECT_EQ(talk.exchange().why(), "a frame is no LZ4 block");
  talk.stream().message(1, "later", {});
  talk.stream().flush();
  EXPECT_TRUE(talk.heard.empty());
}

TEST(TracyServer, a_frame_that_is_too_long_is_refused_before_it_came) {
  Conversation talk(*tracy::dialect_for(82, false), kWhole);
  talk.deliver(std::string("\xff\xff\xff\x7f", 4));
  EXPECT_EQ(talk.exchange().state(), ExchangeState::broken);
}

TEST(TracyServer, an_item_that_the_dialect_lacks_is_named) {
  tracy_server::EventDecoder decoder(*tracy_server::dialect_of(64, false), [](const collect::HostEvent&) {});
  const std::byte item{200};
  EXPECT_FALSE(decoder.decode({&item, 1}));
  EXPECT_EQ(decoder.why(), "item 200 does not exist in protocol 64 (0.10)");
}

// Signed sums of foreign differences overflowed.
TEST(TracyServer, times_that_overflow_wrap) {
  using tracy_server::Item;
  for (const tracy_server::Dialect& dialect : tracy_server::dialects()) {
    std::vector<int64_t> times;
    tracy_server::EventDecoder decoder(dialect,
                                       [&](const collect::HostEvent& e) { times.push_back(e.time); });
    std::vector<std::byte> items;
    for (const Item item : {Item::zone_end, Item::zone_end, Item::lock_obtain, Item::lock_obtain}) {
      const auto number = std::find(dialect.items.begin(), dialect.items.end(), item) - dialect.items.begin();
      items.push_back(static_cast<std::byte>(number));
      std::vector<std::byte> body(dialect.sizes[static_cast<size_t>(number)] - 1u);
      const int64_t latest = INT64_MAX;
      std::memcpy(body.data() + body.size() - sizeof latest, &latest, sizeof latest);
      items.insert(items.end(), body.begin(), body.end());
    }
    EXPECT_TRUE(decoder.decode(items)) << decoder.why();
    ASSERT_EQ(times.size(), 4u);
    EXPECT_EQ(times[2], INT64_MAX);
    EXPECT_EQ(times[3], -2);
  }
}

// Context switches come of the whole machine. Their times are differences of one value, which samples move, too.
TEST(TracyServer, context_switches_of_own_threads) {
  using tracy_server::Item;
  for (const tracy_server::Dialect& dialect : tracy_server::dialects()) {
    std::vector<tests::HeardEvent> heard;
    tracy_server::EventDecoder decoder(
        dialect,
        [&](const collect::HostEvent& e) {
          heard.push_back({e.kind, e.subject, e.time, e.value, ""});
        },
        [](uint32_t thread) { return thread == 7 || thread == 8; });
    std::vector<std::byte> items;
    const auto put = [&](Item item, int64_t time, size_t time_at, uint32_t first, uint32_t second,
                         uint8_t cpu, uint8_t state) {
      const auto number = std::find(dialect.items.begin(), dialect.items.end(), item) - dialect.items.begin();
      std::vector<std::byte> body(std::max<size_t>(dialect.sizes[static_cast<size_t>(number)] - 1u, 24));
      const size_t threads_at = time_at == 0 ? 8 : 0;
      std::memcpy(body.data() + time_at, &time, sizeof time);
      std::memcpy(body.data() + threads_at, &first, sizeof first);
      if (item == Item::context_switch) {
        std::memcpy(body.data() + 12, &second, sizeof second);
        body[16] = static_cast<std::byte>(cpu);
        body[18] = static_cast<std::byte>(state);
      }
      items.push_back(static_cast<std::byte>(number));
      items.insert(items.end(), body.begin(), body.begin() + dialect.sizes[static_cast<size_t>(number)] - 1);
    };
    constexpr uint8_t kSleeps = 104, kRunnable = 103;
    put(Item::context_switch, 1000, 0, 7, 99, 1, kSleeps);
    const int64_t offset = dialect.short_zones ? (1 << 16) + (int64_t{1} << 32) : 0;
    put(Item::callstack_sample, 5, 4, 99, 0, 0, 0);
    put(Item::thread_wakeup, 50, 0, 7, 0, 0, 0);
    put(Item::context_switch, -10, 0, 8, 7, 2, kRunnable);
    put(Item::context_switch, 1, 0, 98, 99, 2, kRunnable);
    ASSERT_TRUE(decoder.decode(items)) << decoder.why();
    const int64_t sampled = 1005 + offset;
    EXPECT_EQ(heard, (std::vector<tests::HeardEvent>{{EventKind::thread_stops, 7, 1000, 1 | 1 << 8, ""},
                                                     {EventKind::thread_woken, 7, sampled + 50, 0, ""},
                                                     {EventKind::thread_stops, 8, sampled + 40, 2, ""},
                                                     {EventKind::thread_runs, 7, sampled + 40, 2, ""}}))
        << dialect.name;
    EXPECT_EQ(decoder.context_switches(), 3u);
    EXPECT_EQ(decoder.queries().size(), 2u);  // names of 7 and 8
  }
}

// A client whose numbers of questions were others would wait for the last query without end.
TEST(TracyServer, an_end_without_answers_has_the_last_query) {
  Conversation talk(*tracy::dialect_for(82, false), kWhole);
  talk.stream().thread(7);
  talk.stream().zone_begin(5'000, 1);
  talk.stream().terminate();
  talk.stream().flush();
  ASSERT_TRUE(talk.exchange().waits_for_answers());
  EXPECT_EQ(talk.exchange().open_queries(), 2u);
  talk.exchange().to_send();
  talk.exchange().end_without_answers();
  EXPECT_EQ(talk.exchange().to_send(), std::string(13, '\0'));
  EXPECT_EQ(talk.exchange().state(), ExchangeState::ended);
}

TEST(TracyServer, every_dialect_has_the_numbers_of_the_sheet) {
  using tracy_server::Item;
  const auto number = [](uint32_t protocol, bool fork, Item item) {
    const auto* d = tracy_server::dialect_of(protocol, fork);
    for (size_t i = 0; i < 256; ++i)
      if (d->items[i] == item) return static_cast<int>(i);
    return -1;
  };
  EXPECT_EQ(number(64, false, Item::terminate), 57);
  EXPECT_EQ(number(66, true, Item::gpu_new_context), 79);
  EXPECT_EQ(number(69, false, Item::thread_group_hint), 99);
  EXPECT_EQ(number(74, false, Item::fiber_name), 114);
  EXPECT_EQ(number(76, false, Item::fiber_name), 116);
  EXPECT_EQ(number(79, true, Item::gpu_zone), 77);
  EXPECT_EQ(number(79, true, Item::fiber_name), 129);
  EXPECT_EQ(number(82, false, Item::section_enter), 70);
  EXPECT_EQ(number(83, true, Item::fiber_name), 134);
  EXPECT_EQ(number(82, false, Item::gpu_zone), -1);
}

}  // namespace
