#include "tools/noc/noc_coordinates.hpp"

#include <algorithm>
#include <iterator>

namespace ttc::tools {
namespace {

constexpr NocXY kWormholeGrid{10, 12}, kBlackholeGrid{17, 12};
constexpr int kWormholeColumns[] = {1, 2, 3, 4, 6, 7, 8, 9};  // of workers and Ethernet
constexpr int kFirstVirtual = 18;                             // column and row of the first virtual worker
constexpr int kVirtualEthernet[] = {16, 17};                  // rows, for the physical ones below
constexpr int kEthernetRows[] = {0, 6};
// Columns of Ethernet channels 0 to 7 in row 0; 8 to 15 in row 6 likewise.
constexpr int kEthernetOrder[] = {9, 1, 8, 2, 7, 3, 6, 4};

constexpr int kBlackholeColumns[] = {1, 2, 3, 4, 5, 6, 7, 10, 11, 12, 13, 14, 15, 16};
constexpr int kBlackholeFirstRow = 2, kBlackholeLastRow = 11;
constexpr NocXY kBlackholeDram{17, 12}, kBlackholeEthernet{20, 25};
constexpr int kBanks = 8, kPorts = 3;
constexpr int kDramColumns[] = {0, 9};  // of banks 0 to 3 and 4 to 7
constexpr int kDramRows[kBanks / 2][kPorts] = {{0, 1, 11}, {2, 10, 3}, {9, 4, 8}, {5, 7, 6}};
constexpr int kBlackholeChannels[] = {1, 16, 2, 15, 3, 14, 4, 13, 5, 12, 6, 11, 7, 10};  // columns, row 1

template <size_t N>
std::optional<int> index_in(const int (&all)[N], int value) {
  const auto at = std::find(std::begin(all), std::end(all), value);
  return at == std::end(all) ? std::nullopt : std::optional<int>(static_cast<int>(at - std::begin(all)));
}

template <size_t N>
bool within(const int (&)[N], int index) {
  return index >= 0 && index < static_cast<int>(N);
}

std::optional<int> nth(const std::set<int>& all, int n) {
  if (n < 0 || n >= static_cast<int>(all.size())) return std::nullopt;
  return *std::next(all.begin(), n);
}

}  // namespace

NocXY NocCoordinates::wormhole(NocXY at, bool noc1) const {
  const int column = at.x - kFirstVirtual;
  if (within(kWormholeColumns, column)) {
    if (const auto row = index_in(kVirtualEthernet, at.y))
      return {kWormholeColumns[column], kEthernetRows[*row]};
    if (const auto row = nth(rows_, at.y - kFirstVirtual)) return {kWormholeColumns[column], *row};
  }
  if (noc1 && at.x < kWormholeGrid.x && at.y < kWormholeGrid.y)
    return {kWormholeGrid.x - 1 - at.x, kWormholeGrid.y - 1 - at.y};
  return at;
}

NocXY NocCoordinates::blackhole(NocXY at) const {
  const int half = at.x - kBlackholeDram.x, port = at.y - kBlackholeDram.y;
  if (within(kDramColumns, half) && port >= 0 && port < kBanks / 2 * kPorts)
    return {kDramColumns[half], kDramRows[port / kPorts][port % kPorts]};
  if (const int n = at.x - kBlackholeEthernet.x;
      at.y == kBlackholeEthernet.y && within(kBlackholeChannels, n))
    return {kBlackholeChannels[n], 1};
  if (at.y >= kBlackholeFirstRow && at.y <= kBlackholeLastRow)
    if (const auto n = index_in(kBlackholeColumns, at.x))
      if (const auto column = nth(columns_, *n)) return {*column, at.y};
  return at;
}

NocXY NocCoordinates::physical(NocXY addressed, bool noc1) const {
  return blackhole_ ? blackhole(addressed) : wormhole(addressed, noc1);
}

bool NocCoordinates::on_chip(NocXY at) const {
  const NocXY grid = blackhole_ ? kBlackholeGrid : kWormholeGrid;
  return at.x >= 0 && at.y >= 0 && at.x < grid.x && at.y < grid.y;
}

NocCoordinates::Tile NocCoordinates::tile(NocXY at) const {
  if (channel(at)) return Tile::ethernet;
  const bool worker = blackhole_ ? at.y >= kBlackholeFirstRow && at.y <= kBlackholeLastRow &&
                                       index_in(kBlackholeColumns, at.x)
                                 : within(kWormholeColumns, at.x - kFirstVirtual) && at.y >= kFirstVirtual;
  return worker ? Tile::worker : Tile::other;
}

std::optional<int> NocCoordinates::channel(NocXY at) const {
  if (blackhole_) {
    const int n = at.x - kBlackholeEthernet.x;
    return at.y == kBlackholeEthernet.y && within(kBlackholeChannels, n) ? std::optional<int>(n)
                                                                         : std::nullopt;
  }
  const auto row = index_in(kVirtualEthernet, at.y);
  const int column = at.x - kFirstVirtual;
  if (!row || !within(kWormholeColumns, column)) return std::nullopt;
  return *row * static_cast<int>(std::size(kEthernetOrder)) +
         *index_in(kEthernetOrder, kWormholeColumns[column]);
}

}  // namespace ttc::tools
