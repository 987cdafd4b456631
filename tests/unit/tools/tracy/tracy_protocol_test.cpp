// The dialects as data, the stream's references and forms, and what a client makes of foreign bytes.
#include <gtest/gtest.h>
#include <lz4.h>

#include <cstring>
#include <map>
#include <set>

#include "tools/tracy/client.hpp"

namespace ttc::tracy {
namespace {

TEST(TracyDialects, every_number_has_one_row_but_that_of_the_old_fork) {
  std::map<uint32_t, int> rows;
  for (const Dialect& d : dialects()) ++rows[d.protocol];
  for (const auto& [protocol, count] : rows) EXPECT_EQ(count, protocol == 66 ? 2 : 1) << protocol;
  EXPECT_EQ(dialect_for(66, true)->fork, true);
  EXPECT_EQ(dialect_for(66, false)->fork, false);
  for (const uint32_t unknown : {0u, 63u, 65u, 77u, 84u, ~0u}) EXPECT_EQ(dialect_for(unknown, true), nullptr);
}

TEST(TracyDialects, no_two_items_of_a_dialect_share_a_number) {
  for (const Dialect& d : dialects()) {
    std::set<uint8_t> taken;
    for (size_t i = 0; i < static_cast<size_t>(Item::kCount); ++i) {
      const auto item = static_cast<Item>(i);
      if (!d.has(item)) continue;
      EXPECT_TRUE(taken.insert(d.id(item)).second) << d.servers << " " << name_of(item);
      EXPECT_GE(d.bytes(item), 1u);
    }
  }
}

// tracy public/common/TracyQueue.hpp, the cells that distinguish dialects.
TEST(TracyDialects, numbers_and_lengths_are_the_protocols) {
  const Dialect &d64 = *dialect_for(64, true), &fork = *dialect_for(66, true), &d69 = *dialect_for(69, true),
                &d79 = *dialect_for(79, true), &d82 = *dialect_for(82, true), &d83 = *dialect_for(83, true);
  EXPECT_EQ(d64.id(Item::string_data), 98);
  EXPECT_EQ(d69.id(Item::string_data), 100);
  EXPECT_EQ(d79.id(Item::string_data), 117);
  EXPECT_EQ(d82.id(Item::string_data), 119);
  EXPECT_EQ(d83.id(Item::string_data), 122);
  EXPECT_EQ(d79.id(Item::terminate), 72);
  EXPECT_EQ(d83.id(Item::gpu_zone), 80);
  EXPECT_EQ(d83.bytes(Item::gpu_zone), 31u);
  EXPECT_EQ(fork.bytes(Item::gpu_new_context), 29u);
  EXPECT_EQ(d64.bytes(Item::gpu_new_context), 28u);
  EXPECT_EQ(d64.bytes(Item::message_color), 12u);
  EXPECT_EQ(d82.bytes(Item::message_color), 13u);
  EXPECT_EQ(d64.bytes(Item::fiber_enter), 21u);
  EXPECT_EQ(d69.bytes(Item::fiber_enter), 25u);
  EXPECT_FALSE(d64.has(Item::thread_group_hint));
  EXPECT_FALSE(d79.has(Item::single_string_8));
  EXPECT_EQ(d64.welcome_bytes(), 1178u);
  EXPECT_EQ(d82.welcome_bytes(), 1170u);
}

// What went out, unpacked.
class Collected : public BlockSink {
 public:
  void block(std::span<const char> block) override {
    uint32_t size = 0;
    std::memcpy(&size, block.data(), 4);
    ASSERT_EQ(size + 4, block.size());
    ASSERT_LE(size, 263188u);
    std::string out(kBlockBytes, '\0');
    const int bytes = LZ4_decompress_safe(block.data() + 4, out.data(), static_cast<int>(size),
                                          static_cast<int>(out.size()));
    ASSERT_GE(bytes, 0);
    items += out.substr(0, static_cast<size_t>(bytes));
    ++blocks;
  }
  std::string items;
  int blocks = 0;
};

template <class T>
T at(const std::string& items, size_t offset) {
  T value;
  std::memcpy(&value, items.data() + offset, sizeof value);
  return value;
}

// Protocols with short forms leave out of each longer one what the shorter cover, and never of negative
// times.
TEST(TracyStream, zone_times_take_the_form_of_their_range) {
  const struct {
    int64_t delta;
    uint8_t id;
    uint64_t field;
    size_t bytes;
  } cases[] = {{0, 21, 0, 2},
               {65535, 21, 65535, 2},
               {65536, 20, 0, 4},
               {65536 + 0xffffffffll, 20, 0xffffffff, 4},
               {65536 + 0x100000000ll, 19, 0, 8},
               {1'000'000'000'000, 19, 1'000'000'000'000 - 65536 - 0x100000000, 8},
               {-5, 19, static_cast<uint64_t>(-5), 8}};
  for (const auto& c : cases) {
    Collected sink;
    Stream stream(*dialect_for(82, true), sink);
    stream.thread(7);
    stream.zone_begin(3'000'000'000'000, 1);  // from 0
    stream.zone_begin(static_cast<uint64_t>(3'000'000'000'000 + c.delta), 42);
    stream.flush();
    const std::string item = sink.items.substr(5 + 17);
    ASSERT_EQ(item.size(), 1 + c.bytes + 8) << c.delta;
    EXPECT_EQ(static_cast<uint8_t>(item[0]), c.id) << c.delta;
    uint64_t field = 0;
    std::memcpy(&field, &item[1], c.bytes);
    EXPECT_EQ(field, c.field) << c.delta;
    EXPECT_EQ(at<uint64_t>(item, 1 + c.bytes), 42u);
  }
}

TEST(TracyStream, a_thread_starts_counting_anew_and_is_named_once) {
  Collected sink;
  Stream stream(*dialect_for(74, true), sink);
  stream.thread(7);
  stream.thread(7);
  stream.zone_begin(1000, 1);
  stream.zone_end(1500);
  stream.thread(8);
  stream.zone_begin(2000, 1);
  stream.flush();
  ASSERT_EQ(sink.items.size(), 5u + 17 + 9 + 5 + 17);
  EXPECT_EQ(at<int64_t>(sink.items, 6), 1000);
  EXPECT_EQ(at<int64_t>(sink.items, 5 + 17 + 1), 500);
  EXPECT_EQ(at<int64_t>(sink.items, 5 + 17 + 9 + 5 + 1), 2000);
}

TEST(TracyStream, long_texts_are_cut_and_short_ones_have_a_short_form) {
  for (const uint32_t protocol : {74u, 82u})
    for (const size_t length : {size_t{0}, size_t{255}, size_t{256}, size_t{65000}, size_t{200000}}) {
      Collected sink;
      Stream stream(*dialect_for(protocol, true), sink);
      stream.thread(1);
      stream.message(5, std::string(length, 'x'), {});
      stream.flush();
      const bool is_short = protocol == 82 && length <= 255;
      const size_t kept = std::min<size_t>(length, 0xfff0);
      EXPECT_EQ(sink.items.size(), 5 + (is_short ? 2u : 3u) + kept + (protocol == 82 ? 13u : 12u));
      if (is_short)
        EXPECT_EQ(static_cast<uint8_t>(sink.items[6]), length);
      else
        EXPECT_EQ(at<uint16_t>(sink.items, 6), kept - (protocol == 82 ? 256 : 0));
    }
}

// Items never straddle blocks, however they fall.
TEST(TracyStream, blocks_hold_whole_items) {
  Collected sink;
  Stream stream(*dialect_for(74, true), sink);
  stream.thread(1);
  for (int i = 0; i < 100'000; ++i) stream.zone_end(static_cast<uint64_t>(i));
  for (int i = 0; i < 20; ++i) stream.zone_text(std::string(60'000, 'y'));
  stream.flush();
  EXPECT_GT(sink.blocks, 10);
  EXPECT_EQ(sink.items.size(), 5 + 100'000u * 9 + 20 * (3 + 60'000 + 1));
}

struct Fixed : Names {
  std::string text(uint64_t key) override { return "text " + std::to_string(key & 3); }
  std::string thread(uint32_t id) override { return "thread " + std::to_string(id); }
  SourceLocation source_location(uint64_t) override { return {"name", "function", "file", 12, {1, 2, 3}}; }
};

std::string query(Query kind, uint64_t key, uint32_t extra = 0) {
  std::string out(kQueryBytes, '\0');
  out[0] = static_cast<char>(kind);
  std::memcpy(&out[1], &key, sizeof key);
  std::memcpy(&out[9], &extra, sizeof extra);
  return out;
}

TEST(TracyClient, questions_in_pieces_are_answered_in_their_order) {
  Collected sink;
  Fixed names;
  Client client(*dialect_for(82, true), sink, names);
  const std::string asked = query(Query::thread_string, 9) + query(Query::source_location, 5) +
                            query(Query::string, key_of(5, Part::file)) + query(Query::source_code, 1, 77) +
                            query(Query::symbol, 3) + query(Query::parameter, 0);
  for (const char& byte : asked) {
    client.take({&byte, 1});
    client.answer();
  }
  client.stream().flush();
  const Dialect& d = *dialect_for(82, true);
  std::string want;
  const auto add = [&](Item item) { want += static_cast<char>(d.id(item)); };
  ASSERT_EQ(static_cast<uint8_t>(sink.items[0]), d.id(Item::thread_name));
  EXPECT_EQ(sink.items.substr(11, 8), "thread 9");
  EXPECT_EQ(static_cast<uint8_t>(sink.items[19]), d.id(Item::source_location));
  EXPECT_EQ(at<uint64_t>(sink.items, 20), key_of(5, Part::name));
  EXPECT_EQ(static_cast<uint8_t>(sink.items[19 + 32]), d.id(Item::string_data));
  EXPECT_EQ(sink.items.substr(19 + 32 + 11, 6), "text 2");
  add(Item::ack_source_code_not_available);
  want += std::string("\x4d\0\0\0", 4);
  add(Item::ack_server_query_noop);
  EXPECT_EQ(sink.items.substr(19 + 32 + 17), want) << "a parameter is not answered";
  EXPECT_FALSE(client.finished());
}

TEST(TracyClient, ends_when_the_server_lets_go_and_says_what_it_did_not_understand) {
  Collected sink;
  Fixed names;
  Client polite(*dialect_for(64, true), sink, names), odd(*dialect_for(64, true), sink, names),
      flooded(*dialect_for(64, true), sink, names);
  polite.take(query(Query::disconnect, 0));
  polite.answer();
  EXPECT_TRUE(polite.wants_end() && !polite.finished());
  polite.take(query(Query::terminate, 0));
  polite.answer();
  EXPECT_TRUE(polite.finished() && polite.complaint().empty());
  std::string garbage = query(Query::terminate, 0);
  garbage[0] = 16;
  odd.take(garbage);
  odd.answer();
  EXPECT_TRUE(odd.finished());
  EXPECT_NE(odd.complaint().find("16"), std::string::npos);
  const std::string many(1 << 20, '\1');
  flooded.take(many);
  EXPECT_TRUE(flooded.finished());
}

TEST(TracyHandshake, comes_in_pieces_and_foreign_ones_are_known_at_the_first_wrong_byte) {
  const std::string good = std::string(kHandshake) + std::string("\x52\0\0\0", 4);
  for (size_t cut = 0; cut < good.size(); ++cut) {
    Handshake h;
    size_t taken = 0;
    ASSERT_EQ(h.take(std::span(good).first(cut), taken), Handshake::State::incomplete);
    ASSERT_EQ(taken, cut);
    const std::string rest = good.substr(cut) + "more";
    ASSERT_EQ(h.take(rest, taken), Handshake::State::complete);
    ASSERT_EQ(taken, good.size() - cut);
    ASSERT_EQ(h.protocol(), 82u);
  }
  for (size_t wrong = 0; wrong < kHandshake.size(); ++wrong) {
    std::string text = good.substr(0, wrong + 1);
    text[wrong] ^= 1;
    Handshake h;
    size_t taken = 0;
    EXPECT_EQ(h.take(text, taken), Handshake::State::foreign);
  }
}

TEST(TracyWelcome, has_the_length_of_its_dialect) {
  for (const Dialect& d : dialects()) {
    const std::string bytes = welcome_bytes(d, {5, 6, std::string(200, 'p'), std::string(5000, 'h')});
    EXPECT_EQ(bytes.size(), d.welcome_bytes() + 16) << d.servers;
    EXPECT_EQ(at<int64_t>(bytes, 8), 5);
  }
}

}  // namespace
}  // namespace ttc::tracy
