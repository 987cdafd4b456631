// Outputs that must not be opened: one that is an input would be destroyed before it is read; one behind a link
// of another user would be written to a place of that user's choice.
#pragma once
#include <span>
#include <string>

namespace ttc::program {

// Must be called before `output` is opened. Throws UsageError when it is one of `inputs` under any name: the same
// file by device and inode, so through symbolic and hard links too. If an input is a directory, every file below it
// is an input. "-" is standard output, which a shell may have connected to an input. Devices, pipes, names that do
// not exist and an empty `output` are no inputs. Also refuses links of other users.
void refuse_output_over_input(const std::string& output, std::span<const std::string> inputs);

// Must be called before `output` is opened. Throws UsageError when it is a symbolic link of another user than this
// one and root, whether what it points to exists or not.
void refuse_foreign_link(const std::string& output);

}  // namespace ttc::program
