// A flight recording from the monitor: `ttcollect snapshot` of the same build, as a process of its own beside the display.
#pragma once
#include <sys/types.h>

#include <string>

namespace ttc::tools {

class FlightRecording {
 public:
  ~FlightRecording();

  // Starts one, unless one is running. Returns a sentence for the display.
  std::string start(const std::string& live_name);
  // A sentence when it has ended since the last call; empty otherwise.
  std::string ended();
  bool goes_on() const { return pid_ > 0; }

 private:
  pid_t pid_ = -1;
  int output_ = -1;   // of both its streams
  std::string text_;  // that came so far
};

}  // namespace ttc::tools
