// The critical paths of a run as a table, one part a row, in order of time within a program:
//   run host ID, begin[cycles], end[cycles], core_x, core_y, RISC, what
// `what`: previous program, host, dispatcher writes the program (no core); go, work, dram channel N, port of noc N, latency, buffer N,
// semaphore N, other riscs, done, debug delay. Parts of a program join: each begins where the one before ended. The first begins at the end of
// the previous program, or where the host or the dispatcher began. Times are those of the markers.
#pragma once
#include <string>
#include <vector>

#include "tools/chip/schedule.hpp"
#include "tools/chip/text_file.hpp"

namespace ttc::chip {

class PathFile {
 public:
  explicit PathFile(std::string path);  // throws std::runtime_error when it cannot be written
  // `moved`: is added to every time.
  void add(uint32_t host_id, const std::vector<ProgramPart>& parts, const Shape& shape, Cycles moved);
  void close() { file_.close(); }  // throws std::runtime_error when not all of it was written

 private:
  TextFile file_;
};

}  // namespace ttc::chip
