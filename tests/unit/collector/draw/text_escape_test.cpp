// Names of any bytes in JSON, SVG and HTML.
#include "collector/draw/text_escape.hpp"

#include <gtest/gtest.h>

namespace ttc::draw {
namespace {

TEST(TextEscape, what_has_a_meaning_is_spelled_out) {
  EXPECT_EQ(for_json("a\"b\\c\n"), "a\\\"b\\\\c\\u000a");
  EXPECT_EQ(for_markup("a<b>&\"c\"\n"), "a&lt;b&gt;&amp;&quot;c&quot;?");
}

TEST(TextEscape, utf8_stays_and_what_is_none_becomes_a_mark) {
  const std::string good = "\xc3\xb6 \xe2\x82\xac \xf0\x9f\x98\x80 \xf4\x8f\xbf\xbf";
  EXPECT_EQ(for_json(good), good);
  EXPECT_EQ(for_markup(good), good);
  for (const char* bad : {"\xff", "\xc0\xaf", "\xed\xa0\x80", "\xe0\x80\x80", "\xf4\x90\x80\x80", "\xe2\x82"})
    for (const std::string& text : {for_json(bad), for_markup(bad)})
      EXPECT_EQ(text, std::string(std::string_view(bad).size(), '?'));
}

TEST(TextEscape, markup_holds_no_end_of_cdata_and_no_character_xml_excludes) {
  EXPECT_EQ(for_markup("a]]>b"), "a]]&gt;b");
  EXPECT_EQ(for_markup(std::string_view("\0\x01\x1f\t", 4)), "????");
  EXPECT_EQ(for_markup("\xef\xbf\xbe\xef\xbf\xbf\xef\xbf\xbd"), "??\xef\xbf\xbd");
}

}  // namespace
}  // namespace ttc::draw
