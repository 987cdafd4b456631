// Every path of the decoder decodes what the portable one does: frames of the device-side profiler, random ones with every oddity, damaged
// words, memory that real firmware left, and the inputs of fuzz targets.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <random>
#include <set>

#include "tests/support/decode_paths.hpp"
#include "tests/support/frames.hpp"

namespace ttc::markers {
namespace {

namespace fs = std::filesystem;
using test::paths_that_differ;
using test::Words;

constexpr const device::Format* kFormats[] = {&device::kG4, &device::kG3, &device::kG2, &device::kG1};

// A lane's log whose frames are mostly ordinary, with the oddities that firmware, hosts and torn memory bring.
class RandomLog {
 public:
  // One in `odd` packets, slots and heads is odd; 0: none.
  RandomLog(uint64_t seed, const Lane& lane, uint32_t odd) : dice_(seed), lane_(lane), odd_(odd) {
    if (seed % 4 == 1) time_ = kClockMask - dice_() % 20'000;  // the clock's range ends on the way
  }

  Words words(size_t frames, uint32_t most_packets) {
    Words all;
    for (size_t i = 0; i < frames; ++i) put_frame(all, most_packets);
    return all;
  }

 private:
  bool odd() { return odd_ && dice_() % odd_ == 0; }
  uint64_t later() { return time_ = (time_ + 1 + dice_() % 200) & kClockMask; }

  void put_frame(Words& to, uint32_t most_packets) {
    if (!odd()) ++host_;
    if (odd()) time_ += uint64_t{1} << 32;
    const bool damaged = odd();
    const uint32_t type = dice_() % 2 ? device::kZoneStart : device::kTsData;
    const uint64_t overrun = later();  // of another RISC
    const uint32_t sentinel =
        damaged ? device::marker_high(type, 77, static_cast<uint32_t>(overrun >> 32)) : 0;
    to.insert(to.end(),
              {sentinel, damaged ? static_cast<uint32_t>(overrun) : 0,
               lane_.format->identity(lane_.risc, lane_.flat_id, static_cast<uint32_t>(dice_() % 4)), host_});
    // the low half of the clock began again between the two reads of the start, by the words read.
    const bool rolled_over = odd();
    if (rolled_over) time_ = (((time_ >> 32) + 1) << 32 | dice_() % 0x200) & kClockMask;
    const uint64_t start = later();
    if (rolled_over) time_ = (time_ + (uint64_t{1} << 32)) & kClockMask;
    const uint64_t kernel = later();
    const size_t slots = to.size();
    to.resize(slots + 8);
    for (uint64_t packets = dice_() % (most_packets + 1); packets > 0; --packets) put_packet(to);
    if (odd()) time_ = (time_ + (uint64_t{1} << 32) + dice_() % 1000) & kClockMask;  // a launch of seconds
    const uint64_t kernel_end = later(), end = odd() ? 0 : later();
    Words fixed;
    test::put_zone(fixed, {1, odd() ? test::Time() : start, odd() ? test::Time() : end});
    test::put_zone(fixed, {2, kernel, odd() ? kernel - 5000 : kernel_end});
    std::copy(fixed.begin(), fixed.end(), to.begin() + static_cast<ptrdiff_t>(slots));
    if (odd()) to[slots + 2 * (dice_() % 4)] ^= 1u << 28;                      // a start where an end belongs
    if (odd()) to.insert(to.end(), {device::kUnsetWord, device::kUnsetWord});  // padding
  }

  void put_packet(Words& to) {
    const auto id = static_cast<uint32_t>(dice_() % 0x10000);
    uint64_t time = later();
    if (odd()) time -= dice_() % 100'000;                      // backward
    if (odd()) time -= uint64_t{1} << 32, time &= ~0xffffull;  // rolled over
    if (dice_() % 16 == 0) return put_data(to, id, time);
    const uint32_t type = odd() ? static_cast<uint32_t>(dice_() % 8) : static_cast<uint32_t>(dice_() % 2);
    test::put_marker(to, type, id, time & kClockMask);
    for (uint32_t word = 2; word < packet_words(type); ++word) to.push_back(static_cast<uint32_t>(dice_()));
  }
  void put_data(Words& to, uint32_t id, uint64_t time) {
    test::put_marker(to, device::kTsData, id, time & kClockMask);
    to.push_back(odd() ? lane_.format->identity(lane_.risc, lane_.flat_id, 0)
                       : static_cast<uint32_t>(dice_()));
    to.push_back(static_cast<uint32_t>(dice_()));
  }

