#include "tools/terminal/keys.hpp"

#include <gtest/gtest.h>

namespace ttc::tools {
namespace {

TEST(Keys, are_taken_from_bytes_and_cut_sequences_wait) {
  using enum Key;
  std::string bytes = "ps\t\033[A\033[Z\033OBx\033[1;5C\033[";
  EXPECT_EQ(take_keys(bytes, true),
            (std::vector<Key>{pause, sort, next_card, card_before, card_before, next_card, next_card}));
  EXPECT_EQ(bytes, "\033[");
  bytes += "B q";
  EXPECT_EQ(take_keys(bytes, true), (std::vector<Key>{next_card, pause, quit}));
  bytes = "\033";
  EXPECT_TRUE(take_keys(bytes, true).empty());
  EXPECT_EQ(bytes, "\033");
  EXPECT_TRUE(take_keys(bytes, false).empty());
  EXPECT_EQ(bytes, "");
  bytes = "\033[" + std::string(1000, '1');  // never ends
  EXPECT_TRUE(take_keys(bytes, true).empty());
  EXPECT_EQ(bytes, "");
}

}  // namespace
}  // namespace ttc::tools
