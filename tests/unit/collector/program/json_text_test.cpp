// JSON out of strings of any bytes.
#include "collector/program/json_text.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace ttc::program {
namespace {

TEST(JsonText, bytes_that_are_no_utf8_become_the_replacement_character) {
  const nlohmann::json value{{"name", "a\xff\xfe z"}};
  EXPECT_EQ(json_text(value), "{\"name\":\"a\uFFFD\uFFFD z\"}");
  const nlohmann::ordered_json ordered{{"z", "\xc3"}, {"a", 1}};
  EXPECT_EQ(json_text(ordered), "{\"z\":\"\uFFFD\",\"a\":1}");
}

TEST(JsonText, keys_may_be_any_bytes_too) {
  nlohmann::json value;
  value["\x80key"] = 1;
  EXPECT_EQ(json_text(value), "{\"\uFFFDkey\":1}");
}

TEST(JsonText, valid_text_stays_and_control_characters_are_escaped) {
  const nlohmann::json value{{"name", "\u03bc\x1b\n\""}};
  EXPECT_EQ(json_text(value), "{\"name\":\"\u03bc\\u001b\\n\\\"\"}");
  EXPECT_EQ(nlohmann::json::parse(json_text(value)), value);
}

TEST(JsonText, what_a_terminal_obeys_is_escaped_and_the_value_stays) {
  const nlohmann::json value{{"a\u009b31m", "\x7f \u202e\u2066 \u00e4\U0001f600"}};
  EXPECT_EQ(json_text(value), "{\"a\\u009b31m\":\"\\u007f \\u202e\\u2066 \u00e4\U0001f600\"}");
  EXPECT_EQ(nlohmann::json::parse(json_text(value, 1)), value);
}

TEST(JsonText, an_indent_gives_a_line_a_value) {
  EXPECT_EQ(json_text(nlohmann::json{{"a", 1}}, 1), "{\n \"a\": 1\n}");
}

}  // namespace
}  // namespace ttc::program
