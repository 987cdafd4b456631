// Versions of packages against those of firmware: the compatibility tables in tt-metal's installation guide (INSTALLING.md of the releases
// named below; of 0.61 as its pull request 25081 put it there). The driver's least version is UMD's (card_findings.cpp). Guides of 2026 have a
// row for Blackhole and Galaxy alone (19.2.0 with driver 2.5.0, later 19.8.1 with 2.8.0), and which release of ttnn came with which of
// them is in no public document that we have: they are not in the table.
#include <array>
#include <cstdio>

#include "collector/doctor/findings.hpp"

namespace ttc::collect::doctor {
namespace {

using Release = std::array<unsigned, 3>;

// No release is below an unknown one. Bundles were numbered 80.N before 18.2: N counts.
Release release_of(const std::string& text) {
  Release v{};
  if (std::sscanf(text.c_str(), "%u.%u.%u", &v[0], &v[1], &v[2]) < 2) return {~0u, 0, 0};
  if (v[0] == 80) v = {v[1], v[2], 0};
  return v;
}

struct Needed {
  Release package;  // from this release of ttnn on
  std::string_view arch;
  const char* firmware;
};
constexpr Needed kNeeded[] = {
    {{0, 61, 0}, "wormhole_b0", "18.3.0"},    {{0, 61, 0}, "blackhole", "18.5.0"},
    {{0, 59, 0}, "wormhole_b0", "80.17.0.0"}, {{0, 59, 0}, "blackhole", "80.18.0.0"},
    {{0, 55, 0}, "wormhole_b0", "80.13.0.0"}, {{0, 56, 0}, "blackhole", "80.15.0.0"},
};

const Needed* needed_by(const std::string& package, const std::string& arch) {
  const Release version = release_of(package);
  if (version[0] == ~0u) return nullptr;
  for (const Needed& n : kNeeded)
    if (n.arch == arch && version >= n.package) return &n;
  return nullptr;
}

void find_old_firmware(const CardState& card, const ProcessState& p, Findings& found) {
  for (const auto& [name, version] : p.packages) {
    const Needed* needed = name == "ttnn" ? needed_by(version, card.function.arch) : nullptr;
    if (!needed || release_of(card.function.firmware) >= release_of(needed->firmware)) continue;
    Finding f = about(p, "firmware-below-package", Weight::advice);
    f.card = card.function.node;
    f.what =
        card.function.node + " has older firmware than ttnn " + version + " of " + who(p) + " was made for";
    f.evidence = "tt_fw_bundle_ver: " + card.function.firmware + "; " + p.packages_at + ": ttnn " + version;
    f.cause = "the installation guide of that release names bundle " + std::string(needed->firmware) +
              "; clocks, telemetry and Ethernet differ in older ones";
    f.fix = "tt-flash a bundle of " + std::string(needed->firmware) + " or later";
    found.push_back(std::move(f));
    return;
  }
}

}  // namespace

void find_in_versions(const MachineState& machine, Findings& found) {
  for (const CardState& card : machine.cards) {
    if (card.function.firmware.empty()) continue;
    for (const ProcessState& p : machine.processes)
      for (const std::string& node : p.holds)
        if (node == card.function.node) find_old_firmware(card, p, found);
  }
}

}  // namespace ttc::collect::doctor
