// One control vector, taken apart. The words come from card memory that a core and the workload's host both
// rewrite at any time: every field is untrusted until the caller has checked it against its own history.
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "firmware_markers/layout.hpp"

namespace ttc::markers {

struct ControlVector {
  std::array<uint32_t, device::kMaxRiscs> host_end{};    // words in the DRAM log of RISC r
  std::array<uint32_t, device::kMaxRiscs> device_end{};  // words in the L1 buffer of RISC r
  uint32_t dram_address = 0;
  uint32_t run_counter = 0;
  uint32_t noc_x = 0;
  uint32_t noc_y = 0;
  uint32_t flat_id = 0;
  uint32_t core_count_per_dram = 0;
  uint32_t dropped = 0;
  uint32_t done = 0;
  uint32_t trace_status = 0;  // 0 where the generation has no such word
};

// `words` must hold layout.format.control_words words.
ControlVector parse_control_vector(std::span<const uint32_t> words, const Layout& layout);

// The first reason why this cannot be a control vector of `layout` on an architecture whose profiler region
// starts at `placement.dram_base`; empty when everything fits. `any_address`: the DRAM buffer may be anywhere
// (allocated, before mid 2025).
std::optional<std::string> disagreement(const ControlVector& vector, const Placement& placement,
                                        bool any_address = false);

}  // namespace ttc::markers
