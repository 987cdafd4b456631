// The table of losses beside a file whose own format has no place for them (loss_csv.hpp).
#pragma once
#include <span>
#include <string>

#include "tools/pipeline/format.hpp"

namespace ttc::tools {

// Writes the table of `losses` (Pipeline::losses()) beside `output`, which stands already. Where nothing was
// lost there is none, but one that an earlier export left is replaced: it would be taken for this one's.
// Gives the path when there are losses and they were written. Throws OutputError.
std::string put_losses_beside(const std::string& output, const Format& format,
                              std::span<const shm::LossRecord> losses);

}  // namespace ttc::tools
