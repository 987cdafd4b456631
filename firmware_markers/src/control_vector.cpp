#include "firmware_markers/control_vector.hpp"

namespace ttc::markers {
namespace {
std::string number(uint32_t value) {
  return std::to_string(value);
}
}  // namespace

ControlVector parse_control_vector(std::span<const uint32_t> words, const Layout& layout) {
  const device::Format& f = layout.format;
  ControlVector v;
  for (unsigned r = 0; r < device::kMaxRiscs; ++r) {
    v.host_end[r] = words[f.host_end + r];
    v.device_end[r] = words[f.device_end + r];
  }
  v.dram_address = words[f.dram_address];
  v.run_counter = words[f.run_counter];
  v.noc_x = words[f.noc_x];
  v.noc_y = words[f.noc_y];
  v.flat_id = words[f.flat_id];
  v.core_count_per_dram = words[f.core_count_per_dram];
  v.dropped = words[f.dropped];
  v.done = words[f.done];
  if (f.trace_status) v.trace_status = words[f.trace_status];
  return v;
}

std::optional<std::string> disagreement(const ControlVector& v, const Placement& placement,
                                        bool any_address) {
  if (!any_address && v.dram_address != placement.dram_base)
    return "DRAM address word is " + number(v.dram_address) + ", not " + number(placement.dram_base);
  if (v.flat_id > 255) return "flat id " + number(v.flat_id) + " is above 255";
  if (v.core_count_per_dram == 0 || v.core_count_per_dram > placement.max_cores_per_bank)
    return "cores per DRAM bank " + number(v.core_count_per_dram) + " is not in 1.." +
           number(placement.max_cores_per_bank);
  if (v.noc_x > 63 || v.noc_y > 63) return "NoC coordinates are above 63";
  if (v.dropped >> device::kMaxRiscs) return "dropped mask names a RISC that does not exist";
  if (v.done > 1) return "PROFILER_DONE is " + number(v.done) + ", not 0 or 1";
  for (unsigned r = 0; r < device::kMaxRiscs; ++r) {
    if (v.device_end[r] > device::kBufferWords + 4 || v.device_end[r] % 2)
      return "device end index of RISC " + number(r) + " is " + number(v.device_end[r]);
    if (v.host_end[r] % 2) return "host end index of RISC " + number(r) + " is odd";
  }
  return std::nullopt;
}

}  // namespace ttc::markers
