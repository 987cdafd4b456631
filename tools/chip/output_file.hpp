// The results of programs, as a table of one row a program in the order of their launches:
//   run host ID, checksum, race margin[cycles], hang margin[cycles]
// The checksum is that of the op in every run in which its race was not lost. The margins are those of the op's planted mistakes
// (workload.hpp), below 0 where it was lost; empty where the op has none, `never` where what was to come did not come.
// A program that hung has no checksum.
#pragma once
#include <string>

#include "tools/chip/schedule.hpp"
#include "tools/chip/text_file.hpp"

namespace ttc::chip {

std::string hex_of(uint64_t checksum);  // 16 digits

class OutputFile {
 public:
  explicit OutputFile(std::string path);  // throws std::runtime_error when it cannot be written
  void add(uint32_t host_id, const Launched& launched);
  void close() { file_.close(); }  // throws std::runtime_error when not all of it was written

 private:
  TextFile file_;
};

}  // namespace ttc::chip
