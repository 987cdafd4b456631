// What a mistyped name was probably meant to be.
#pragma once
#include <span>
#include <string>
#include <string_view>

namespace ttc::report {

// The name nearest to `word`, at most a third of its letters away; empty: none is near.
std::string nearest_name(std::string_view word, std::span<const std::string> names);

}  // namespace ttc::report
