// `ttemu --contradict NAME`: breaks one assumption of the drain, the clock or the driver layer, to test that the violation is
// detected. One table holds every contradiction, what it breaks and what is done.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "driver_iface/emulated_card.hpp"
#include "tools/emulation/workload_faults.hpp"

namespace ttc::emulation {

struct WorldOptions;
struct WorkloadOptions;

class Contradictions {
 public:
  // Throws FaultError where there is none of that name.
  void add(std::string_view name);

  const std::vector<std::string>& names() const { return names_; }
  // The first that only firmware or a host can show; null: none.
  const char* needs_workload() const;

  // When the card's clock, faults and time are known. Throws FaultError where they exclude one another.
  void apply_to(card::EmulatedCardOptions& options) const;
  void apply_to(WorldOptions& world, WorkloadOptions& work) const;

 private:
  std::vector<std::string> names_;
};

struct ContradictionText {
  const char* name;
  const char* assumption;  // the constant or sentence that is broken, with its file
  const char* what;        // is done
};
std::vector<ContradictionText> contradictions();
std::string contradiction_help();

}  // namespace ttc::emulation
