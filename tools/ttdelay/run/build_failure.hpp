// What a workload printed when its firmware or kernels could not be built.
#pragma once
#include <optional>
#include <string>
#include <string_view>

namespace ttc::delay {

// The line that says so, shortened; nothing where no line is known to be of a failed build. Texts: tt-metal issues 37013, 19857, 20005
// (linker), 49759 (kernel config buffer), and what tt-metal's JIT build throws. None was seen on silicon by us.
std::optional<std::string> build_failure(std::string_view printed);

}  // namespace ttc::delay
