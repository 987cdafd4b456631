#include "tools/other_profilers/find.hpp"

#include <algorithm>
#include <array>

#include "firmware_markers/discovery.hpp"

namespace ttc::other_profilers {
namespace {

using card::Access;
using card::Window;

// What tt-metal refuses, or what uses the same memory (tt-metal llrt/rtoptions.cpp; STREAMING_PROFILER_DETAILED.md, section 1.1).
std::string excludes(std::string_view name) {
  if (name == "streaming profiler")
    return "the device profiler (TT_METAL_DEVICE_PROFILER), which ttcollect reads, and the real-time "
           "profiler";
  if (name == "debug dump") return "any other reader of the device profiler's logs, ttcollect included";
  return "";
}

void add(Found& found, const markers::Discovery& refused) {
  const auto same = [&](const Found::Named& n) { return n.name == refused.known_as; };
  if (std::any_of(found.named.begin(), found.named.end(), same)) return;
  found.named.push_back({refused.known_as, markers::joined(refused.evidence), excludes(refused.known_as)});
}

}  // namespace

ReadL1 l1_reader(card::Card& card, card::Coord tile) {
  return [&card, tile](uint32_t address, std::span<uint64_t> out) {
    return card.aim(Window::control, tile, address) == Access::ok &&
           card.copy(Window::control, address & (card::kWindowBytes - 1), out) == Access::ok;
  };
}

std::optional<StreamControl> look_at(card::Card& card, const StreamingTile& tile) {
  std::array<uint64_t, kStreamControlWords / 2> raw{};
  if (!l1_reader(card, tile.at)(tile.control_address, raw)) return std::nullopt;
  return read_stream_control({reinterpret_cast<const uint32_t*>(raw.data()), kStreamControlWords});
}

std::optional<ResidentControl> look_at(card::Card& card, const ResidentPlace& place) {
  std::array<uint64_t, kResidentBytes / 8> raw{};
  if (!l1_reader(card, place.at)(place.address, raw)) return std::nullopt;
  return read_resident({reinterpret_cast<const uint32_t*>(raw.data()), raw.size() * 2});
}

std::vector<ResidentPlace> ResidentSearch::copy_and_compare(card::Card& card) {
  const uint32_t from = card.identity().arch->ethernet_l1_bytes - kResidentSearchBytes;
  const auto words = [](const std::vector<uint64_t>& copy) {
    return std::span<const uint32_t>(reinterpret_cast<const uint32_t*>(copy.data()), copy.size() * 2);
  };
  std::vector<ResidentPlace> found;
  for (const card::Tile& tile : card.tiles()) {
    if (tile.kind != card::TileKind::ethernet || tile.harvested) continue;
    std::vector<uint64_t> now(kResidentSearchBytes / 8);
    if (!l1_reader(card, tile.at)(from, now)) continue;
    std::vector<uint64_t>& before = before_[tile.at];
    for (const uint32_t offset : find_residents(words(before), words(now)))
      found.push_back({tile.at, from + offset});
    before = std::move(now);
  }
  return found;
}

Found find_other_profilers(card::Card& card, bool search) {
  Found found;
  const markers::Placement* placement = markers::placement_for(card.identity().arch->name);
  std::vector<card::Coord> tiles;
  for (const card::Tile& tile : card.tiles())
    if (tile.kind == card::TileKind::tensix && !tile.harvested) tiles.push_back(tile.at);
  const uint32_t from =
      placement ? markers::discovery_address(placement->place(markers::CoreKind::tensix)) & ~7u : 0;
  std::vector<uint64_t> raw(markers::kDiscoveryBytes / 8 + 2);
  for (const card::Coord at : tiles) {
    if (!placement || !l1_reader(card, at)(from, raw)) continue;
    const std::span<const uint32_t> words(reinterpret_cast<const uint32_t*>(raw.data()), raw.size() * 2);
    const markers::Discovery d = markers::discover({from, words}, *placement);
    if (d || d.known_as.empty() || d.known_as == markers::kProfilerOff) continue;
    add(found, d);
    const StreamingTile tile{at, d.control_address};
    if (d.known_as == "streaming profiler" && look_at(card, tile)) found.streaming.push_back(tile);
  }
  if (!search || !found.streaming.empty()) return found;  // they exclude each other
  std::vector<uint64_t> image(card.identity().arch->tensix_l1_bytes / 8);
  for (auto at = tiles.rbegin(); at != tiles.rend() && !found.real_time; ++at) {
    if (!l1_reader(card, *at)(0, image)) continue;
    if (const auto address = find_real_time_ring(image, 0)) {
      found.real_time = RealTimePlace{*at, *address};
      found.named.push_back({"real-time profiler", "its ring is at the address that is shown",
                             "the streaming profiler; the device profiler may be beside it"});
    }
  }
  return found;
}

}  // namespace ttc::other_profilers
