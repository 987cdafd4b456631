// The emulated card's socket under clients that keep to no protocol.
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstddef>
#include <cstring>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "driver_iface/emu/emu_wire.hpp"
#include "driver_iface/emulated_card.hpp"
#include "tests/unit/driver_iface/emu/card_emulated_fixture.hpp"

namespace ttc::card {
namespace {

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
