// An output that is an input would be destroyed before it is read.
#pragma once
#include <span>
#include <string>

namespace ttc::program {

// To be called before `output` is opened. Throws UsageError when it is one of `inputs` under any name: the
// same file by device and inode, so through symbolic and hard links too. Of a directory among the inputs
// every file below it is an input. "-" is standard output, which a shell may have connected to an input.
// Devices, pipes, names that do not exist and an empty `output` are never refused.
void refuse_output_over_input(const std::string& output, std::span<const std::string> inputs);

}  // namespace ttc::program
