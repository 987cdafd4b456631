#include "tools/report/input/signposts.hpp"

#include <algorithm>

#include "collector/program/nearest_name.hpp"
#include "tools/report/input/device_input.hpp"

namespace ttc::report {

void need_signpost(const std::string& wish, size_t times, std::span<const std::string> names) {
  if (wish.empty()) return;
  const auto found = static_cast<size_t>(std::count(names.begin(), names.end(), wish));
  if (found >= times) return;
  if (found > 0)
    throw UnknownName("signpost '" + wish + "' is there once, and a window from it to itself needs it twice");
  if (names.empty())
    throw UnknownName("there is no signpost '" + wish + "', because there are no signposts at all");
  const std::string near = program::nearest_name(wish, names);
  throw UnknownName("there is no signpost '" + wish + "'; " +
                    (near.empty()
                         ? "the first of the " + std::to_string(names.size()) + " is '" + names.front() + "'"
                         : "did you mean '" + near + "'?"));
}

}  // namespace ttc::report
