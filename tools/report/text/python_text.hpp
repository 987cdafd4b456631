// Values as Python's str() and csv module spell them in tt-metal's reports.
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace ttc::report {

// repr() of a value that came out of JSON: {'k': 'v'}, [1.5, 2.0], True, None.
std::string python_repr(const nlohmann::ordered_json& value);
// str(): the same, but for text itself.
std::string python_str(const nlohmann::ordered_json& value);
std::string python_float(double value);
// round(value, digits), then str().
std::string python_rounded(double value, int digits);

}  // namespace ttc::report
