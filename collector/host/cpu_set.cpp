#include "collector/host/cpu_set.hpp"

#include <numa.h>

#include <charconv>
#include <iterator>
#include <memory>

namespace ttc::collect {
namespace {

constexpr unsigned kLargestCpu = 65535;

using Mask = std::unique_ptr<bitmask, void (*)(bitmask*)>;
Mask empty_mask() {
  return {numa_allocate_cpumask(), numa_free_cpumask};
}

std::optional<unsigned> number(std::string_view text) {
  unsigned value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value > kLargestCpu) return std::nullopt;
  return value;
}

}  // namespace

std::optional<CpuSet> parse_cpus(std::string_view list) {
  CpuSet cpus;
  for (size_t begin = 0, end = 0; end != std::string_view::npos; begin = end + 1) {
    end = list.find(',', begin);
    const std::string_view part =
        list.substr(begin, end == std::string_view::npos ? std::string_view::npos : end - begin);
    const size_t dash = part.find('-');
    const auto first = number(part.substr(0, dash));
    const auto last = dash == std::string_view::npos ? first : number(part.substr(dash + 1));
    if (!first || !last || *last < *first) return std::nullopt;
    for (unsigned cpu = *first; cpu <= *last; ++cpu) cpus.insert(cpu);
  }
  return cpus;
}

std::string to_string(const CpuSet& cpus) {
  std::string text;
  for (auto it = cpus.begin(); it != cpus.end();) {
    const unsigned first = *it;
    unsigned last = first;
    for (++it; it != cpus.end() && *it == last + 1; ++it) last = *it;
    text += (text.empty() ? "" : ",") + std::to_string(first);
    if (last != first) text += "-" + std::to_string(last);
  }
  return text;
}

CpuSet allowed_cpus() {
  const Mask mask = empty_mask();
  CpuSet cpus;
  if (numa_sched_getaffinity(0, mask.get()) < 0) return cpus;
  for (unsigned cpu = 0; cpu < mask->size; ++cpu)
    if (numa_bitmask_isbitset(mask.get(), cpu)) cpus.insert(cpu);
  return cpus;
}

bool run_on(const CpuSet& cpus) {
  const Mask mask = empty_mask();
  for (const unsigned cpu : cpus)
    if (cpu < mask->size) numa_bitmask_setbit(mask.get(), cpu);
  return numa_sched_setaffinity(0, mask.get()) == 0;
}

}  // namespace ttc::collect
