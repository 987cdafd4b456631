// Attempts until one succeeds or a deadline has passed.
#pragma once
#include <string>

namespace ttc::shm {

// Calls attempt(last) until it returns an empty text or the deadline has passed, with pause() between two
// calls. Returns the last text. The clock is read once, before each attempt, so `last` and the end of the loop
// cannot disagree.
template <class Time, class Now, class Attempt, class Pause>
std::string attempt_until(Time deadline, Now now, Attempt attempt, Pause pause) {
  for (;; pause()) {
    const bool last = now() >= deadline;
    std::string why = attempt(last);
    if (why.empty() || last) return why;
  }
}

}  // namespace ttc::shm
