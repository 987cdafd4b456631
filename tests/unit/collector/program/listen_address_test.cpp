#include "collector/program/listen_address.hpp"

#include <gtest/gtest.h>

namespace ttc::program {
namespace {

// Ports above 65535 wrapped: 99999 listened at 34463.
TEST(ListenAddress, a_port_is_a_number_that_fits) {
  for (const char* text : {"0", "8600", "65535"}) {
    ASSERT_TRUE(parse_listen(text)) << text;
    EXPECT_EQ(parse_listen(text)->port, text);
    EXPECT_EQ(parse_listen(text)->host, "");
  }
  for (const char* text :
       {"", "65536", "99999", "-1", "+1", " 1", "1 ", "0x10", "http", "1e3", "99999999999999999999"}) {
    EXPECT_FALSE(parse_listen(text)) << text;
    EXPECT_NE(check_listen(text).find("0 to 65535"), std::string::npos) << text;
  }
}

TEST(ListenAddress, an_address_stands_in_front_in_brackets_where_it_has_colons) {
  EXPECT_EQ(parse_listen("0.0.0.0:8600")->host, "0.0.0.0");
  EXPECT_EQ(parse_listen("localhost:1")->host, "localhost");
  EXPECT_EQ(parse_listen("[::1]:8600")->host, "::1");
  EXPECT_EQ(parse_listen("[::1]:8600")->port, "8600");
  for (const char* text : {":8600", "::1:8600", "host:", "host:65536", "[::1]"})
    EXPECT_FALSE(parse_listen(text)) << text;
}

}  // namespace
}  // namespace ttc::program
