// What a person or a script sees of a run: the live line, the closing sentence, the JSON object.
#pragma once
#include <cstdint>
#include <string>

#include "run.hpp"

namespace ttc::collect {

// A line on the terminal that is rewritten a few times a second; nothing where stderr is no terminal.
class LiveLine {
 public:
  explicit LiveLine(bool wanted);
  void show(const Drain& drain, const card::Transactions& transactions, uint64_t now_ns);
  void clear();

 private:
  bool on_;
  uint64_t last_ns_ = 0;
  uint64_t last_programs_ = 0;
  uint64_t last_markers_ = 0;
};

std::string to_json(const RunResult& result);
std::string to_text(const RunResult& result);

}  // namespace ttc::collect
