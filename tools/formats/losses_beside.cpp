#include "tools/formats/losses_beside.hpp"

#include <filesystem>

#include "tools/formats/loss_csv.hpp"
#include "tools/pipeline/output.hpp"

namespace ttc::tools {

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
