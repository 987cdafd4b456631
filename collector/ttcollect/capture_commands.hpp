// ttcollect info, recover, snapshot, play: what is done with captures and rings rather than with cards.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "collector/program/option_units.hpp"

namespace CLI {
class App;
}

namespace ttc::collect {

class CaptureCommands {
 public:
  explicit CaptureCommands(CLI::App& app);  // adds the subcommands
  // The exit code, when one of them was given: 0, 2 wrong usage, 3 no such file or segment, 4 the file is
  // damaged or not whole (info), something is missing (recover), 6 the output failed.
  std::optional<int> run();

 private:
  int info();
  int recover();
  int snapshot();
  int play();

  CLI::App *info_, *recover_, *snapshot_, *play_;
  program::SizeOrDuration last_;
  uint64_t at_ns_ = 0;
  std::string file_, output_, speed_ = "1", prefix_ = "play-";
  std::vector<std::string> names_;
  uint64_t ring_bytes_ = 32u << 20;
  bool json_ = false, redact_ = false;
};

}  // namespace ttc::collect
