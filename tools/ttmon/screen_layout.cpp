#include "tools/ttmon/screen_layout.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <numeric>

#include "collector/program/printable.hpp"
#include "tools/report/text/text_table.hpp"

namespace ttc::tools {
namespace {

using report::thousands;
using shm::Counter;

constexpr int kBesideGrid = 70;  // columns from which the grid is beside the figures
constexpr int kFigureColumns = 36;
constexpr int kLeastName = 16, kNumberColumns = 10;  // of tables
constexpr size_t kTextRows = 10;                     // of each table on a page of text
constexpr int kTwoTables = 120;                      // columns from which the tables are beside each other

template <class... Values>
std::string formatted(const char* format, Values... values) {
  char text[256];
  std::snprintf(text, sizeof text, format, values...);
  return text;
}

Style style_of(Health health) {
  switch (health) {
    case Health::collecting:
    case Health::recycling:
      return Style::good;
    case Health::waiting:
    case Health::lagging:
      return Style::warn;
    case Health::losing:
    case Health::stopped:
      break;
  }
  return Style::bad;
}

std::string count_text(const CardSample& s, Counter counter) {
  return quantity(static_cast<double>(s.count(counter)));
}

// A card in one line.
void put_card(Canvas& canvas, int y, const CardView& card, int name_width, bool chosen) {
  const CardSample& s = card.sample;
  canvas.put(0, y, chosen ? ">" : " ", Style::bold);
  int x = 2;
  canvas.put(x, y, s.live_name, chosen ? Style::bold : Style::plain, name_width);
  x += name_width + 1;
  canvas.put(x, y, to_string(card.health.health), style_of(card.health.health));
  x += 11;
  const auto figure = [&](const Series& series, const char* unit) {
    const std::string value = series.now() ? quantity(*series.now()) : "-";
    canvas.put_right(x + 7, y, value);
    canvas.put(x + 8, y, unit, Style::dim);
    x += 8 + static_cast<int>(std::string_view(unit).size()) + 1;
  };
  figure(card.programs, "prog/s");
  figure(card.markers, "mark/s");
  const uint64_t lost = s.count(Counter::loss_intervals);
  x = canvas.put(x, y, lost ? quantity(static_cast<double>(lost)) + " lost" : "0 lost",
                 lost ? Style::bad : Style::dim);
  if (!card.health.why.empty()) canvas.put(x + 2, y, card.health.why, Style::dim);
}

int name_width_of(const Cards& cards, int width) {
  size_t widest = 4;
  for (const auto& [name, card] : cards) widest = std::max(widest, report::shown_width(name));
  return std::min(static_cast<int>(widest), std::max(12, width / 4));
}

Canvas figures(const CardView& card, int width, bool unicode) {
  Canvas canvas(width);
  const auto line = [&](const Series& series) {
    const int y = canvas.height();
    canvas.put(0, y, series.name, Style::dim);
    canvas.put_right(22, y, series_value(series));
    if (width > 26) canvas.put(23, y, sparkline(series, width - 23, unicode), Style::accent);
  };
  for (const Series* series :
       {&card.programs, &card.markers, &card.losses, &card.link, &card.log_fill, &card.clock_bound})
    line(*series);
  return canvas;
}

void put_losses(Canvas& canvas, const CardSample& s) {
  if (s.lost.empty())
    canvas.wrap(s.overwritten.empty() ? "nothing lost" : "nothing lost by the collector", Style::good);
  for (const auto& [cause, l] : s.lost)
    canvas.wrap(
        "lost: " + cause +
            formatted(": %llu intervals: %llu words exactly, at most %llu launches, %llu of unknown size",
                      static_cast<unsigned long long>(l.intervals), static_cast<unsigned long long>(l.words),
                      static_cast<unsigned long long>(l.launches),
                      static_cast<unsigned long long>(l.unknown)),
        Style::bad);
  if (!s.overwritten.empty()) canvas.wrap("for a reader that begins now: " + s.overwritten, Style::warn);
}

// The upper edge of the bucket below which `share` of the chunks are.
std::string visible_within(std::span<const uint64_t> chunks, double share) {
  const auto all = static_cast<double>(std::accumulate(chunks.begin(), chunks.end(), uint64_t{0}));
  uint64_t so_far = 0;
  for (size_t i = 0; i + 1 < chunks.size(); ++i)
    if (static_cast<double>(so_far += chunks[i]) >= share * all)
      return "within " + duration_text(static_cast<double>(shm::visibility_below_ns(i)));
  return "after " + duration_text(static_cast<double>(shm::visibility_below_ns(chunks.size() - 2))) +
         " or more";
}

// The time from a marker until a reader could have it: two percentiles, and the histogram between its first and last
// bucket.
std::string visibility_text(const CardSample& s, bool unicode) {
  std::array<uint64_t, shm::kVisibilityBuckets> chunks;
  for (size_t i = 0; i < chunks.size(); ++i) chunks[i] = s.count(shm::visibility_bucket(i));
  const auto filled = [](uint64_t count) { return count != 0; };
  const auto first = std::find_if(chunks.begin(), chunks.end(), filled);
  if (first == chunks.end()) return {};
  const auto end = std::find_if(chunks.rbegin(), chunks.rend(), filled).base();
  Series bars{"visible", Series::Unit::per_s};
  for (auto bucket = first; bucket != end; ++bucket) bars.values.emplace_back(static_cast<double>(*bucket));
  const auto from = static_cast<size_t>(first - chunks.begin());
  const std::string least =
      from ? duration_text(static_cast<double>(shm::visibility_below_ns(from - 1))) : std::string("0");
  const auto to = static_cast<size_t>(end - chunks.begin()) - 1;
  const std::string most = to + 1 < chunks.size()
                               ? duration_text(static_cast<double>(shm::visibility_below_ns(to)))
                               : std::string("more");
  return "visible: half " + visible_within(chunks, 0.5) + ", 99 % " + visible_within(chunks, 0.99) +
         " of a marker's time (clock within " +
         duration_text(static_cast<double>(s.count(Counter::visibility_bound_ns))) + "); " + least + " " +
         sparkline(bars, static_cast<int>(bars.values.size()), unicode) + " " + most;
}

// Values that are constant or change slowly, the important first.
void put_facts(Canvas& canvas, const CardView& card, bool unicode) {
  const CardSample& s = card.sample;
  put_losses(canvas, s);
  canvas.wrap(count_text(s, Counter::programs) + " programs, " + count_text(s, Counter::markers) +
              " markers, " + count_text(s, Counter::cores) + " cores");
  canvas.wrap("sweep " + duration_text(static_cast<double>(s.count(Counter::sweep_ns_p50))) +
              ", 99 % within " + duration_text(static_cast<double>(s.count(Counter::sweep_ns_p99))));
  if (const std::string text = visibility_text(s, unicode); !text.empty()) canvas.wrap(text);
  if (const auto& f = card.footprint)
    canvas.wrap(
        formatted("card: %s reads/s, %.2f MB/s", quantity(f->reads_per_s).c_str(), f->bytes_per_s / 1e6));
  if (const auto& t = s.activity.telemetry) {
    std::string text = "card:";
    if (t->known & 1) text += formatted(" %u MHz", t->aiclk_mhz);
    if (t->known & 2) text += formatted(" %.1f W", t->power_mw / 1e3);
    if (t->known & 4) text += formatted(" %.1f C", t->temperature_mc / 1e3);
    if (t->known & 7) canvas.wrap(text);
  }
}

Canvas table(const char* heading, const std::vector<NamedSum>& rows, const ScreenState& state, int width,
             int height) {
  Canvas canvas(width);
  const int columns = std::clamp((width - kLeastName) / kNumberColumns, 0, 4),
            name = width - columns * kNumberColumns;
  const char* kHeads[] = {"time", "count", "mean", "longest"};
  canvas.put(0, 0, heading, Style::bold, name - 1);
  for (int c = 0; c < columns; ++c)
    canvas.put_right(name + kNumberColumns * (c + 1), 0, kHeads[c],
                     static_cast<int>(state.sorting) == c ? Style::bold : Style::dim);
  for (const NamedSum& row : sorted(rows, state.sorting)) {
    const int y = canvas.height();
    if (y >= height) break;
    canvas.put(0, y, report::shortened(program::printable(row.name), static_cast<size_t>(name - 1)));
    const auto ns = static_cast<double>(row.sum.ns);
    const std::string cells[] = {
        duration_text(ns), quantity(static_cast<double>(row.sum.count)),
        duration_text(ns / static_cast<double>(std::max<uint64_t>(1, row.sum.count))),
        duration_text(static_cast<double>(row.sum.longest_ns))};
    for (int c = 0; c < columns; ++c) canvas.put_right(name + kNumberColumns * (c + 1), y, cells[c]);
  }
  if (rows.empty() && height > 1) canvas.put(0, 1, "none yet", Style::dim);
  canvas.cut(height);
  return canvas;
}

std::string share_note(const Activity& a) {
  if (a.read_share > 0.995) return "";
  return formatted(", of %.2g %% of the data", 100 * a.read_share);
}

Canvas zone_table(const Activity& a, const ScreenState& state, int width, int height) {
  return table(("zones" + share_note(a)).c_str(), a.zones, state, width, height);
}

Canvas program_table(const Activity& a, const ScreenState& state, int width, int height) {
  return table(a.op_names ? "ops" : "programs", a.programs, state, width, height);
}

Canvas tables(const Activity& a, const ScreenState& state, int width, int height) {
  Canvas canvas(width);
  if (width >= kTwoTables) {
    const int half = width / 2 - 1;
    canvas.lay(0, 0, zone_table(a, state, half, height));
    canvas.lay(half + 2, 0, program_table(a, state, half, height));
    return canvas;
  }
  const int below = height >= 8 ? std::min(height / 3, static_cast<int>(a.programs.size()) + 1) : 0;
  canvas.append(zone_table(a, state, width, height - below));
  if (below > 1) canvas.append(program_table(a, state, width, below));
  return canvas;
}

std::string heading_of(const CardView& card) {
  const CardSample& s = card.sample;
  std::string text = "live:" + s.live_name + "  " + s.device;
  if (!s.activity.board.empty()) text += "  " + s.activity.board;
  if (!s.activity.arch.empty()) text += " " + s.activity.arch;
  return text + "  pid " + std::to_string(s.pid) + "  " + to_string(s.writer);
}

void put_profilers(Canvas& canvas, const CardView& card, const ScreenState& state) {
  const auto lines = state.profilers.find(card.sample.live_name);
  if (lines == state.profilers.end()) return;
  for (const std::string& line : lines->second) canvas.wrap(program::printable(line), Style::accent);
}

// Figures and facts, with the grid beside or below them where there is room.
Canvas upper(const CardView& card, const ScreenState& state, int width, int height) {
  const bool beside = width >= kBesideGrid;
  const Canvas grid = core_grid(card.sample.activity.cores, beside ? width - kFigureColumns - 2 : width);
  const bool fits = grid.height() > 0 && grid.height() <= height;
  Canvas left(beside && fits ? width - grid.width() - 2 : width);
  left.append(figures(card, left.width(), state.unicode));
  // Losses have lines of their own.
  if (!card.health.why.empty() && card.health.health != Health::losing)
    left.wrap(card.health.why, style_of(card.health.health));
  put_profilers(left, card, state);
  put_facts(left, card, state.unicode);
  left.cut(height);
  Canvas canvas(width);
  canvas.append(left);
  if (beside && fits)
    canvas.lay(left.width() + 2, 0, grid);
  else if (fits && canvas.height() + grid.height() <= height)
    canvas.append(grid);
  return canvas;
}

Canvas details(const CardView& card, const ScreenState& state, int width, int height) {
  Canvas canvas(width);
  canvas.put(0, 0, heading_of(card), Style::bold);
  canvas.fill(0, Style::bold);
  const int rest = height - 1;
  if (rest <= 0) return canvas;
  // Tables get a third, at least five rows where there are twelve.
  const int for_tables = rest >= 12 ? std::max(5, rest / 3) : rest >= 8 ? 3 : 0;
  canvas.append(upper(card, state, width, rest - for_tables));
  if (const int left = height - canvas.height(); left > 1)
    canvas.append(tables(card.sample.activity, state, width, left));
  return canvas;
}

Canvas help(int width) {
  Canvas canvas(width);
  const char* kLines[][2] = {{"q, Ctrl-C", "quit"},
                             {"Tab, arrows", "the next card, the one before"},
                             {"s", "sort zones and ops by time, count, mean, longest, name"},
                             {"p, space", "pause the display; collecting continues"},
                             {"c", "restart the sums of zones and ops"},
                             {"o", "other profilers on the chosen card; reads L1 of its tiles once"},
                             {"f", "flight recording: the ring of the chosen card into a file"},
                             {"h, ?", "this page"}};
  for (const auto& [key, what] : kLines) {
    const int y = canvas.height();
    canvas.put(1, y, key, Style::bold);
    if (15 + static_cast<int>(std::string_view(what).size()) > width)
      canvas.wrap(what);  // below its key
    else
      canvas.put(15, y, what);
  }
  canvas.put(0, canvas.height(), "");
  canvas.wrap("cores: percent of the time in programs, of the core's busiest RISC", Style::dim);
  return canvas;
}

std::string title_of(const Cards& cards, const ScreenState& state) {
  return " ttmon  " + std::to_string(cards.size()) + (cards.size() == 1 ? " card  " : " cards  ") +
         state.time_of_day + (state.paused ? "  PAUSED" : "");
}

}  // namespace

std::string quantity(double value) {
  if (value < 0.05) return "0";
  if (value < 10 && value != std::floor(value)) return formatted("%.1f", value);
  if (value < 99'999.5) return thousands(value, 0);
  if (value < 9.995e5) return formatted("%.0fk", value / 1e3);
  if (value < 9.995e8) return formatted("%.*fM", value < 9.95e6 ? 2 : value < 9.95e7 ? 1 : 0, value / 1e6);
  return formatted("%.2fG", value / 1e9);
}

std::string duration_text(double ns) {
  if (ns < 999.5) return formatted("%.0f ns", ns);
  const auto of = [](double value, const char* unit) {
    return formatted("%.*f %s", value < 9.995 ? 2 : value < 99.95 ? 1 : 0, value, unit);
  };
  if (ns < 9.995e5) return of(ns / 1e3, "us");
  if (ns < 9.995e8) return of(ns / 1e6, "ms");
  return of(ns / 1e9, "s");
}

std::string series_value(const Series& series) {
  const std::optional<double> now = series.now();
  if (!now) return "-";
  switch (series.unit) {
    case Series::Unit::per_s:
      return quantity(*now);
    case Series::Unit::share:
      return formatted(*now < 0.0995 ? "%.1f %%" : "%.0f %%", 100 * *now);
    case Series::Unit::ns:
      break;
  }
  return duration_text(*now);
}

// Shares are drawn against 1, other values against the largest shown.
std::string sparkline(const Series& series, int width, bool unicode) {
  constexpr const char* kBlocks[] = {" ",      "\u2581", "\u2582", "\u2583", "\u2584",
                                     "\u2585", "\u2586", "\u2587", "\u2588"};
  constexpr const char* kAscii[] = {" ", ".", ":", "-", "=", "+", "*", "#", "@"};
  const auto shown = std::min(series.values.size(), static_cast<size_t>(std::max(0, width)));
  double most = series.unit == Series::Unit::share ? 1 : 0;
  for (size_t i = series.values.size() - shown; i < series.values.size(); ++i)
    most = std::max(most, series.values[i].value_or(0));
  std::string text(static_cast<size_t>(std::max(0, width)) - shown, ' ');
  for (size_t i = series.values.size() - shown; i < series.values.size(); ++i) {
    const double value = series.values[i].value_or(0);
    const int step =
        value > 0 && most > 0 ? std::clamp(static_cast<int>(std::ceil(8 * value / most)), 1, 8) : 0;
    text += (unicode ? kBlocks : kAscii)[step];
  }
  return text;
}

// The grid shows the cores as they lie on the chip (NOC0 physical); places of other tiles stay empty. Its width is
// what it takes, 0 where `width` is not enough.
Canvas core_grid(const std::vector<CoreBusy>& cores, int width) {
  if (cores.empty()) return Canvas(0);
  const auto [west, east] =
      std::minmax_element(cores.begin(), cores.end(), [](const auto& a, const auto& b) { return a.x < b.x; });
  const auto [north, south] =
      std::minmax_element(cores.begin(), cores.end(), [](const auto& a, const auto& b) { return a.y < b.y; });
  const int columns = east->x - west->x + 1;
  const int cell = 3 * columns + 3 <= width ? 3 : 2;
  const int needed = cell * columns + 3;
  if (needed > width) return Canvas(0);
  Canvas canvas(needed);
  canvas.put(0, 0, "y\\x", Style::dim);
  for (int x = west->x; x <= east->x; ++x)
    canvas.put_right(3 + cell * (x - west->x + 1), 0, std::to_string(x), Style::dim);
  for (int y = north->y; y <= south->y; ++y)
    canvas.put_right(2, y - north->y + 1, std::to_string(y), Style::dim);
  for (const CoreBusy& core : cores) {
    const auto percent = static_cast<int>(std::lround(100 * core.share));
    const std::string text = core.share <= 0 ? "."
                             : percent <= 99 ? std::to_string(percent)
                             : cell == 3     ? "100"
                                             : "##";
    const auto step = core.share <= 0 ? 0 : std::min(4, 1 + percent / 25);
    const int x = 3 + cell * (core.x - west->x), y = core.y - north->y + 1;
    const auto style = static_cast<Style>(static_cast<int>(Style::heat0) + step);
    if (step) canvas.put(x, y, std::string(static_cast<size_t>(cell), ' '), style);
    canvas.put_right(x + cell, y, text, style);
  }
  return canvas;
}

Canvas screen(const Cards& cards, const ScreenState& state, int width, int height) {
  Canvas canvas(width);
  canvas.put(0, 0, title_of(cards, state));
  canvas.fill(0, Style::bar);
  auto chosen = cards.find(state.chosen);
  if (chosen == cards.end()) chosen = cards.begin();
  const int most = std::min(static_cast<int>(cards.size()), std::max(1, height / 4));
  const int at = static_cast<int>(std::distance(cards.begin(), chosen));
  const int first = std::clamp(at - most / 2, 0, std::max(0, static_cast<int>(cards.size()) - most));
  const int name_width = name_width_of(cards, width);
  auto card = std::next(cards.begin(), cards.empty() ? 0 : first);
  for (int i = 0; i < most; ++i, ++card)
    put_card(canvas, 1 + i, card->second, name_width, card == chosen && cards.size() > 1);
  const int body = canvas.height(), rest = height - body - 1;
  if (rest > 0) {
    Canvas below = state.help              ? help(width)
                   : chosen == cards.end() ? Canvas(width)
                                           : details(chosen->second, state, width, rest);
    below.cut(rest);
    canvas.append(below);
  }
  if (height >= 3) {
    canvas.cut(height - 1);
    const std::string keys = " q quit  p pause  s sort: " + std::string(to_string(state.sorting)) +
                             "  f flight recording  o profilers  c clear  Tab card  h help";
    canvas.put(0, height - 1, state.message.empty() ? keys : " " + state.message);
    canvas.fill(height - 1, Style::bar);
  }
  canvas.cut(height);
  return canvas;
}

Canvas text_page(const Cards& cards, const ScreenState& state, int width, bool breaks_lines) {
  Canvas canvas(width, breaks_lines);
  const int name_width = name_width_of(cards, width);
  if (cards.size() > 1)
    for (const auto& [name, card] : cards) put_card(canvas, canvas.height(), card, name_width, false);
  for (const auto& [name, card] : cards) {
    const CardSample& s = card.sample;
    if (canvas.height()) canvas.put(0, canvas.height(), "");
    canvas.wrap(heading_of(card), Style::bold);
    canvas.wrap(
        std::string(to_string(card.health.health)) + (card.health.why.empty() ? "" : ": " + card.health.why),
        style_of(card.health.health));
    canvas.append(figures(card, width, state.unicode));
    put_profilers(canvas, card, state);
    put_facts(canvas, card, state.unicode);
    for (const ClockState& c : s.clocks)
      canvas.wrap(formatted("clock domain %u: %.6f MHz, host times of markers within %.0f ns (%s)", c.domain,
                            c.hz / 1e6, c.bound_ns, c.kind.c_str()));
    canvas.append(core_grid(s.activity.cores, width));
    const auto rows = [](const std::vector<NamedSum>& all) {
      return static_cast<int>(std::clamp<size_t>(all.size(), 1, kTextRows)) + 1;
    };
    canvas.append(zone_table(s.activity, state, width, rows(s.activity.zones)));
    canvas.append(program_table(s.activity, state, width, rows(s.activity.programs)));
  }
  return canvas;
}

}  // namespace ttc::tools
