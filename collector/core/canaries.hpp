// The words just before the cursors, read again: while they are intact, no later epoch has come that far.
#pragma once
#include "collector/core/core_part.hpp"

namespace ttc::collect {

class Canaries : CorePart {
 public:
  explicit Canaries(const CorePart& part) : CorePart(part) {}

  // Checks the canary of one lane, or of all. True if no lane has one.
  card::Expected<bool> stand(bool all);
  card::Expected<bool> stands_at_cursor(uint32_t risc) const;
};

}  // namespace ttc::collect
