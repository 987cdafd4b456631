// One rule of durations and one of sizes.
#include "collector/program/units.hpp"

#include <gtest/gtest.h>

#include <CLI/CLI.hpp>

#include "collector/program/option_units.hpp"

namespace ttc::program {
namespace {

constexpr uint64_t kMost = 1'000'000'000'000'000'000;

void expect_refused(const ParsedUnits& parsed, const std::string& text, const std::string& words) {
  EXPECT_FALSE(parsed.value) << text << " became " << parsed.value.value_or(0);
  EXPECT_NE(parsed.error.find(words), std::string::npos) << text << ": " << parsed.error;
}

TEST(Units, every_duration_unit_has_its_length) {
  const std::pair<const char*, uint64_t> kCases[] = {{"7ns", 7},
                                                     {"7us", 7'000},
                                                     {"7ms", 7'000'000},
                                                     {"7s", 7'000'000'000},
                                                     {"7m", 420'000'000'000},
                                                     {"7min", 420'000'000'000},
                                                     {"7h", 25'200'000'000'000},
                                                     {"7d", 604'800'000'000'000},
                                                     {"0", 0},
                                                     {"0s", 0},
                                                     {"0.0", 0}};
  for (const auto& [text, ns] : kCases) EXPECT_EQ(parse_duration(text).value, ns) << text;
}

TEST(Units, decimals_are_exact_down_to_the_smallest_unit) {
  EXPECT_EQ(parse_duration("0.5s").value, 500'000'000u);
  EXPECT_EQ(parse_duration("1.5us").value, 1'500u);
  EXPECT_EQ(parse_duration("0.1s").value, 100'000'000u);
  EXPECT_EQ(parse_duration("123456789.987654321s").value, 123'456'789'987'654'321u);
  EXPECT_EQ(parse_duration("1.9ns").value, 1u);
  EXPECT_EQ(parse_size("1.5KiB").value, 1536u);
  EXPECT_EQ(parse_duration("0.00000000000000000000000001d").value, std::nullopt);
  EXPECT_EQ(parse_duration("1.00000000000000000000000000000009s").value, 1'000'000'000u);
}

TEST(Units, sizes_with_an_i_and_bare_letters_are_binary_the_others_decimal) {
  const std::pair<const char*, uint64_t> kCases[] = {{"5B", 5},
                                                     {"5K", 5u << 10},
                                                     {"5KiB", 5u << 10},
                                                     {"5kB", 5'000},
                                                     {"5M", 5u << 20},
                                                     {"5MiB", 5u << 20},
                                                     {"5MB", 5'000'000},
                                                     {"3G", uint64_t{3} << 30},
                                                     {"3GiB", uint64_t{3} << 30},
                                                     {"3GB", 3'000'000'000},
                                                     {"3T", uint64_t{3} << 40},
                                                     {"3TiB", uint64_t{3} << 40},
                                                     {"3TB", 3'000'000'000'000},
                                                     {"0", 0}};
  for (const auto& [text, bytes] : kCases) EXPECT_EQ(parse_size(text).value, bytes) << text;
}

TEST(Units, a_bare_number_is_refused_with_the_units_there_are) {
  expect_refused(parse_duration("5"), "5",
                 "has no unit; give a number and ns, us, ms, s, m (or min), h or d");
  expect_refused(parse_duration("0.5"), "0.5", "has no unit");
  expect_refused(parse_size("1000000"), "1000000", "has no unit; give a number and B, KiB");
}

TEST(Units, what_is_no_number_and_unit_is_refused) {
  for (const char* text :
       {"",     " ",     "s",   "-5s", "+5s",    " 5s", "5 s", "5s ",  "nan", "nans", "inf", "infs",
        "1e3s", "0x10s", ".5s", "5.s", "1.2.3s", "5S",  "5MS", "5sec", "5ss", "1,5s", "5\n", "--5s"})
    expect_refused(parse_duration(text), text, "is no duration");
  for (const char* text : {"", "B", "-1B", "5KB", "5kb", "5mib", "5kiB", "5Ki", "5MiBs", "5PiB", "nanB"})
    expect_refused(parse_size(text), text, "is no size");
}

TEST(Units, what_does_not_fit_is_refused_and_never_wraps) {
  EXPECT_EQ(parse_duration("1000000000000000000ns").value, kMost);
  EXPECT_EQ(parse_duration("11574d").value, 11'574u * uint64_t{86'400} * 1'000'000'000);
  for (const char* text :
       {"1000000000000000001ns", "11575d", "18446744073709551616ns", "213504d",
        "340282366920938463463374607431768211457ns", "99999999999999999999999999999999999999999999d"})
    expect_refused(parse_duration(text), text, "too large a duration; the most is 11574d");
  EXPECT_EQ(parse_size("1000000TB").value, kMost);
  expect_refused(parse_size("1000000TiB"), "1000000TiB", "too large a size; the most is 1000000TB");
}

TEST(Units, a_number_above_zero_never_becomes_zero) {
  expect_refused(parse_duration("0.5ns"), "0.5ns", "too small a duration; the least is 1ns");
  expect_refused(parse_size("0.0001K"), "0.0001K", "too small a size; the least is 1B");
}

TEST(Units, an_error_shows_foreign_text_printable) {
  expect_refused(parse_duration("5\x1b[31m"), "an escape", "\\x1b[31m");
}

TEST(Units, milliseconds_are_rounded_up_and_saturate) {
  EXPECT_EQ(milliseconds_of(0), 0u);
  EXPECT_EQ(milliseconds_of(1), 1u);
  EXPECT_EQ(milliseconds_of(1'000'000), 1u);
  EXPECT_EQ(milliseconds_of(1'000'001), 2u);
  EXPECT_EQ(milliseconds_of(kMost), 4'294'967'295u);
}

TEST(Units, ranges_are_shown_exactly_in_the_largest_whole_unit) {
  EXPECT_EQ(duration_text(90'000'000'000), "90s");
  EXPECT_EQ(duration_text(120'000'000'000), "2min");
  EXPECT_EQ(duration_text(1'500'000), "1500us");
  EXPECT_EQ(size_text(256 << 10), "256KiB");
  EXPECT_EQ(size_text(1000), "1000B");
}

// CLI11's error for `value` given to an option; empty if it was taken.
template <class Add>
std::string given(const std::string& value, const Add& add) {
  CLI::App app;
  add(app);
  try {
    app.parse("--option " + value);
    return {};
  } catch (const CLI::ParseError& e) {
    return e.what();
  }
}

TEST(UnitOptions, a_value_outside_the_range_is_refused_with_the_end_it_passed) {
  uint64_t ns = 0;
  const auto add = [&](CLI::App& app) {
    add_duration_option(app, "--option", ns, "", {1'000'000, 2'000'000'000});
  };
  EXPECT_EQ(given("2s", add), "");
  EXPECT_EQ(ns, 2'000'000'000u);
  EXPECT_NE(given("0.5ms", add).find("the least is 1ms"), std::string::npos);
  EXPECT_NE(given("2001ms", add).find("the most is 2s"), std::string::npos);
  EXPECT_NE(given("5", add).find("has no unit"), std::string::npos);
}

TEST(UnitOptions, without_a_range_zero_is_refused) {
  uint64_t bytes = 0;
  const auto add = [&](CLI::App& app) { add_size_option(app, "--option", bytes, ""); };
  EXPECT_NE(given("0", add).find("the least is 1B"), std::string::npos);
  EXPECT_EQ(given("1MiB", add), "");
  EXPECT_EQ(bytes, 1u << 20);
}

TEST(UnitOptions, a_size_and_a_duration_are_told_apart_by_the_unit) {
  SizeOrDuration value;
  const auto add = [&](CLI::App& app) { add_size_or_duration_option(app, "--option", value, ""); };
  EXPECT_EQ(given("5M", add), "");
  EXPECT_EQ(value.bytes, 5u << 20);
  EXPECT_EQ(value.nanoseconds, 0u);
  EXPECT_EQ(given("5m", add), "");
  EXPECT_EQ(value.bytes, 0u);
  EXPECT_EQ(value.nanoseconds, 300'000'000'000u);
  EXPECT_NE(given("5", add).find("neither a size"), std::string::npos);
  EXPECT_NE(given("0s", add).find("neither a size"), std::string::npos);
}

}  // namespace
}  // namespace ttc::program
