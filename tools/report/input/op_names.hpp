// Names of programs from the host's side, collected before a source is read: a launch may come before its message.
#pragma once
#include <string>
#include <vector>

namespace ttc::tools {
class OpNames;
}

namespace ttc::report {

// Reads the tracy_ops_data.csv beside every file in `from`, where there is one, and the messages in captures.
// `remarks` gets sentences on what could not be read.
void add_op_names(const std::vector<std::string>& from, tools::OpNames& to,
                  std::vector<std::string>& remarks);

}  // namespace ttc::report
