// Options that take a duration or a size (units.hpp).
#pragma once
#include <cstdint>
#include <functional>
#include <limits>
#include <string>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace ttc::program {

// What an option takes, both ends included. A value outside is refused with a sentence.
struct UnitRange {
  uint64_t least = 1;
  uint64_t most = std::numeric_limits<uint64_t>::max();
};

using TakeUnits = std::function<void(uint64_t)>;

CLI::Option* add_duration_option(CLI::App& app, const std::string& name, const TakeUnits& take,
                                 const std::string& what, UnitRange range = {});
CLI::Option* add_duration_option(CLI::App& app, const std::string& name, uint64_t& nanoseconds,
                                 const std::string& what, UnitRange range = {});
CLI::Option* add_size_option(CLI::App& app, const std::string& name, uint64_t& bytes, const std::string& what,
                             UnitRange range = {});

// A size or a duration, distinguished by the unit; the other one becomes 0.
struct SizeOrDuration {
  uint64_t bytes = 0, nanoseconds = 0;
};
CLI::Option* add_size_or_duration_option(CLI::App& app, const std::string& name, SizeOrDuration& value,
                                         const std::string& what);

// Exact, in the largest unit that gives a whole number: 256KiB, 250ms.
std::string duration_text(uint64_t nanoseconds);
std::string size_text(uint64_t bytes);

}  // namespace ttc::program
