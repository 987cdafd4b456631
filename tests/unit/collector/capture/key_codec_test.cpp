// Keys of shapes to codes and back, whatever they are, and codes that no encoder made.
#include "collector/capture/key_codec.hpp"

#include <gtest/gtest.h>

#include <random>

#include "collector/capture/block_codec.hpp"
#include "firmware_markers/device/format.hpp"

namespace ttc::collect {
namespace {

std::vector<uint32_t> taken(const std::vector<uint8_t>& bytes) {
  Scratch<uint32_t> room;
  const auto keys = take_keys(bytes, room);
  return {keys.begin(), keys.end()};
}
uint32_t start(uint32_t id) {
  return device::marker_high(device::kZoneStart, id, 0);
}
uint32_t end(uint32_t id) {
  return device::marker_high(device::kZoneEnd, id, 0);
}

TEST(KeyCodec, ends_of_nested_zones_cost_no_code_of_their_own) {
  std::vector<uint32_t> keys;
  for (uint32_t i = 0; i < 100; ++i)
    for (const uint32_t key : {start(5), start(6), end(6), start(7), end(7), end(5)}) keys.push_back(key);
  std::vector<uint8_t> bytes;
  ASSERT_TRUE(put_keys(bytes, keys));
  EXPECT_EQ(bytes.size(), 4 + 3 * 4 + 2 * keys.size()) << "three starts are all that is distinct";
  EXPECT_EQ(taken(bytes), keys);
}

TEST(KeyCodec, any_keys_come_back) {
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    std::mt19937_64 dice(seed);
    std::vector<uint32_t> keys(dice() % 3000), pool;
    const uint64_t kind = dice() % 3;
    for (uint64_t i = 0, n = 1 + dice() % 600; i < n; ++i) {
      const auto id = static_cast<uint32_t>(dice() % 65536);
      pool.push_back(kind == 0 ? static_cast<uint32_t>(dice()) : dice() % 2 ? start(id) : end(id));
      if (kind == 2) pool.push_back(pool.back() ^ start(0) ^ end(0));
    }
    if (seed % 7 == 0) pool.push_back(0);
    for (uint32_t& key : keys) key = pool[dice() % pool.size()];
    std::vector<uint8_t> bytes;
    if (!put_keys(bytes, keys)) continue;
    ASSERT_EQ(taken(bytes), keys) << "seed " << seed;
  }
}

TEST(KeyCodec, more_zones_open_than_are_kept_and_more_ended_than_opened) {
  std::vector<uint32_t> keys;
  for (unsigned turn = 0; turn < 50; ++turn) {
    for (uint32_t i = 0; i < 40; ++i) keys.push_back(start(i));
    for (uint32_t i = 0; i < 45; ++i) keys.push_back(end(39 - i % 40));
  }
  std::vector<uint8_t> bytes;
  ASSERT_TRUE(put_keys(bytes, keys));
  EXPECT_EQ(taken(bytes), keys);
}

TEST(KeyCodec, keys_that_hardly_repeat_are_left_as_they_are) {
  std::vector<uint32_t> keys(1000);
  for (uint32_t i = 0; i < keys.size(); ++i) keys[i] = end(i);
  std::vector<uint8_t> bytes{1, 2, 3};
  EXPECT_FALSE(put_keys(bytes, keys));
  EXPECT_EQ(bytes.size(), 3u);
}

TEST(KeyCodec, codes_nobody_made_are_refused_or_some_keys) {
  std::vector<uint32_t> keys;
  for (uint32_t i = 0; i < 60; ++i) keys.push_back(start(i % 5)), keys.push_back(end(i % 5));
  std::vector<uint8_t> whole;
  ASSERT_TRUE(put_keys(whole, keys));
  size_t refused = 0;
  const auto take = [&](const std::vector<uint8_t>& bytes) {
    try {
      EXPECT_LE(taken(bytes).size(), whole.size());
    } catch (const BlockError&) {
      ++refused;
    }
  };
  for (size_t cut = 0; cut < whole.size(); ++cut)
    take({whole.begin(), whole.begin() + static_cast<long>(cut)});
  for (size_t bit = 0; bit < 8 * whole.size(); ++bit) {
    auto bytes = whole;
    bytes[bit / 8] ^= static_cast<uint8_t>(1 << bit % 8);
    take(bytes);
  }
  EXPECT_GT(refused, 0u);
}

}  // namespace
}  // namespace ttc::collect
