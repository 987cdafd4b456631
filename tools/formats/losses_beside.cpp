#include "tools/formats/losses_beside.hpp"

#include <filesystem>

#include "tools/formats/loss_csv.hpp"
#include "tools/pipeline/output.hpp"

namespace ttc::tools {

std::vector<shm::LossRecord> losses_of(const Pipeline& pipeline, const collect::LossBook* book) {
  std::vector<shm::LossRecord> all;
  for (const auto& [key, r] : pipeline.losses()) all.push_back(r);
  if (!book) return all;
  for (const auto& [session, records] : book->found())
    for (const auto& [id, r] : records) {
      all.push_back(r);
      all.back().device = pipeline.chip_of(session, r.device);
    }
  return all;
}

std::string put_losses_beside(const std::string& output, const Format& format,
                              std::span<const shm::LossRecord> losses) {
  const std::string table = format.losses_beside(losses), path = path_beside(output);
  if (table.empty() || path.empty() || (losses.empty() && !std::filesystem::exists(path))) return {};
  Output beside(path, false);
  beside.append(table);
  beside.commit();
  return losses.empty() ? std::string() : path;
}

}  // namespace ttc::tools
