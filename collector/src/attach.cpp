#include "collector/attach.hpp"

#include <algorithm>
#include <bitset>
#include <map>

#include "collector/host_time.hpp"

namespace ttc::collect {
namespace {

using card::Access;
using card::Window;

std::string name_of(card::Coord at) {
  return "(" + std::to_string(at.x) + "," + std::to_string(at.y) + ")";
}

std::vector<uint32_t> read_l1(card::Card& card, card::Coord tile, uint32_t address, uint32_t bytes) {
  std::vector<uint64_t> raw((bytes + 7) / 8);
  if (card.aim(Window::control, tile, address) != Access::ok ||
      card.copy(Window::control, address, raw) != Access::ok)
    return {};
  const auto* words = reinterpret_cast<const uint32_t*>(raw.data());
  return {words, words + bytes / 4};
}

// Discovers on the first tile that convinces; the refusals of the others are kept for the message.
markers::Discovery discover_first(card::Card& card, const markers::Placement& placement,
                                  const markers::Layout* only, std::string& refusal) {
  for (const card::Tile& tile : card.tiles()) {
    if (tile.kind != card::TileKind::tensix || tile.harvested) continue;
    const auto words = read_l1(card, tile.at, placement.place(markers::CoreKind::tensix).mailbox_base,
                               markers::kDiscoveryBytes);
    if (words.empty()) continue;
    auto found =
        markers::discover({placement.place(markers::CoreKind::tensix).mailbox_base, words}, placement, only);
    if (found) return found;
    if (refusal.empty()) refusal = "tile " + name_of(tile.at) + ": " + markers::joined(found.evidence);
  }
  return {};
}

}  // namespace

Attachment attach(card::Card& card, const markers::Layout* only) {
  const card::Identity& id = card.identity();
  Attachment a;
  a.placement = markers::placement_for(id.arch->name);
  if (!a.placement)
    throw AttachError(id.spec + ": no profiler layout is known for " + std::string(id.arch->name));
  for (const card::Tile& tile : card.tiles()) {
    if (tile.kind != card::TileKind::tensix || tile.harvested) continue;
    const uint64_t now_ns = raw_now_ns();
    if (card.wall_clock(tile.at, a.begun_cycles) != Access::ok) continue;
    a.begun_ns = now_ns;
    break;
  }
  std::string refusal;
  const markers::Discovery found = discover_first(card, *a.placement, only, refusal);
  if (!found)
    throw AttachError(id.spec + ": no profiler found (" +
                      (refusal.empty() ? "no readable Tensix tile" : refusal) +
                      "); is the workload running with TT_METAL_DEVICE_PROFILER=1? --wait waits for it, "
                      "--layout names a generation");
  a.layout = found.layout;
  a.control_address = found.control_address;
  a.buffer_address = found.buffer_address;
  a.core_count_per_dram = found.vector.core_count_per_dram;

  std::bitset<256> seen;
  std::map<std::string, std::vector<card::Coord>> left_out;
  for (const card::Tile& tile : card.tiles()) {
    if (tile.kind != card::TileKind::tensix || tile.harvested) continue;
    const auto words = read_l1(card, tile.at, a.control_address, 4u * a.layout->format.control_words);
    if (words.empty()) continue;
    const auto v = markers::parse_control_vector(words, *a.layout);
    std::string why;
    if (const auto disagrees = markers::disagreement(v, *a.placement))
      why = *disagrees;
    else if (v.core_count_per_dram != a.core_count_per_dram)
      why = "its cores per DRAM bank differ from the others'";
    else if (seen[v.flat_id])
      why = "its flat id " + std::to_string(v.flat_id) + " is taken";
    if (!why.empty()) {
      left_out[why].push_back(tile.at);
      continue;
    }
    const uint32_t bank = v.flat_id / v.core_count_per_dram;
    if (bank >= id.arch->dram_views().size()) {
      left_out["its DRAM bank does not exist"].push_back(tile.at);
      continue;
    }
    seen.set(v.flat_id);
    a.cores.push_back({tile.at, static_cast<uint8_t>(v.flat_id), bank});
  }
  for (const auto& [why, tiles] : left_out)
    a.notes.push_back(std::to_string(tiles.size()) + " tiles left out, the first " + name_of(tiles.front()) +
                      ": " + why);
  std::sort(a.cores.begin(), a.cores.end(),
            [](const auto& x, const auto& y) { return x.flat_id < y.flat_id; });
  return a;
}

}  // namespace ttc::collect
