// The faults to inject, given as `ttemu --fault NAME[:key=value[,key=value...]]`: faults of the card's
// access layer and clock, and faults of the programs on the card. One table holds every fault, its keys and
// its help.
#pragma once
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "driver_iface/emulated_card.hpp"
#include "tools/emulation/workload_faults.hpp"

namespace ttc::emulation {

// One sentence: which spec, what is wrong with it, what to try.
struct FaultError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

inline constexpr uint64_t kCardRate = ~uint64_t{0};  // of a clock step: the rate in the card's options

struct FaultPlan {
  std::vector<card::CardFault> card;
  std::vector<std::string> card_names;  // of the entries above
  std::vector<card::ClockStep> clock_steps;
  uint64_t wrap_after_ns = 0;  // the clock starts so long before 2^wrap_bits cycles; 0: where it likes
  unsigned wrap_bits = 0;
  WorkloadFaults work;
  const char* needs_workload = nullptr;  // a requested fault of `work`

  // Puts the plan into the options of a card, once its clock rate is known. Throws FaultError.
  void apply_to(card::EmulatedCardOptions& options) const;
};

// Adds the fault that `spec` describes. Throws FaultError.
void add_fault(FaultPlan& plan, std::string_view spec);
// Every fault with its keys, for people.
std::string fault_help();

}  // namespace ttc::emulation
