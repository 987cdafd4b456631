// Finds in a workload's output that its firmware or kernels could not be built.
#pragma once
#include <optional>
#include <string>
#include <string_view>

namespace ttc::delay {

// The line of a failed build, shortened; none if no line is known to be one. Texts: tt-metal issues 37013, 19857, 20005
// (linker), 49759 (kernel config buffer), and what tt-metal's JIT build throws. Unverified on silicon.
std::optional<std::string> build_failure(std::string_view printed);

}  // namespace ttc::delay
