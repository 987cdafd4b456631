// Foreign text on a terminal.
#include "collector/program/printable.hpp"

#include <gtest/gtest.h>

#include "collector/program/utf8.hpp"

namespace ttc::program {
namespace {

TEST(Printable, ordinary_text_and_valid_utf8_stay) {
  for (const char* text :
       {"", "BRISC-KERNEL", "a b/c\\d", "\u03bcs \u25b8 \u00e4\u00f6", "\u65e5\u672c", "\U0001f600"})
    EXPECT_EQ(printable(text), text);
}

TEST(Printable, control_characters_become_visible) {
  EXPECT_EQ(printable("\x1b[2J\x07"), "\\x1b[2J\\x07");
  EXPECT_EQ(printable("one\ntwo\r\tthree\x7f"), "one\\x0atwo\\x0d\\x09three\\x7f");
  EXPECT_EQ(printable(std::string_view("a\0b", 3)), "a\\x00b");
}

TEST(Printable, control_characters_of_the_upper_half_become_visible) {
  EXPECT_EQ(printable("\u009b31m"), "\\x9b31m");
  EXPECT_EQ(printable("\u0080\u009f\u00a0"), "\\x80\\x9f\u00a0");
}

TEST(Printable, characters_that_turn_the_direction_of_writing_become_visible) {
  EXPECT_EQ(printable("a\u202eb\u2066c\u2069\u200f\u061c"), "a\\u202eb\\u2066c\\u2069\\u200f\\u061c");
  EXPECT_EQ(printable("a\u2028b\u2029"), "a\\u2028b\\u2029");
}

TEST(Printable, line_ends_and_tabs_of_text_of_many_lines_stay) {
  EXPECT_EQ(printable_lines("a\n\tb\r\x1b]0;t\x07\n\u009b\xff"), "a\n\tb\\x0d\\x1b]0;t\\x07\n\\x9b\\xff");
}

TEST(Printable, bytes_that_are_no_utf8_become_visible) {
  EXPECT_EQ(printable("a\xff\xfe"), "a\\xff\\xfe");
  EXPECT_EQ(printable("\xc3"), "\\xc3");
  EXPECT_EQ(printable("\xc0\xaf"), "\\xc0\\xaf");           // overlong '/'
  EXPECT_EQ(printable("\xed\xa0\x80"), "\\xed\\xa0\\x80");  // a surrogate
  EXPECT_EQ(printable("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80");
  EXPECT_EQ(printable("\x9b[m"), "\\x9b[m");
  EXPECT_EQ(printable("\xe2\x82x"), "\\xe2\\x82x");
}

TEST(Printable, whatever_the_bytes_are_the_result_has_no_control_character_and_is_utf8) {
  uint32_t dice = 1;
  for (int round = 0; round < 2000; ++round) {
    std::string text;
    for (int i = 0; i < 40; ++i) text += static_cast<char>((dice = dice * 1664525 + 1013904223) >> 24);
    const std::string shown = printable(text);
    for (size_t at = 0, length = 0; at < shown.size(); at += length) {
      length = utf8_length(shown, at);
      ASSERT_GT(length, 0u);
      const char32_t point = utf8_point(shown, at, length);
      ASSERT_TRUE(point >= 0x20 && (point < 0x7f || point >= 0xa0));
    }
  }
}

TEST(Utf8, code_points_are_decoded) {
  EXPECT_EQ(utf8_point("A", 0, 1), U'A');
  EXPECT_EQ(utf8_point("\u00e4", 0, 2), U'\u00e4');
  EXPECT_EQ(utf8_point("x\u20ac", 1, 3), U'\u20ac');
  EXPECT_EQ(utf8_point("\U0001f600", 0, 4), U'\U0001f600');
}

}  // namespace
}  // namespace ttc::program
