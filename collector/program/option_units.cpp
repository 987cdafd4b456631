#include "collector/program/option_units.hpp"

#include <CLI/CLI.hpp>
#include <span>
#include <utility>

#include "collector/program/printable.hpp"
#include "collector/program/units.hpp"

namespace ttc::program {
namespace {

using Parser = ParsedUnits (*)(std::string_view);
using ToText = std::string (*)(uint64_t);
using UnitName = std::pair<uint64_t, const char*>;

std::string in_largest_unit(uint64_t value, std::span<const UnitName> units) {
  for (const auto& [factor, name] : units)
    if (value && value % factor == 0) return std::to_string(value / factor) + name;
  return "0";
}

// Why the value does not fit; empty when it does.
std::string check(const std::string& text, Parser parse, ToText to_text, UnitRange range) {
  const ParsedUnits parsed = parse(text);
  if (!parsed.value) return parsed.error;
  if (*parsed.value < range.least)
    return "'" + printable(text) + "' is too little; the least is " + to_text(range.least);
  if (*parsed.value > range.most)
    return "'" + printable(text) + "' is too much; the most is " + to_text(range.most);
  return {};
}

CLI::Option* add(CLI::App& app, const std::string& name, const TakeUnits& take, const std::string& what,
                 UnitRange range, Parser parse, ToText to_text) {
  return app
      .add_option_function<std::string>(
          name, [take, parse](const std::string& text) { take(parse(text).value.value_or(0)); }, what)
      ->check([=](const std::string& text) { return check(text, parse, to_text, range); });
}

}  // namespace

CLI::Option* add_duration_option(CLI::App& app, const std::string& name, const TakeUnits& take,
                                 const std::string& what, UnitRange range) {
  return add(app, name, take, what, range, parse_duration, duration_text)->type_name("TIME");
}

CLI::Option* add_duration_option(CLI::App& app, const std::string& name, uint64_t& nanoseconds,
                                 const std::string& what, UnitRange range) {
  return add_duration_option(
      app, name, [&nanoseconds](uint64_t ns) { nanoseconds = ns; }, what, range);
}

CLI::Option* add_size_option(CLI::App& app, const std::string& name, uint64_t& bytes, const std::string& what,
                             UnitRange range) {
  const TakeUnits take = [&bytes](uint64_t value) { bytes = value; };
  return add(app, name, take, what, range, parse_size, size_text)->type_name("SIZE");
}

CLI::Option* add_size_or_duration_option(CLI::App& app, const std::string& name, SizeOrDuration& value,
                                         const std::string& what) {
  return app
      .add_option_function<std::string>(
          name,
          [&value](const std::string& text) {
            value = {parse_size(text).value.value_or(0), parse_duration(text).value.value_or(0)};
          },
          what)
      ->check([](const std::string& text) {
        const bool fits = parse_size(text).value.value_or(0) || parse_duration(text).value.value_or(0);
        return fits ? std::string()
                    : "'" + printable(text) + "' is neither a size (64MiB) nor a duration (10min)";
      })
      ->type_name("SIZE|TIME");
}

std::string duration_text(uint64_t nanoseconds) {
  constexpr UnitName kUnits[] = {{86'400'000'000'000, "d"},
                                 {3'600'000'000'000, "h"},
                                 {60'000'000'000, "min"},
                                 {1'000'000'000, "s"},
                                 {1'000'000, "ms"},
                                 {1'000, "us"},
                                 {1, "ns"}};
  return in_largest_unit(nanoseconds, kUnits);
}

std::string size_text(uint64_t bytes) {
  constexpr UnitName kUnits[] = {{uint64_t{1} << 40, "TiB"},
                                 {uint64_t{1} << 30, "GiB"},
                                 {uint64_t{1} << 20, "MiB"},
                                 {uint64_t{1} << 10, "KiB"},
                                 {1, "B"}};
  return in_largest_unit(bytes, kUnits);
}

}  // namespace ttc::program
