// What only the emulated card has: its clock options, its name, read marks for pacing, and the raw socket.
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <fstream>
#include <future>
#include <memory>
#include <optional>
#include <thread>
#include <tuple>

#include "driver_iface/emu/emu_wire.hpp"
#include "driver_iface/emulated_card.hpp"

namespace ttc::card {
namespace {

EmulatedCardOptions options(const std::string& tag) {
  EmulatedCardOptions o;
  o.name = "own-" + std::to_string(getpid()) + "-" + tag;
  o.virtual_time = true;
  return o;
}

uint64_t now_ns() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC_RAW, &t);
  return static_cast<uint64_t>(t.tv_sec) * 1000000000u + static_cast<uint64_t>(t.tv_nsec);
}
void spin_past(uint64_t ns) {
  while (now_ns() < ns) {
  }
}

template <class F>
std::string error_of(F f) {
  try {
    f();
  } catch (const OpenError& e) {
    return e.what();
  }
  return {};
}

TEST(EmulatedCard, virtual_time_moves_only_when_reported) {
  auto o = options("virtual");
  o.start_cycles = 1000;
  o.drift_ppm = 500;
  EmulatedCard card(o);
  EXPECT_EQ(card.clock(), 1000u);
  card.advance_clock(0);
  EXPECT_EQ(card.clock(), 1000u);
  card.advance_clock(uint64_t{1} << 40);
  EXPECT_EQ(card.clock(), 1000 + (uint64_t{1} << 40));
}

