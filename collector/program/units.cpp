#include "collector/program/units.hpp"

#include <algorithm>
#include <limits>
#include <span>

#include "collector/program/printable.hpp"

namespace ttc::program {
namespace {

struct Unit {
  std::string_view name;
  uint64_t factor;
};

struct Kind {
  const char* name;
  const char* form;
  const char* most;
  std::span<const Unit> units;
};

constexpr uint64_t kMost = 1'000'000'000'000'000'000;
constexpr size_t kMostPlaces = 18;  // behind the point; what follows is below the smallest unit

constexpr Unit kDurationUnits[] = {
    {"ns", 1},
    {"us", 1'000},
    {"ms", 1'000'000},
    {"s", 1'000'000'000},
    {"m", 60'000'000'000},
    {"min", 60'000'000'000},
    {"h", 3'600'000'000'000},
    {"d", 86'400'000'000'000},
};
constexpr Unit kSizeUnits[] = {
    {"B", 1},
    {"K", uint64_t{1} << 10},
    {"M", uint64_t{1} << 20},
    {"G", uint64_t{1} << 30},
    {"T", uint64_t{1} << 40},
    {"KiB", uint64_t{1} << 10},
    {"MiB", uint64_t{1} << 20},
    {"GiB", uint64_t{1} << 30},
    {"TiB", uint64_t{1} << 40},
    {"kB", 1'000},
    {"MB", 1'000'000},
    {"GB", 1'000'000'000},
    {"TB", 1'000'000'000'000},
};
constexpr Kind kDuration{"duration", "a number and ns, us, ms, s, m (or min), h or d, such as 500ms or 1.5s",
                         "11574d", kDurationUnits};
constexpr Kind kSize{"size", "a number and B, KiB, MiB, GiB, TiB, kB, MB, GB or TB, such as 64MiB or 1.5GB",
                     "1000000TB", kSizeUnits};

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

std::string_view take_digits(std::string_view& text) {
  const auto end = std::find_if_not(text.begin(), text.end(), is_digit);
  const auto length = static_cast<size_t>(end - text.begin());
  const std::string_view digits = text.substr(0, length);
  text.remove_prefix(length);
  return digits;
}

// DIGITS or DIGITS.DIGITS in front of `text`, which it leaves at the unit.
struct Decimal {
  std::string_view whole, fraction;
  bool is_zero() const {
    return (std::string(whole) += fraction).find_first_not_of('0') == std::string::npos;
  }
};
std::optional<Decimal> take_decimal(std::string_view& text) {
  Decimal number;
  number.whole = take_digits(text);
  if (number.whole.empty()) return std::nullopt;
  if (!text.starts_with('.')) return number;
  text.remove_prefix(1);
  number.fraction = take_digits(text);
  return number.fraction.empty() ? std::nullopt : std::optional(number);
}

// number * factor, cut off at the point; no value if it is above kMost.
std::optional<uint64_t> times(const Decimal& number, uint64_t factor) {
  unsigned __int128 value = 0;
  for (const char c : number.whole) {
    value = value * 10 + static_cast<unsigned>(c - '0');
    if (value > kMost) return std::nullopt;
  }
  value *= factor;
  uint64_t fraction = 0, scale = 1;
  for (const char c : number.fraction.substr(0, kMostPlaces)) {
    fraction = fraction * 10 + static_cast<unsigned>(c - '0');
    scale *= 10;
  }
  value += static_cast<unsigned __int128>(fraction) * factor / scale;
  if (value > kMost) return std::nullopt;
  return static_cast<uint64_t>(value);
}

ParsedUnits refused(std::string_view text, const std::string& why) {
  return {std::nullopt, "'" + printable(text) + "' " + why};
}

ParsedUnits parse(std::string_view text, const Kind& kind) {
  const std::string form = std::string("; give ") + kind.form;
  std::string_view rest = text;
  const auto number = take_decimal(rest);
  if (!number) return refused(text, std::string("is no ") + kind.name + form);
  if (rest.empty() && number->is_zero()) return {0, {}};
  if (rest.empty()) return refused(text, "has no unit" + form);
  const auto unit =
      std::find_if(kind.units.begin(), kind.units.end(), [&](const Unit& u) { return u.name == rest; });
  if (unit == kind.units.end())
    return refused(text,
                   std::string("is no ") + kind.name + ": there is no unit '" + printable(rest) + "'" + form);
  const auto value = times(*number, unit->factor);
  if (!value) return refused(text, std::string("is too large a ") + kind.name + "; the most is " + kind.most);
  if (*value == 0 && !number->is_zero())
    return refused(text, std::string("is too small a ") + kind.name + "; the least is 1" +
                             std::string(kind.units.front().name));
  return {*value, {}};
}

}  // namespace

ParsedUnits parse_duration(std::string_view text) {
  return parse(text, kDuration);
}

ParsedUnits parse_size(std::string_view text) {
  return parse(text, kSize);
}

unsigned milliseconds_of(uint64_t nanoseconds) {
  constexpr uint64_t kNsPerMs = 1'000'000;
  const uint64_t ms = nanoseconds / kNsPerMs + (nanoseconds % kNsPerMs != 0);
  return static_cast<unsigned>(std::min<uint64_t>(ms, std::numeric_limits<unsigned>::max()));
}

}  // namespace ttc::program
