// Sets of numbers that are filled and cleared again and again.
#include "tools/viewers/perfetto/number_set.hpp"

#include <gtest/gtest.h>

#include <random>
#include <set>

#include "tools/viewers/perfetto/interned_names.hpp"

namespace ttc::tools {
namespace {

TEST(NumberSet, has_what_came_since_it_was_cleared) {
  std::mt19937_64 dice(4);
  NumberSet set;
  for (int round = 0; round < 200; ++round) {
    std::set<uint64_t> expected;
    const uint64_t most = round % 2 ? 50 : 3000;
    for (uint64_t n = dice() % most; n-- > 0;) {
      const uint64_t number = 1 + (dice() % most << (dice() % 2 ? 32 : 0));
      EXPECT_EQ(set.insert(number), expected.insert(number).second) << number << " in round " << round;
    }
    set.clear();
  }
}

TEST(InternedNames, has_what_was_added) {
  InternedNames names;
  std::set<uint32_t> expected;
  std::mt19937 dice(5);
  for (int i = 0; i < 2000; ++i) {
    const uint32_t number = dice() % (2 * InternedNames::kShared);
    EXPECT_EQ(names.has(number), expected.contains(number)) << number;
    names.add(number);
    expected.insert(number);
  }
  for (const uint32_t number : expected) EXPECT_TRUE(names.has(number)) << number;
}

}  // namespace
}  // namespace ttc::tools
