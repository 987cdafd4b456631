// `ttemu --contradict NAME`: each assumption that the drain, the clock and the driver layer rest on can be broken by itself, to see
// that who rests on it notices. One table holds every contradiction, what it breaks and what is done.
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
  const char* assumption;  // the constant or sentence that is broken, and where it stands
  const char* what;        // is done
};
std::vector<ContradictionText> contradictions();
std::string contradiction_help();

}  // namespace ttc::emulation