// Real time: the clock is between what the earliest and the latest possible start allow.
TEST(EmulatedCard, real_time_runs_at_the_given_rate_and_drift) {
  for (const int32_t drift : {0, 100000, -100000, 50}) {
    auto o = options("drift");
    o.virtual_time = false;
    o.hz = 1'000'000'000;
    o.drift_ppm = drift;
    o.start_cycles = 7;
    const auto cycles_in = [&](uint64_t ns) {
      return 7 + ns * static_cast<uint64_t>(1000000 + drift) / 1000000;
    };
    const uint64_t made_after = now_ns();
    EmulatedCard card(o);
    const uint64_t made_before = now_ns();
    uint64_t last = 0;
    for (int i = 1; i <= 4; ++i) {
      spin_past(made_before + static_cast<uint64_t>(i) * 500'000);
      const uint64_t earliest = now_ns();
      const uint64_t clock = card.clock();
      const uint64_t latest = now_ns();
      EXPECT_GE(clock + 1, cycles_in(earliest - made_before)) << drift;
      EXPECT_LE(clock, cycles_in(latest - made_after) + 1) << drift;
      EXPECT_GE(clock, last);
      last = clock;
    }
  }
}

TEST(EmulatedCard, clock_steps_change_the_rate_but_never_jump) {
  auto o = options("steps");
  o.virtual_time = false;
  o.start_cycles = 0;
  o.clock_steps = {{1'000'000, 500'000'000}, {2'000'000, 2'000'000'000}};
  const auto cycles_in = [](uint64_t ns) {
    const uint64_t first = std::min<uint64_t>(ns, 1'000'000),
                   second = std::min<uint64_t>(ns, 2'000'000) - first;
    return first + second / 2 + (ns - first - second) * 2;
  };
  const uint64_t made_after = now_ns();
  EmulatedCard card(o);
  const uint64_t made_before = now_ns();
  uint64_t last = 0;
  while (now_ns() < made_before + 3'000'000) {
    const uint64_t earliest = now_ns();
    const uint64_t clock = card.clock();
    const uint64_t latest = now_ns();
    ASSERT_GE(clock + 3, cycles_in(earliest - made_before));
    ASSERT_LE(clock, cycles_in(latest - made_after) + 3);
    ASSERT_GE(clock, last);
    last = clock;
  }
  EXPECT_GT(card.clock(), 3'000'000u);
}

TEST(EmulatedCard, wrong_options_are_sentences) {
  auto o = options("wrong");
  o.arch = "grayskull";
  EXPECT_NE(error_of([&] { EmulatedCard card(o); }).find("grayskull"), std::string::npos);
  o.arch = "wormhole_b0";
  for (const char* board : {"p150", "", "n999"}) {
    o.board = board;
    EXPECT_FALSE(error_of([&] { EmulatedCard card(o); }).empty()) << board;
  }
  o.board = "n300";
  o.clock_steps.resize(16'383);
  EXPECT_EQ(error_of([&] { EmulatedCard card(o); }), "");
  o.clock_steps.resize(16'384);
  EXPECT_FALSE(error_of([&] { EmulatedCard card(o); }).empty());
  o.clock_steps.clear();
  for (const std::string& name : {std::string(), std::string(200, 'n')}) {
    o.name = name;
    EXPECT_FALSE(error_of([&] { EmulatedCard(o).announce(); }).empty()) << name;
  }
}

TEST(EmulatedCard, harvesting_follows_the_options_and_is_filled_up_from_the_far_end) {
  auto o = options("harvest");
  const auto dead = [](const EmulatedCard& card) {
    std::vector<Coord> list;
    for (const Tile& t : card.tiles())
      if (t.harvested) list.push_back(t.at);
    return list;
  };
  const auto all_y = [&](const std::vector<Coord>& list, std::vector<uint8_t> rows) {
    return std::all_of(list.begin(), list.end(),
                       [&](Coord c) { return std::find(rows.begin(), rows.end(), c.y) != rows.end(); });
  };
  EXPECT_EQ(dead(EmulatedCard(o)).size(), 8u);
  EXPECT_TRUE(all_y(dead(EmulatedCard(o)), {11}));
  o.harvested_rows = {3};
  EXPECT_EQ(dead(EmulatedCard(o)).size(), 8u);
  EXPECT_TRUE(all_y(dead(EmulatedCard(o)), {3}));
  o.board = "n300";
  EXPECT_EQ(dead(EmulatedCard(o)).size(), 16u);
  EXPECT_TRUE(all_y(dead(EmulatedCard(o)), {3, 11}));
}

// A row named in the options that happens to be the default one must not count twice.
TEST(EmulatedCard, as_many_rows_are_harvested_as_the_board_says_whichever_is_named) {
  for (const int row : {1, 5, 7, 10, 11}) {
    auto o = options("rows");
    o.board = "n300";
    o.harvested_rows = {static_cast<uint8_t>(row)};
    const EmulatedCard card(o);
    EXPECT_EQ(
        std::count_if(card.tiles().begin(), card.tiles().end(), [](const Tile& t) { return t.harvested; }),
        16)
        << "row " << row;
  }
}

TEST(EmulatedCard, an_unharvested_chip_has_all_its_cores) {
  for (const auto& [arch, board, cores] :
       {std::tuple{"wormhole_b0", "n300", 80}, {"blackhole", "p150", 140}}) {
    auto o = options("whole");
    o.arch = arch;
    o.board = board;
    o.unharvested = true;
    const EmulatedCard card(o);
    EXPECT_EQ(std::count_if(card.tiles().begin(), card.tiles().end(),
                            [](const Tile& t) { return t.kind == TileKind::tensix && !t.harvested; }),
              cores)
        << arch;
  }
}

TEST(EmulatedCard, a_name_is_taken_once_and_free_when_its_card_is_gone) {
  const auto o = options("taken");
  const std::string spec = "emu:" + o.name;
  const auto present = [&] {
    const auto specs = present_cards();
    return std::count(specs.begin(), specs.end(), spec);
  };
  {
    EmulatedCard first(o);
    EXPECT_EQ(present(), 0);
    EXPECT_NE(error_of([&] { open_card(spec); }).find(o.name), std::string::npos);
    first.announce();
    EXPECT_EQ(present(), 1);
    EmulatedCard second(o);
    EXPECT_NE(error_of([&] { second.announce(); }).find(o.name), std::string::npos);
    const auto observer = open_card(spec);
    EXPECT_EQ(present(), 1);
  }
  EXPECT_EQ(present(), 0);
  EmulatedCard third(o);
  EXPECT_NO_THROW(third.announce());
}

TEST(EmulatedCard, specs_that_are_no_card_are_sentences) {
  for (const std::string& spec :
       {std::string(), std::string("emu:"), std::string("0"), std::string("pci:0000:01:00.0"),
        std::string("/dev/tenstorrent/0"), "emu:" + std::string(5000, 'n')})
    EXPECT_FALSE(error_of([&] { open_card(spec); }).empty()) << spec;
}

TEST(EmulatedCard, observers_map_card_memory_read_only) {
  const auto writable = [] {
    std::ifstream maps("/proc/self/maps");
    int count = 0;
    for (std::string line; std::getline(maps, line);)
      count += line.find("ttemu-memory") != std::string::npos && line.find(" rw-s ") != std::string::npos;
    return count;
  };
  EmulatedCard card(options("maps"));
  card.announce();
  const int before = writable();
  const auto observer = open_card("emu:" + options("maps").name);
  EXPECT_EQ(writable(), before);
}

TEST(EmulatedCard, violations_are_told_as_text_and_the_first_few_are_kept) {
  EmulatedCard card(options("texts"));
  card.announce();
  const auto observer = open_card("emu:" + options("texts").name);
  for (int i = 0; i < 100; ++i) observer->aim(Window::control, {0, 10}, 64);
  EXPECT_EQ(card.account().violations, 100u);
  const auto texts = card.violations();
  ASSERT_FALSE(texts.empty());
  EXPECT_LE(texts.size(), 100u);
  EXPECT_NE(texts[0].find("(0,10)"), std::string::npos) << texts[0];
}

TEST(EmulatedCard, polls_at_a_tile_are_counted_for_that_tile) {
  EmulatedCard card(options("looks"));
  card.set_log_geometry({0, 128, 4096, 1024, 2});  // the control vector is at 0
  card.announce();
  const auto observer = open_card("emu:" + options("looks").name);
  uint64_t word;
  ASSERT_EQ(observer->aim(Window::control, {1, 1}, 0), Access::ok);
  for (int i = 0; i < 3; ++i) ASSERT_EQ(observer->copy(Window::control, 0, {&word, 1}), Access::ok);
  EXPECT_EQ(card.control_reads({1, 1}), 3u);
  EXPECT_EQ(card.control_reads({1, 2}), 0u);
}

TEST(EmulatedCard, round_trips_take_their_time) {
  auto o = options("latency");
  o.virtual_time = false;
  o.round_trip_ns = 20'000;
  EmulatedCard card(o);
  card.announce();
  const auto observer = open_card("emu:" + o.name);
  std::vector<uint64_t> out(64);
  ASSERT_EQ(observer->aim(Window::control, {1, 1}, 0), Access::ok);
  const uint64_t before = now_ns();
  ASSERT_EQ(observer->copy(Window::control, 0, out), Access::ok);
  EXPECT_GE(now_ns() - before, 8 * 20'000u);
}

// ---- read marks
// ----------------------------------------------------------------------------------------------

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

// ---- the raw socket
// ------------------------------------------------------------------------------------------

class RawClient {
 public:
  explicit RawClient(const std::string& card) : fd_(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    const std::string path = emu::socket_name(card);
    std::memcpy(address.sun_path + 1, path.data(), path.size());
    const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + path.size());
    EXPECT_EQ(connect(fd_, reinterpret_cast<sockaddr*>(&address), length), 0);
  }
  RawClient(const RawClient&) = delete;
  ~RawClient() { close(); }
  void close() {
    if (fd_ >= 0) ::close(fd_);
    fd_ = -1;
  }
  bool send_bytes(const void* bytes, size_t count, int flags = 0) {
    return send(fd_, bytes, count, flags | MSG_NOSIGNAL) == static_cast<ssize_t>(count);
  }
  // The answer, or nothing when the card hung up.
  std::optional<emu::Answer> answer() {
    std::vector<char> bytes(sizeof(emu::Answer) + emu::kMaxAnswerBytes);
    const ssize_t got = recv(fd_, bytes.data(), bytes.size(), 0);
    if (got < static_cast<ssize_t>(sizeof(emu::Answer))) return std::nullopt;
    emu::Answer a;
    std::memcpy(&a, bytes.data(), sizeof a);
    return a;
  }
  std::optional<emu::Answer> ask(const emu::Request& r) {
    if (!send_bytes(&r, sizeof r)) return std::nullopt;
    return answer();
  }

 private:
  int fd_;
};

class RawSocket : public testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    auto o = options(std::string("raw-") + (GetParam() ? "strict" : "mapped"));
    o.strict = GetParam();
    name = o.name;
    card = std::make_unique<EmulatedCard>(o);
    card->announce();
  }
  void expect_still_serving() {
    const auto observer = open_card("emu:" + name);
    uint64_t word;
    ASSERT_EQ(observer->aim(Window::control, {1, 1}, 0), Access::ok);
    EXPECT_EQ(observer->copy(Window::control, 0, {&word, 1}), Access::ok);
  }
  std::string name;
  std::unique_ptr<EmulatedCard> card;
};

TEST_P(RawSocket, garbage_is_answered_or_hung_up_on_and_others_are_served) {
  uint64_t seed = 99;
  RecordProperty("seed", std::to_string(seed));
  const auto random = [&] {
    seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
    return seed;
  };
  for (const size_t length : {size_t{1}, size_t{4}, sizeof(emu::Request) - 1, sizeof(emu::Request),
                              sizeof(emu::Request) + 1, size_t{4096}, size_t{60000}}) {
    RawClient client(name);
    std::vector<unsigned char> bytes(length);
    for (auto& b : bytes) b = static_cast<unsigned char>(random());
    ASSERT_TRUE(client.send_bytes(bytes.data(), bytes.size()));
    if (const auto a = client.answer()) {
      EXPECT_NE(a->status, static_cast<uint32_t>(emu::Greeting::welcome)) << length;
    }
    expect_still_serving();
  }
  for (int i = 0; i < 2000; ++i) {  // the right size and version, the rest anything
    RawClient client(name);
    if (i % 2) {
      ASSERT_TRUE(client.ask(emu::Request{}));
    }
    emu::Request r;
    r.op = static_cast<emu::Op>(random() % 8);
    r.window = static_cast<uint32_t>(random() % 4 ? random() % 2 : random());
    r.windows_wanted = static_cast<uint32_t>(random() % 3 ? random() % 6 : random());
    r.x = static_cast<uint8_t>(random() % 12);
    r.y = static_cast<uint8_t>(random() % 14);
    r.offset = static_cast<uint32_t>(random() % 2 ? random() : random() % 4096 * 8);
    r.address = random() % 2 ? random() : random() % (4u << 20);
    r.bytes = static_cast<uint32_t>(random() % 2 ? random() : random() % 40000);
    client.ask(r);
    emu::Request second = r;
    second.op = emu::Op::copy;
    client.ask(second);
  }
  expect_still_serving();
}

TEST_P(RawSocket, another_version_is_told_so) {
  RawClient client(name);
  emu::Request r;
  r.version = emu::kPageVersion + 1;
  const auto a = client.ask(r);
  ASSERT_TRUE(a);
  EXPECT_EQ(a->status, static_cast<uint32_t>(emu::Greeting::version_mismatch));
  EXPECT_EQ(card->observers(), 0u);
}

TEST_P(RawSocket, asking_for_too_many_windows_is_a_violation) {
  RawClient client(name);
  emu::Request r;
  r.windows_wanted = 5;
  const auto a = client.ask(r);
  ASSERT_TRUE(a);
  EXPECT_EQ(a->status, static_cast<uint32_t>(emu::Greeting::too_many_windows));
  EXPECT_EQ(card->account().violations, 1u);
}

TEST_P(RawSocket, a_write_of_any_size_is_a_violation) {
  for (const uint32_t bytes : {0u, 4u, 64u, emu::kMaxAnswerBytes, emu::kMaxAnswerBytes + 1, 1u << 20}) {
    RawClient client(name);
    ASSERT_TRUE(client.ask(emu::Request{}));
    const uint64_t before = card->account().violations;
    emu::Request r;
    r.op = emu::Op::write;
    r.x = r.y = 1;
    r.bytes = bytes;
    const auto a = client.ask(r);  // refused or hung up on
    if (a) {
      EXPECT_EQ(a->status, static_cast<uint32_t>(Access::refused));
    }
    EXPECT_EQ(card->account().violations, before + 1) << bytes << " bytes";
  }
}

TEST_P(RawSocket, nothing_is_read_before_the_greeting) {
  RawClient client(name);
  emu::Request r;
  r.op = emu::Op::copy;
  r.bytes = 64;
  const auto a = client.ask(r);
  EXPECT_TRUE(!a || a->status != static_cast<uint32_t>(Access::ok));
  expect_still_serving();
}

// An observer that sends requests and never reads the answers fills its own socket only.
TEST_P(RawSocket, an_observer_that_does_not_read_its_answers_does_not_stop_the_card) {
  RawClient lazy(name);
  ASSERT_TRUE(lazy.ask(emu::Request{}));
  emu::Request r;
  r.op = emu::Op::copy;
  r.bytes = emu::kMaxAnswerBytes;
  emu::Request aim;
  aim.op = emu::Op::aim;
  aim.x = aim.y = 1;
  ASSERT_TRUE(lazy.ask(aim));
  // Until neither side moves any more: nothing was taken off the queue for 20 ms.
  for (uint64_t last = now_ns(); now_ns() - last < 20'000'000;)
    if (lazy.send_bytes(&r, sizeof r, MSG_DONTWAIT)) last = now_ns();
  auto other = std::async(std::launch::async, [&] { open_card("emu:" + name); });
  EXPECT_NO_THROW(other.get());  // a card that waits for the lazy one runs into ctest's limit
  lazy.close();
}

INSTANTIATE_TEST_SUITE_P(Emulated, RawSocket, testing::Bool(),
                         [](const auto& i) { return std::string(i.param ? "strict" : "mapped"); });

}  // namespace
}  // namespace ttc::card