  std::mt19937_64 dice_;
  const Lane& lane_;
  uint32_t odd_;
  uint32_t host_ = 1;
  uint64_t time_ = 5'000'000'000;
};

TEST(DecodePaths, random_frames) {
  size_t words = 0;
  for (uint64_t seed = 1; seed <= 1500; ++seed) {
    std::mt19937_64 dice(seed);
    const Lane lane{kFormats[dice() % std::size(kFormats)], static_cast<uint8_t>(dice() % device::kMaxRiscs),
                    static_cast<uint8_t>(dice()),
                    dice() % 8 ? device::Mode::normal : static_cast<device::Mode>(dice() % 3)};
    constexpr uint32_t kOdd[] = {0, 10, 100, 1000}, kMost[] = {4, 20, 40, 120};
    Words log = RandomLog(seed, lane, kOdd[dice() % 4]).words(1 + dice() % 40, kMost[dice() % 4]);
    if (seed % 3 == 0)
      for (uint64_t flips = dice() % 5; flips > 0; --flips) log[dice() % log.size()] ^= 1u << dice() % 32;
    if (seed % 5 == 0) log.resize(dice() % log.size());
    if (seed % 7 == 0) log.erase(log.begin(), log.begin() + static_cast<ptrdiff_t>(dice() % log.size()));
    words += log.size();
    ASSERT_EQ(paths_that_differ(log, lane), "") << "seed " << seed;
  }
  EXPECT_GT(words, 500'000u);
}

// What the ordinary path must take at all: without it the comparison would compare the portable path with itself.
TEST(DecodePaths, ordinary_frames_of_every_length_and_at_every_end) {
  const Lane lane{&device::kG4, 2, 9};
  for (uint32_t packets = 0; packets <= 140; ++packets) {
    RandomLog log(packets + 1, lane, 0);
    const Words words = log.words(6, packets);
    for (size_t cut = 0; cut < 80 && cut < words.size(); ++cut)
      ASSERT_EQ(paths_that_differ(std::span(words).first(words.size() - cut), lane), "")
          << packets << " packets, less " << cut;
  }
}

// Words of a file, decoded as a log of each lane that a frame in them names.
void compare_file(const fs::path& path, size_t& lanes, size_t& frames) {
  std::ifstream in(path, std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(in)), {});
  Words words(bytes.size() / 4);
  if (words.empty()) return;
  std::memcpy(words.data(), bytes.data(), words.size() * 4);
  for (const device::Format* format : kFormats) {
    Lane lane{format, 0, 0};
    std::set<uint32_t> identities;
    for (size_t at = 0; at + device::kFirstCustomWord <= words.size(); ++at)
      if (words[at] == 0 && words[at + 1] == 0 && detail::slots_hold_types(words.data() + at) &&
          identities.size() < 200)
        identities.insert(words[at + device::kIdIdentity] & lane.identity_mask);
    for (const uint32_t identity : identities) {
      lane.identity = identity;
      constexpr size_t kPiece = 1 << 16;
      for (size_t from = 0; from < words.size(); from += kPiece) {
        const auto piece = std::span(words).subspan(from, std::min(kPiece, words.size() - from));
        ASSERT_EQ(paths_that_differ(piece, lane), "")
            << path << ", identity " << identity << ", from word " << from;
        LaneDecoder decoder(lane);
        Batch batch;
        decoder.decode(piece, batch);
        frames += batch.frames().size();
      }
      ++lanes;
    }
  }
}

TEST(DecodePaths, memory_that_real_firmware_left) {
  const std::string golden = TTC_GOLDEN_DIR;
  if (golden.empty())
    GTEST_SKIP() << "no golden data: configure with -DTTC_GOLDEN=<directory that holds firmware-memory>";
  size_t lanes = 0, frames = 0;
  for (const auto& entry : fs::recursive_directory_iterator(fs::path(golden) / "firmware-memory"))
    if (entry.is_regular_file()) compare_file(entry.path(), lanes, frames);
  EXPECT_GT(lanes, 0u);
  EXPECT_GT(frames, 100u);
}

TEST(DecodePaths, inputs_of_fuzz_targets) {
  size_t lanes = 0, frames = 0, files = 0;
  for (const auto& entry :
       fs::recursive_directory_iterator(fs::path(TTC_TEST_DATA).parent_path() / "fuzz" / "corpus"))
    if (entry.is_regular_file()) compare_file(entry.path(), lanes, frames), ++files;
  EXPECT_GT(files, 10u);
}

TEST(DecodePaths, a_processor_without_a_path_decodes_by_the_portable_one) {
  EXPECT_TRUE(has(DecodePath::portable));
  EXPECT_TRUE(has(fastest_path()));
  for (const DecodePath path : kDecodePaths) EXPECT_FALSE(to_string(path).empty());
  if (!has(DecodePath::avx2)) {
    EXPECT_EQ(fastest_path(), DecodePath::portable);
  }
}

}  // namespace
}  // namespace ttc::markers
