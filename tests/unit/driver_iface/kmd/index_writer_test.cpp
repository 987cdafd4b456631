// The one way to write to a card: what it clears, what it refuses, and that there is one of it.
#include "driver_iface/index_writer.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <unistd.h>

#include "driver_iface/emulated_card.hpp"
#include "driver_iface/model/driver_model.hpp"

namespace ttc::card {
namespace {

constexpr uint32_t kVector = 0xB00, kWords = 5;
constexpr Coord kWrittenTile{1, 2};

class IndexWriterTest : public testing::Test {
 protected:
  explicit IndexWriterTest(bool writable = true) : card(options(writable)) {
    card.set_log_geometry({kVector, 256, 0x20, 48000, 8, 0, kWords});
    for (uint32_t w = 0; w < 8; ++w) card.store(kWrittenTile, kVector + 4 * w, 100 + w);
    card.announce();
  }
  static EmulatedCardOptions options(bool writable) {
    EmulatedCardOptions o;
    o.name = name();
    o.writable = writable;
    return o;
  }
  static std::string name() { return "iw" + std::to_string(getpid()); }
  std::vector<uint32_t> words() const {
    std::vector<uint32_t> now;
    for (uint32_t w = 0; w < 8; ++w) now.push_back(card.load(kWrittenTile, kVector + 4 * w));
    return now;
  }
  static std::vector<ClearableWords> place(uint32_t address = kVector, uint32_t count = kWords) {
    return {{kWrittenTile, kWrittenTile, address, count}};
  }
  EmulatedCard card;
};
class NoWriter : public IndexWriterTest {
 protected:
  NoWriter() : IndexWriterTest(false) {}
};

TEST_F(IndexWriterTest, clears_the_words_of_the_mask_and_no_others) {
  const auto writer = open_index_writer("emu:" + name(), place());
  EXPECT_EQ(writer->clear(0, 0b10010), Access::ok);
  EXPECT_EQ(words(), (std::vector<uint32_t>{100, 0, 102, 103, 0, 105, 106, 107}));
  EXPECT_EQ(card.account().index_writes, 1u);
  EXPECT_EQ(card.account().violations, 0u);
}

TEST_F(IndexWriterTest, refuses_what_was_not_named) {
  const auto writer = open_index_writer("emu:" + name(), place());
  EXPECT_EQ(writer->clear(0, 0), Access::refused);
  EXPECT_EQ(writer->clear(0, 1u << kWords), Access::refused);
  EXPECT_EQ(writer->clear(1, 1), Access::refused);
  EXPECT_EQ(card.account().index_writes, 0u);
}

// The card itself takes stores to index words only.
TEST_F(IndexWriterTest, anything_but_index_words_is_a_violation) {
  for (const auto& wrong : {place(kVector + 4), place(kVector, 6), place(0x20000),
                            std::vector<ClearableWords>{{{0, 0}, {0, 0}, kVector, kWords}}}) {
    const uint64_t before = card.account().violations;
    EXPECT_EQ(open_index_writer("emu:" + name(), wrong)->clear(0, 1), Access::refused);
    EXPECT_EQ(card.account().violations, before + 1);
  }
  EXPECT_EQ(words(), (std::vector<uint32_t>{100, 101, 102, 103, 104, 105, 106, 107}));
}

TEST_F(IndexWriterTest, there_is_one_and_its_end_frees_the_card) {
  auto first = open_index_writer("emu:" + name(), place());
  EXPECT_THROW(open_index_writer("emu:" + name(), place()), OpenError);
  first.reset();
  // The card detects the end of the connection by itself. One that never does runs into ctest's limit.
  while (!first) {
    try {
      first = open_index_writer("emu:" + name(), place());
    } catch (const OpenError&) {
      sched_yield();
    }
  }
  EXPECT_EQ(first->clear(0, 1), Access::ok);
}

TEST_F(NoWriter, is_granted_where_writes_are_not_allowed) {
  EXPECT_THROW(open_index_writer("emu:" + name(), place()), OpenError);
}

// Behind the kernel driver: a descriptor and a window of its own, the driver's lock, every way in which that
// fails.
TEST_F(IndexWriterTest, behind_the_driver) {
  kmd::DriverModel model;
  kmd::ModelNode node;
  node.card = name();
  model.add(node);
  kmd::use_system(model);
  {
    const auto writer = open_index_writer("0", place());
    EXPECT_EQ(writer->clear(0, 0b11111), Access::ok);
    EXPECT_EQ(words(), (std::vector<uint32_t>{0, 0, 0, 0, 0, 105, 106, 107}));
    try {
      open_index_writer("0", place());
      ADD_FAILURE() << "two writers";
    } catch (const OpenError& e) {
      EXPECT_NE(std::string(e.what()).find("another collector recycles this card"), std::string::npos)
          << e.what();
    }
    model.reset(0);
    EXPECT_EQ(writer->clear(0, 1), Access::gone);
    model.post_reset(0);
  }
  EXPECT_NO_THROW(open_index_writer("0", place()));  // lock and window were given back
  EXPECT_TRUE(model.state(0).windows_taken.empty());
  EXPECT_TRUE(model.state(0).hazards.empty());
  EXPECT_EQ(card.account().violations, 0u);
  kmd::use_system(kmd::linux_system());
}

TEST_F(IndexWriterTest, behind_the_driver_without_a_window_left) {
  kmd::DriverModel model;
  kmd::ModelNode node;
  node.card = name();
  model.add(node);
  const int workload = model.open_as(4711, "/dev/tenstorrent/0", O_RDWR | O_CLOEXEC);
  ASSERT_GE(workload, 0);
  for (int error = 0; error == 0;) {
    kmd::AllocateWindow window;
    window.bytes = kWindowBytes;
    error = model.ioctl(workload, kmd::Request::allocate_window, &window);
  }
  kmd::use_system(model);
  try {
    open_index_writer("0", place());
    ADD_FAILURE() << "it was opened";
  } catch (const OpenError& e) {
    const std::string why = e.what();
    EXPECT_NE(why.find("no third window of 2 MiB is left"), std::string::npos) << why;
    EXPECT_NE(why.find("4711"), std::string::npos) << "the holder of the card is not named: " << why;
  }
  EXPECT_EQ(model.state(0).descriptors, 1u);  // the workload's: ours was given back, and with it the lock
  model.close(workload);
  kmd::use_system(kmd::linux_system());
}

TEST_F(IndexWriterTest, behind_the_driver_without_permission) {
  kmd::DriverModel model;
  kmd::ModelNode node;
  node.card = name();
  node.writable = false;
  model.add(node);
  kmd::use_system(model);
  try {
    open_index_writer("0", place());
    ADD_FAILURE() << "it was opened";
  } catch (const OpenError& e) {
    EXPECT_NE(std::string(e.what()).find("no permission to write"), std::string::npos) << e.what();
  }
  kmd::use_system(kmd::linux_system());
}

}  // namespace
}  // namespace ttc::card
