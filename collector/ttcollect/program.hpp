// Name and exit codes of ttcollect, and its sentences on stderr.
#pragma once
#include "collector/program/program.hpp"

namespace ttc::collect {

using Exit = program::CollectExit;
constexpr program::Program kTtcollect{"ttcollect", Exit::kOutput};

inline int say(int code, std::string_view sentence) {
  return program::say(kTtcollect, code, sentence);
}
inline void say_lines(std::string_view lines) {
  program::say_lines(kTtcollect, lines);
}

}  // namespace ttc::collect
