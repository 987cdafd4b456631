// JSON out of strings of any bytes.
#include "collector/program/json_text.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace ttc::program {
namespace {

TEST(JsonText, BytesThatAreNoUtf8BecomeTheReplacementCharacter) {
  const nlohmann::json value{{"name", "a\xff\xfe z"}};
  EXPECT_EQ(json_text(value), "{\"name\":\"a\uFFFD\uFFFD z\"}");
  const nlohmann::ordered_json ordered{{"z", "\xc3"}, {"a", 1}};
  EXPECT_EQ(json_text(ordered), "{\"z\":\"\uFFFD\",\"a\":1}");
}

TEST(JsonText, KeysMayBeAnyBytesToo) {
  nlohmann::json value;
  value["\x80key"] = 1;
  EXPECT_EQ(json_text(value), "{\"\uFFFDkey\":1}");
}

TEST(JsonText, ValidTextStaysAndControlCharactersAreEscaped) {
  const nlohmann::json value{{"name", "\u03bc\x1b\n\""}};
  EXPECT_EQ(json_text(value), "{\"name\":\"\u03bc\\u001b\\n\\\"\"}");
  EXPECT_EQ(nlohmann::json::parse(json_text(value)), value);
}

TEST(JsonText, AnIndentGivesALineAValue) {
  EXPECT_EQ(json_text(nlohmann::json{{"a", 1}}, 1), "{\n \"a\": 1\n}");
}

}  // namespace
}  // namespace ttc::program
