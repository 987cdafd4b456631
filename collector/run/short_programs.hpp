// --wait-for-short: programs that end before they can be connected to wait in their exit (TRACY_NO_EXIT).
//
// Such a wait ends with a server of the client's own protocol and with nothing else. So it is asked for only where the workload's first program
// is one that an earlier run has served to its end, by build id (collector/host_side/handshakes.hpp).
#pragma once
#include <string>
#include <vector>

#include "collector/host_side/host_server.hpp"

namespace ttc::collect {

class ShortPrograms {
 public:
  // `command`: the words that are executed.
  ShortPrograms(const std::vector<std::string>& command, const Environment& environment);

  // Whether the variable may be set, and a sentence on either.
  bool may_wait() const { return handshake_.has_value(); }
  std::string sentence() const;
  // What became of the run's clients: the first program is known from now on, where it was served to its end. Why that cannot be
  // kept, empty when it can or there is nothing to keep.
  std::string keep(const std::vector<HostClientResult>& results) const;

 private:
  std::string program_, build_id_, file_;
  std::optional<Handshake> handshake_;
};

inline constexpr const char* kWaitVariable = "TRACY_NO_EXIT";
// Of a client that cannot be served although it waits.
std::string sentence_of_waiting(pid_t pid);

}  // namespace ttc::collect
