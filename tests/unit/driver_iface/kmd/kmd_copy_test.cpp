// Copies out of a window: every width brings the same words, whatever the alignment and length, and none
// loads a byte outside of the requested range.
#include "driver_iface/kmd/kmd_copy.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstring>
#include <vector>

namespace ttc::card::kmd {
namespace {

constexpr size_t kPage = 4096;
constexpr size_t kLineWords = 8;

// A page between two that cannot be touched.
class Fenced {
 public:
  Fenced() {
    at_ = static_cast<uint8_t*>(
        mmap(nullptr, 3 * kPage, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
    mprotect(at_ + kPage, kPage, PROT_READ | PROT_WRITE);
    for (size_t i = 0; i < kPage / 8; ++i) words()[i] = 0x9E3779B97F4A7C15u * (i + 1);
  }
  ~Fenced() { munmap(at_, 3 * kPage); }
  Fenced(const Fenced&) = delete;
  Fenced& operator=(const Fenced&) = delete;
  uint64_t* words() { return reinterpret_cast<uint64_t*>(at_ + kPage); }

 private:
  uint8_t* at_;
};

class KmdCopy : public testing::TestWithParam<CopyWidth> {
 protected:
  void expect_copied(size_t first, size_t count) {
    constexpr uint64_t kUntouched = 0xABABABABABABABABu;
    std::vector<uint64_t> out(count + 2, kUntouched);
    copy_of(GetParam())(out.data() + 1, from.words() + first, count);
    ASSERT_EQ(std::memcmp(out.data() + 1, from.words() + first, 8 * count), 0) << first << " " << count;
    ASSERT_EQ(out.front(), kUntouched) << first << " " << count;
    ASSERT_EQ(out.back(), kUntouched) << first << " " << count;
  }
  Fenced from;
};

TEST_P(KmdCopy, brings_the_words_at_every_alignment_and_length) {
  for (size_t first = 0; first < 2 * kLineWords; ++first)
    for (size_t count = 0; count <= 6 * kLineWords; ++count) expect_copied(first, count);
}

// A load behind either end of the page would be the end of this process.
TEST_P(KmdCopy, stays_inside_what_was_asked_for) {
  const size_t all = kPage / 8;
  for (size_t count = 1; count <= 3 * kLineWords; ++count) {
    expect_copied(0, count);
    expect_copied(all - count, count);
  }
  expect_copied(0, all);
}

TEST_P(KmdCopy, to_any_multiple_of_eight) {
  std::vector<uint64_t> out(200);
  for (size_t shift = 0; shift < kLineWords; ++shift) {
    copy_of(GetParam())(out.data() + shift, from.words() + 3, 100);
    EXPECT_EQ(std::memcmp(out.data() + shift, from.words() + 3, 800), 0);
  }
}

INSTANTIATE_TEST_SUITE_P(ThisCpu, KmdCopy, testing::ValuesIn(copy_widths().begin(), copy_widths().end()),
                         [](const auto& of) { return std::string("width_") + std::to_string(of.index); });

TEST(KmdCopyWidths, the_plain_one_is_always_there_and_the_widest_is_the_last) {
  ASSERT_FALSE(copy_widths().empty());
  EXPECT_EQ(copy_widths().front(), CopyWidth::plain);
  EXPECT_EQ(copy_widths().back(), widest_copy());
  RecordProperty("widest", to_string(widest_copy()));
}

}  // namespace
}  // namespace ttc::card::kmd
