#include "tools/formats/loss_csv.hpp"

#include <filesystem>

#include "firmware_markers/layout.hpp"

namespace ttc::tools {

void LossCsv::begin(const Session& s) {
  if (head_.empty())
    head_ = "ARCH: " + s.arch + ", CHIP_FREQ[MHz]: " + std::to_string(s.aiclk_mhz) +
            ", Max Compute Cores: " + std::to_string(s.max_compute_cores) + "\n";
  if (!s.compute_cores.empty()) reported_cores_.insert(s.chip);
  for (const auto& [x, y] : s.compute_cores) tensix_.emplace(s.chip, x, y);
}

std::string LossCsv::text(std::span<const shm::LossRecord> losses) const {
  std::string text = head_ +
                     "PCIe slot, core_x, core_y, RISC processor type, cause, precision, "
                     "from[cycles since reset], to[cycles since reset], words, launches\n";
  for (const shm::LossRecord& r : losses) {
    const bool ethernet =
        reported_cores_.contains(r.device) && !tensix_.contains({r.device, r.core_x, r.core_y});
    const auto kind = ethernet ? markers::CoreKind::active_ethernet : markers::CoreKind::tensix;
    const std::string columns[] = {
        std::to_string(r.device),
        std::to_string(r.core_x),
        std::to_string(r.core_y),
        std::string(markers::risc_name(kind, r.risc)),
        to_string(r.cause),
        to_string(r.precision),
        std::to_string(r.from_cycles),
        r.to_cycles == shm::kOpenEnd ? "" : std::to_string(r.to_cycles),
        r.precision == shm::LossPrecision::exact_words ? std::to_string(r.words) : "",
        r.precision == shm::LossPrecision::bounded_launches ? std::to_string(r.launches) : ""};
    for (const std::string& column : columns) text += (&column == columns ? "" : ",") + column;
    text += '\n';
  }
  return text;
}

std::string path_beside(const std::string& output) {
  std::error_code ignored;
  const auto there =
      std::filesystem::status(output, ignored).type();  // none: what cannot be examined is no file
  const bool file =
      there == std::filesystem::file_type::regular || there == std::filesystem::file_type::not_found;
  if (output == "-" || !file) return {};
  std::filesystem::path path(output);
  if (path.extension() == ".gz") path.replace_extension();
  return path.replace_extension(".losses.csv").string();
}

}  // namespace ttc::tools
