// The joined table with the header of an earlier year (facts: files of June 2025, tt-torch's profiling page).
#include <set>
#include <string_view>
#include <utility>

#include "tools/report/metal_files/counters.hpp"
#include "tools/report/metal_files/ops_results.hpp"

namespace ttc::report {

Cells columns_of_mid_2025(const Cells& cells) {
  constexpr std::pair<const char*, const char*> kSizes[] = {
      {"TENSIX DM 0 MAX KERNEL SIZE [B]", "BRISC MAX KERNEL SIZE [B]"},
      {"TENSIX DM 1 MAX KERNEL SIZE [B]", "NCRISC MAX KERNEL SIZE [B]"},
      {"TENSIX COMPUTE 0 MAX KERNEL SIZE [B]", "TRISC 0 MAX KERNEL SIZE [B]"},
      {"TENSIX COMPUTE 1 MAX KERNEL SIZE [B]", "TRISC 1 MAX KERNEL SIZE [B]"},
      {"TENSIX COMPUTE 2 MAX KERNEL SIZE [B]", "TRISC 2 MAX KERNEL SIZE [B]"},
      {"ACTIVE ETH DM 0 MAX KERNEL SIZE [B]", "ERISC MAX KERNEL SIZE [B]"}};
  const std::set<std::string> later = {"DEVICE ARCH",
                                       "AVAILABLE WORKER CORE COUNT",
                                       "SUB DEVICE ID",
                                       "PROGRAM HASH",
                                       "PROGRAM CACHE HIT",
                                       "ACTIVE ETH DM 1 MAX KERNEL SIZE [B]",
                                       "IDLE ETH DM 0 MAX KERNEL SIZE [B]",
                                       "IDLE ETH DM 1 MAX KERNEL SIZE [B]",
                                       "MULTICAST NOC UTIL (%)",
                                       "DRAM BW UTIL PER CTRL (%)",
                                       "ETH BW UTIL (%)"};
  const std::vector<std::string> counters = all_counter_columns();
  const std::set<std::string> of_counters(counters.begin(), counters.end());
  constexpr std::string_view kPadded = "_PAD[LOGICAL]";
  struct Kept {
    size_t from;
    bool padded;
  };
  std::vector<Kept> kept;
  std::vector<std::string> header;
  for (size_t i = 0; i < cells.header.size(); ++i) {
    std::string name = cells.header[i];
    if (later.contains(name) || of_counters.contains(name)) continue;
    for (const auto& [now, then] : kSizes)
      if (name == now) name = then;
    const bool padded = name.ends_with(kPadded);
    if (padded) name.resize(name.size() - kPadded.size());
    kept.push_back({i, padded});
    header.push_back(std::move(name));
  }
  Cells then{std::move(header), {}, cells.device};
  for (const auto& row : cells.rows) {
    std::vector<std::string> fields;
    fields.reserve(kept.size());
    for (const Kept& k : kept)
      fields.push_back(k.padded ? row[k.from].substr(0, row[k.from].find('[')) : row[k.from]);
    then.rows.push_back(fields);
  }
  return then;
}

}  // namespace ttc::report
