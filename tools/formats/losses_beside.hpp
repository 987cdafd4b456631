// The table of losses beside a file whose own format has no place for them (loss_csv.hpp).
#pragma once
#include <span>
#include <string>

#include "tools/pipeline/format.hpp"

namespace ttc::tools {

// Writes the table of `losses` (Pipeline::losses()) beside `output`. Where nothing was lost there is none, but one that
// an earlier export left is replaced: it would be taken for this one's. Gives the path when there are losses and
// they were written. Throws OutputError.
std::string put_losses_beside(const std::string& output, const Format& format,
                              std::span<const shm::LossRecord> losses);

// Puts `output` in place, and its losses beside it before: an output is never without its losses, whichever of
// the two cannot be written. `name` is the output's path.
std::string commit_with_losses(Output& output, const std::string& name, const Format& format,
                               std::span<const shm::LossRecord> losses);

}  // namespace ttc::tools
