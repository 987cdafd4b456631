// Names of programs from the host's side, collected before a source is read: a launch may come before its message.
#pragma once
#include <string>
#include <vector>

namespace ttc::tools {
class OpNames;
}

namespace ttc::report {

// Of every file in `from` the tracy_ops_data.csv beside it, where there is one, and of captures the messages in them.
// `remarks` gets sentences on what could not be read.
void add_op_names(const std::vector<std::string>& from, tools::OpNames& to,
                  std::vector<std::string>& remarks);

}  // namespace ttc::report
