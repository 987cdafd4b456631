// The environment variables tt-metal reads, and what a name that it does not read may have been meant for.
//
// Names and rules of reading: tt-metal tt_metal/llrt/rtoptions.cpp and its getenv() calls, as of early to late 2026, with
// names of 2025 that were renamed since. A table cannot have what a later build added: who is about to call a
// name unknown also looks into the build that runs (ProcessState::names_in_library).
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "collector/host/process_environment.hpp"

namespace ttc::collect::doctor {

// How tt-metal reads a value.
enum class Reading : uint8_t {
  text,         // a path, a list, a number: any value counts
  on_if_1,      // on when the first character is 1, off otherwise
  on_when_set,  // on with any value, 0 included
};
struct Variable {
  std::string_view name;
  Reading reading = Reading::text;
  bool needs_profiler = false;  // not examined unless the device profiler is on
};
// Null if the table lacks it.
const Variable* known_variable(std::string_view name);
std::vector<std::string_view> known_names();

// The known name that is nearest to `name`: letters left out, doubled, swapped or wrong, upper and lower case,
// words in another order, a word left out or added. Empty: none is near.
std::string_view nearest_name(std::string_view name);

// Variables that look as if they were for tt-metal and are not in the table.
std::vector<std::string> names_in_question(const Environment& environment);

// Follows the rules of rtoptions.cpp.
bool profiler_on(const Environment& environment);
bool watcher_on(const Environment& environment);

}  // namespace ttc::collect::doctor
