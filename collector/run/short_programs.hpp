// --wait-for-short: programs that end before they can be connected to wait in their exit (TRACY_NO_EXIT).
//
// The wait ends only with a server of the client's own protocol. So it is set only where the workload's first program is
// one that an earlier run has served to its end, by build id (collector/host_side/handshakes.hpp).
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
  // Records the run's clients: the first program is known from now on, if it was served to its end. Returns the reason if that cannot
  // be stored, else an empty string.
  std::string keep(const std::vector<HostClientResult>& results) const;

 private:
  std::string program_, build_id_, file_;
  std::optional<Handshake> handshake_;
};

inline constexpr const char* kWaitVariable = "TRACY_NO_EXIT";
// A sentence for a client that cannot be served although it waits.
std::string sentence_of_waiting(pid_t pid);

}  // namespace ttc::collect
