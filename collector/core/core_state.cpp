#include "collector/core/core_state.hpp"

namespace ttc::collect {

void Landing::note(const Indices& seen, uint64_t read_ns, uint64_t now_ns) {
  if (read_ns < since_ns_ + timing::kLandedNs) return;
  landed_ = coming_;
  coming_ = seen;
  since_ns_ = now_ns;
}

void Polls::note(uint64_t begun_ns) {
  before_ns = std::exchange(last_ns, begun_ns);
  check_all = check_all || late();
}

// An on-time poll proves nothing if the one before was inconclusive: indices that went up alone may be those of another epoch.
void Rewind::note(const Polls& polls, bool long_ago, uint64_t now_ns) {
  if (pending()) return;
  noticed_ns = now_ns;
  after_ns = polls.before_ns;
  late = long_ago || polls.late() || Polls::too_late(polls.proven_ns, now_ns);
}

}  // namespace ttc::collect
