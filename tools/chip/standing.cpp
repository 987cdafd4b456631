// Describes the RISCs of a program that never ends.
#include "tools/chip/machine_state.hpp"

namespace ttc::chip {

Standing::At standing_of(const Thread& t) {
  if (t.phase == Phase::over) return Standing::done;
  if (t.phase != Phase::body) return Standing::riscs;
  const Do what = (*t.code)[t.pc - 1].what;
  return what == Do::await ? Standing::semaphore : what == Do::reserve ? Standing::room : Standing::block;
}

std::string sentence_about(const Thread& t) {
  constexpr const char* kRiscNames[] = {"BRISC", "NCRISC", "TRISC0", "TRISC1", "TRISC2"};
  const std::string who = std::string(kRiscNames[t.risc]) + " of core " + std::to_string(t.shape_core);
  const std::string which = std::to_string(t.waits_for);
  switch (standing_of(t)) {
    case Standing::semaphore:
      return who + " waits for semaphore " + which + " without end";
    case Standing::room:
      return who + " waits for room in buffer " + which + " without end";
    case Standing::block:
      return who + " waits for a block in buffer " + which + " without end";
    default:
      return who + " waits for its other RISCs";
  }
}

}  // namespace ttc::chip
