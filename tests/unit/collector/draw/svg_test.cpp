// Figures: escaped text, round ticks, labels of durations.
#include "collector/draw/svg.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "collector/draw/axis.hpp"

namespace ttc::draw {
namespace {

std::vector<std::string> labels(const std::vector<Tick>& ticks) {
  std::vector<std::string> out;
  for (const Tick& tick : ticks) out.push_back(tick.label);
  return out;
}
using Labels = std::vector<std::string>;

TEST(Svg, names_of_cards_do_not_end_an_element) {
  Svg svg(10, 10, {{"font-family", "a\"b"}});
  svg.text({1, 2}, "p150 <x> & ]]>\n", {{"fill", "\"/><script>"}});
  svg.rect({0, 0, 1, 1}, {}, "</title>");
  const std::string text = std::move(svg).finish();
  EXPECT_NE(text.find("font-family=\"a&quot;b\">"), std::string::npos);
  EXPECT_NE(text.find("fill=\"&quot;/&gt;&lt;script&gt;\">p150 &lt;x&gt; &amp; ]]&gt;?</text>"),
            std::string::npos);
  EXPECT_NE(text.find("<title>&lt;/title&gt;</title></rect>"), std::string::npos);
}

TEST(Svg, numbers_are_short_and_never_nan) {
  EXPECT_EQ(svg_number(12), "12");
  EXPECT_EQ(svg_number(100), "100");
  EXPECT_EQ(svg_number(1.50001), "1.5");
  EXPECT_EQ(svg_number(-0.001), "0");
  EXPECT_EQ(svg_number(-2.255e3), "-2255");
  EXPECT_EQ(svg_number(std::nan("")), "0");
  EXPECT_EQ(svg_number(std::numeric_limits<double>::infinity()), "0");
  EXPECT_EQ(svg_number(std::numeric_limits<double>::max()).size(), 309u);
}

TEST(Svg, a_document_begins_and_ends) {
  Svg svg(1080, 30.5, {});
  svg.lines({{0, 0}, {1, 2.25}}, {{"stroke", "#000"}});
  svg.line({0, 1}, {2, 3}, {});
  svg.circle({4, 5}, 3, {});
  EXPECT_EQ(
      std::move(svg).finish(),
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 1080 30.5\" width=\"1080\" height=\"30.5\">\n"
      "<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n"
      "<polyline points=\"0,0 1,2.25\" fill=\"none\" stroke=\"#000\"/>\n"
      "<line x1=\"0\" y1=\"1\" x2=\"2\" y2=\"3\"/>\n"
      "<circle cx=\"4\" cy=\"5\" r=\"3\"/>\n"
      "</svg>\n");
}

TEST(SvgAxis, durations_take_the_unit_that_keeps_them_below_a_thousand) {
  const std::pair<double, const char*> expected[] = {
      {0, "0 ns"},      {1, "1 ns"},    {12.5, "12.5 ns"}, {999, "999 ns"},   {999.4, "999 ns"},
      {999.6, "1 us"},  {1000, "1 us"}, {1499, "1.5 us"},  {999.6e3, "1 ms"}, {20e6, "20 ms"},
      {999.6e6, "1 s"}, {61e9, "61 s"}, {3600e9, "3600 s"}};
  for (const auto& [ns, label] : expected) EXPECT_EQ(duration_label(ns), label);
  EXPECT_EQ(duration_label(12'345, 4), "12.35 us");
  EXPECT_EQ(duration_label(999'996, 4), "1 ms");
}

TEST(SvgAxis, ticks_are_round_numbers_inside_the_range) {
  EXPECT_EQ(labels(number_ticks(0, 10, 5)), (Labels{"0", "2", "4", "6", "8", "10"}));
  EXPECT_EQ(labels(number_ticks(-0.13, 0.31, 5)), (Labels{"-0.1", "0.0", "0.1", "0.2", "0.3"}));
  EXPECT_EQ(labels(number_ticks(999.998, 1000.002, 5)),
            (Labels{"999.998", "999.999", "1000.000", "1000.001", "1000.002"}));
  for (const double low : {0.0, 3.7, -1e6, 1e-7})
    for (const double span : {1e-6, 0.3, 1.0, 7.0, 99.0, 1e9})
      for (const int most : {1, 4, 12}) {
        const std::vector<Tick> ticks = number_ticks(low, low + span, most);
        ASSERT_LE(ticks.size(), static_cast<size_t>(most) + 1);
        for (size_t i = 1; i < ticks.size(); ++i) {
          const double step = ticks[i].value - ticks[i - 1].value;
          const double mantissa = step / std::pow(10, std::floor(std::log10(step) + 1e-6));
          EXPECT_TRUE(std::abs(mantissa - 1) < 1e-3 || std::abs(mantissa - 2) < 1e-3 ||
                      std::abs(mantissa - 5) < 1e-3)
              << low << " + " << span << ": a step of " << step;
          EXPECT_NEAR(std::stod(ticks[i].label), ticks[i].value, step * 1e-6);
        }
        EXPECT_GE(ticks.size(), static_cast<size_t>(most) / 4)
            << low << " + " << span;  // a step is at most 2.5 parts
      }
}

TEST(SvgAxis, a_range_that_is_none_has_no_ticks) {
  const double inf = std::numeric_limits<double>::infinity();
  for (const auto& [low, high] : {std::pair{1.0, 1.0}, {2.0, 1.0}, {0.0, inf}, {std::nan(""), 1.0}}) {
    EXPECT_TRUE(number_ticks(low, high, 5).empty());
    EXPECT_TRUE(duration_ticks(low, high, 5).empty());
  }
  EXPECT_TRUE(log_steps(0, 1, 5).empty());
  EXPECT_TRUE(log_steps(-1, 1, 5).empty());
}

TEST(SvgAxis, ticks_of_durations_have_one_unit) {
  EXPECT_EQ(labels(duration_ticks(0, 24'000, 12)).back(), "24 us");
  EXPECT_EQ(labels(duration_ticks(0, 2e9, 4)), (Labels{"0.0 s", "0.5 s", "1.0 s", "1.5 s", "2.0 s"}));
  EXPECT_EQ(labels(duration_ticks(0, 900, 3)), (Labels{"0 ns", "500 ns"}));
}

TEST(SvgAxis, logarithmic_ticks_are_decades_where_more_would_not_fit) {
  EXPECT_EQ(log_steps(1, 10, 5), (std::vector<double>{1, 2, 5, 10}));
  EXPECT_EQ(log_steps(1, 1e4, 8), (std::vector<double>{1, 10, 100, 1e3, 1e4}));
  EXPECT_EQ(log_steps(0.4, 6, 8), (std::vector<double>{0.5, 1, 2, 5}));
  EXPECT_EQ(labels(log_duration_ticks(100, 1e6, 5)), (Labels{"100 ns", "1 us", "10 us", "100 us", "1 ms"}));
  EXPECT_EQ(labels(log_number_ticks(0.1, 1, 5)), (Labels{"0.1", "0.2", "0.5", "1"}));
}

TEST(SvgAxis, places_are_linear_or_logarithmic) {
  const Axis linear(10, 20, 100, 0), logarithmic(1, 100, 0, 50, Scale::logarithmic), empty(1, 1, 7, 9);
  EXPECT_DOUBLE_EQ(linear.at(10), 100);
  EXPECT_DOUBLE_EQ(linear.at(12.5), 75);
  EXPECT_DOUBLE_EQ(logarithmic.at(10), 25);
  EXPECT_DOUBLE_EQ(empty.at(1), 7);
}

TEST(SvgAxis, a_plot_leaves_out_labels_that_would_overlap) {
  Svg svg(200, 100, {});
  Plot({0, 0, 100, 50}, {0, 100}, {0, 1})
      .draw(svg, {{0, "first"}, {5, "crowded"}, {50, "middle"}, {70, "crowded"}, {90, "last"}},
            {{0.5, "half"}});
  const std::string text = std::move(svg).finish();
  EXPECT_NE(text.find(">first<"), std::string::npos);
  EXPECT_EQ(text.find(">crowded<"), std::string::npos);
  EXPECT_NE(text.find(">middle<"), std::string::npos);
  EXPECT_NE(text.find(">last<"), std::string::npos);
  EXPECT_NE(text.find("<line x1=\"0\" y1=\"25\" x2=\"100\" y2=\"25\""), std::string::npos);
}

}  // namespace
}  // namespace ttc::draw
