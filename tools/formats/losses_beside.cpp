#include "tools/formats/losses_beside.hpp"

#include <filesystem>

#include "tools/formats/loss_csv.hpp"
#include "tools/output/output.hpp"

namespace ttc::tools {

std::string put_losses_beside(const std::string& output, const Format& format,
                              std::span<const shm::LossRecord> losses) {
  const std::string table = format.losses_beside(losses), path = path_beside(output);
  std::error_code ignored;
  if (table.empty() || path.empty() || (losses.empty() && !std::filesystem::exists(path, ignored))) return {};
  Output beside(path, false);
  beside.append(table);
  beside.commit();
  return losses.empty() ? std::string() : path;
}

std::string commit_with_losses(Output& output, const std::string& name, const Format& format,
                               std::span<const shm::LossRecord> losses) {
  output.finish();
  const std::string path = path_beside(name);
  std::error_code ignored;
  const bool fresh = !path.empty() && !std::filesystem::exists(path, ignored);
  std::string written = put_losses_beside(name, format, losses);
  try {
    output.commit();
  } catch (const OutputError&) {
    if (fresh) std::filesystem::remove(path, ignored);
    throw;
  }
  return written;
}

}  // namespace ttc::tools
