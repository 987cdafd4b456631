// CPUs, as the kernel writes and takes them.
#pragma once
#include <optional>
#include <set>
#include <string>
#include <string_view>

namespace ttc::collect {

using CpuSet = std::set<unsigned>;

// "0-3,8": numbers and ranges in any order; no value for any other text, or a number above 65535.
std::optional<CpuSet> parse_cpus(std::string_view list);
std::string to_string(const CpuSet& cpus);

// The CPUs on which this process may run: what cpusets and its own affinity leave it.
CpuSet allowed_cpus();
// Applies to the calling thread. False when the kernel refuses (none of them may be used).
bool run_on(const CpuSet& cpus);

}  // namespace ttc::collect
