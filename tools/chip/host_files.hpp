// Writes the files that Tracy's csvexport makes of a run's host side: tracy_ops_data.csv (the messages of ops, with their JSON
// where an op is compiled and short where it is found in the cache) and tracy_ops_times.csv (their zones).
// Source: tt-metal ttnn/api/tools/profiler/op_profiler.hpp, tools/tracy/process_ops_logs.py.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "tools/chip/path_file.hpp"
#include "tools/chip/text_file.hpp"
#include "tools/chip/workload.hpp"

namespace ttc::chip {

// The form of tt-metal's messages in a year, and what a model marks besides its ops.
struct HostStyle {
  unsigned year =
      2026;  // before 2026 no message has whether the program was cached, and no session has a name
  bool signposts = false;  // around each pass over the workload's ops: step_N_start, step_N_end
  // The file for messages and zones: "M NS BYTES\n" with the text and a line end behind it, or
  // "Z BEGIN_NS END_NS NAME\tTEXT\n" of a zone. Empty: none.
  std::string events;
};

// Which op of which pass it is.
struct InPass {
  uint64_t pass = 0;
  bool first = false, last = false;
};

class HostFiles {
 public:
  // `ns_of`: host time of a device time, since the capture began. Throws std::runtime_error when `directory` cannot be written to.
  HostFiles(const std::string& directory, std::function<uint64_t(Cycles)> ns_of, HostStyle style = {});
  void add(uint32_t call_count, const ChipOp& op, bool cached, Cycles begin, Cycles end,
           const InPass& at = {});
  void close();  // throws std::runtime_error when not all of it was written

 private:
  void message(const std::string& text, uint64_t ns);
  void signpost(const InPass& at, const char* which, uint64_t ns);

  std::function<uint64_t(Cycles)> ns_of_;
  HostStyle style_;
  TextFile data_, times_;
  std::optional<TextFile> events_;
};

}  // namespace ttc::chip
