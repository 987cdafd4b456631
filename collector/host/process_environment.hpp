// The variables another process was started with. Its later changes are not visible.
#pragma once
#include <map>
#include <optional>
#include <string>

namespace ttc::collect {

using Environment = std::map<std::string, std::string>;

// No value if the process is gone or not readable for this user. `proc`: where procfs is mounted.
std::optional<Environment> environment_of(int pid, const std::string& proc = "/proc");
// Empty when the variable is not set.
std::string value_in(const Environment& environment, const std::string& name);

}  // namespace ttc::collect
