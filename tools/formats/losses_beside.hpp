// The table of losses beside a file whose own format has no place for them (loss_csv.hpp).
#pragma once
#include <span>
#include <string>
#include <vector>

#include "tools/pipeline/pipeline.hpp"
#include "ttcollect/loss_book.hpp"

namespace ttc::tools {

// Of the devices that the pipeline wants, as numbered in its output; with `book` also what no record tells:
// what is damaged in a file, what this reader missed.
std::vector<shm::LossRecord> losses_of(const Pipeline& pipeline, const collect::LossBook* book);

// Writes the table beside `output`, which stands already. Where nothing was lost there is none, but one that
// an earlier export left is replaced: it would be taken for this one's. Gives the path when there are losses
// and they were written. Throws OutputError.
std::string put_losses_beside(const std::string& output, const Format& format,
                              std::span<const shm::LossRecord> losses);

}  // namespace ttc::tools
