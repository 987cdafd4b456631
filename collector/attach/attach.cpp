#include "collector/attach/attach.hpp"

#include <algorithm>
#include <bitset>
#include <chrono>
#include <map>
#include <set>
#include <thread>
#include <utility>

#include "collector/attach/absence.hpp"

namespace ttc::collect {
namespace {

using card::Access;
using card::Window;
using markers::CoreKind;

std::string name_of(card::Coord at) {
  return "(" + std::to_string(at.x) + "," + std::to_string(at.y) + ")";
}

// A tile that was slow or silent is given two more chances: left out now, it is left out for good. The guard
// leaves it alone for 100 ms, then for 200.
constexpr std::chrono::milliseconds kRests[] = {std::chrono::milliseconds(110),
                                                std::chrono::milliseconds(210)};

// The host writes the cores' vectors one after the other.
constexpr auto kNextVectors = std::chrono::milliseconds(5);

// No value if the tile could not be read.
std::vector<uint32_t> read_l1(card::Card& card, card::Coord tile, uint32_t address, uint32_t bytes) {
  std::vector<uint64_t> raw((bytes + 7) / 8);
  if (card.aim(Window::control, tile, address) != Access::ok ||
      card.copy(Window::control, address & (card::kWindowBytes - 1), raw) != Access::ok)
    return {};
  const auto* words = reinterpret_cast<const uint32_t*>(raw.data());
  return {words, words + bytes / 4};
}

// No value if the tile could not be read.
std::optional<markers::Discovery> discover_at(card::Card& card, card::Coord tile,
                                              const markers::Placement& placement, CoreKind kind,
                                              const markers::Layout* only) {
  const uint32_t from = markers::discovery_address(placement.place(kind)) & ~7u;
  const auto words = read_l1(card, tile, from, markers::kDiscoveryBytes + 16);
  if (words.empty()) return std::nullopt;
  return markers::discover({from, words}, placement, kind, only);
}

// One pass over the tiles of a card, kind by kind.
class Attaching {
 public:
  Attaching(card::Card& card, const AttachOptions& options, const HostClock& clock)
      : card_(card), options_(options) {
    result_.clock = clock;
    result_.workload_pid = card.workload_pid();
    const card::Identity& id = card.identity();
    result_.placement = markers::placement_for(id.arch->name);
    if (!result_.placement)
      throw AttachError(id.spec + ": no profiler layout is known for " + std::string(id.arch->name));
  }

  Attachment run() {
    note_begin();
    attach_tensix();
    await_vectors();
    if (options_.ethernet)
      for (const CoreKind kind : {CoreKind::active_ethernet, CoreKind::idle_ethernet}) attach_ethernet(kind);
    look_again();
    for (const auto& [why, tiles] : left_out_)
      result_.remarks.push_back(std::to_string(tiles.size()) + " tiles left out, the first " +
                                name_of(tiles.front()) + ": " + why);
    std::sort(result_.cores.begin(), result_.cores.end(),
              [](const auto& x, const auto& y) { return x.flat_id < y.flat_id; });
    return std::move(result_);
  }

 private:
  // Device time at a known host time: what was recorded later is ours to account for.
  void note_begin() {
    for (const card::Tile& tile : card_.tiles()) {
      if (tile.kind != card::TileKind::tensix || tile.harvested) continue;
      const uint64_t now_ns = result_.clock();
      if (card_.wall_clock(tile.at, result_.begun_cycles) != Access::ok) continue;
      result_.begun_ns = now_ns;
      return;
    }
  }

  std::vector<card::Coord> tiles_of(CoreKind kind) const {
    const auto wanted = kind == CoreKind::tensix ? card::TileKind::tensix : card::TileKind::ethernet;
    std::vector<card::Coord> tiles;
    for (const card::Tile& tile : card_.tiles())
      if (tile.kind == wanted && !tile.harvested && !taken_.count(tile.at)) tiles.push_back(tile.at);
    return tiles;
  }

  markers::Discovery discover_on(card::Coord tile, CoreKind kind, const markers::Layout* only) {
    const auto found = discover_at(card_, tile, *result_.placement, kind, only);
    any_answered_ = any_answered_ || found;
    return found.value_or(markers::Discovery{});
  }

  // When not one tile can be read, all get the chances that otherwise the few get.
  void attach_tensix() {
    const auto tiles = tiles_of(CoreKind::tensix);
    std::string refusal;
    bool found = find_on_tensix(tiles, refusal);
    for (size_t i = 0; i < std::size(kRests) && !found && !any_answered_ && alive(); ++i) {
      rest(kRests[i]);
      found = find_on_tensix(tiles, refusal);
    }
    if (found) return;
    if (!any_answered_ && card_.health() != card::Health::ok)
      throw AttachError(
          card_.identity().spec +
          ": the card was reset, or went away, while its profiler was searched for; --wait waits until it is "
          "back");
    throw AttachError(
        card_.identity().spec + ": no profiler found: " +
        (refusal.empty() ? "no Tensix tile can be read; the card may be hung, `tt-smi` shows it" : refusal));
  }

  bool find_on_tensix(const std::vector<card::Coord>& tiles, std::string& refusal) {
    bool named = false;  // the refused format has a name: preferred to a refusal without
    for (const card::Coord tile : tiles) {
      const markers::Discovery found = discover_on(tile, CoreKind::tensix, options_.layout);
      if (!found) {
        if (!found.evidence.empty() && (refusal.empty() || (!named && !found.known_as.empty())))
          refusal = why_absent(found, "tile " + name_of(tile), result_.workload_pid);
        named = named || !found.known_as.empty();
        continue;
      }
      result_.layout = found.layout;
      result_.layout_given = options_.layout != nullptr;
      result_.core_count_per_dram = found.vector.core_count_per_dram;
      result_.dram_base = found.vector.dram_address;
      result_.mode = options_.mode.value_or(found.mode);
      result_.mode_given = options_.mode.has_value();
      take_cores(CoreKind::tensix, found, tiles);
      tensix_ = found;
      if (!found.anchored && result_.cores.size() < 2) look_again();
      if (found.anchored || result_.cores.size() > 1 || tiles.size() == 1) return true;
      refusal = "tile " + name_of(tile) + ": what looks like a control vector of " +
                std::string(found.layout->name) +
                " is on no other tile; --layout help lists the generations that can be named";
      result_.cores.clear(), taken_.clear(), seen_.reset(), left_out_.clear();
    }
    return false;
  }

  // While the host is still writing vectors, cores that have none yet are examined until a pass finds no further one. A core that is
  // left out now is left out until the next attachment.
  void await_vectors() {
    for (size_t before = 0; !left_out_.empty() && before != result_.cores.size() && alive();) {
      before = result_.cores.size();
      rest(kNextVectors);
      for (const auto& [why, tiles] : std::exchange(left_out_, {}))
        take_cores(CoreKind::tensix, tensix_, tiles);
    }
  }

  // The same build runs there, or none: another layout than Tensix's is not looked for. Without a magic word
  // one tile is enough: its vector has to agree with the Tensix tiles' in all that a card has once.
  void attach_ethernet(CoreKind kind) {
    const auto tiles = tiles_of(kind);
    for (const card::Coord tile : tiles) {
      const markers::Discovery found = discover_on(tile, kind, result_.layout);
      if (!found) continue;
      const size_t before = result_.cores.size();
      take_cores(kind, found, tiles);
      if (result_.cores.size() > before) return;
    }
  }

  void take_cores(CoreKind kind, const markers::Discovery& found, const std::vector<card::Coord>& tiles) {
    for (const card::Coord tile : tiles) {
      const auto words =
          read_l1(card_, tile, found.control_address, 4u * result_.layout->format.control_words);
      if (words.empty()) {
        unread_.push_back({kind, found, tile});
        continue;
      }
      const auto v = markers::parse_control_vector(words, *result_.layout);
      if (const std::string why = doubt(v); !why.empty()) {
        if (kind == CoreKind::tensix) left_out_[why].push_back(tile);
        continue;
      }
      if (v.trace_status && !options_.mode) result_.mode = std::max(result_.mode, markers::mode_of(v, {}));
      seen_.set(v.flat_id);
      taken_.insert(tile);
      result_.cores.push_back({tile, kind, static_cast<uint8_t>(v.flat_id),
                               static_cast<uint8_t>(result_.placement->place(kind).riscs),
                               v.flat_id / v.core_count_per_dram, found.control_address,
                               found.buffer_address});
    }
  }

  // An Ethernet tile may be listed as both kinds; the kind whose vector it holds takes it.
  void look_again() {
    for (size_t i = 0; i < std::size(kRests) && !unread_.empty() && alive(); ++i) {
      rest(kRests[i]);
      for (const Unread& u : std::exchange(unread_, {}))
        if (!taken_.count(u.tile)) take_cores(u.kind, u.found, {u.tile});
    }
    std::set<card::Coord> reported;
    for (const Unread& u : unread_)
      if (!taken_.count(u.tile) && reported.insert(u.tile).second)
        left_out_["it cannot be read"].push_back(u.tile);
    unread_.clear();
  }
  bool alive() { return card_.health() != card::Health::gone; }
  void rest(std::chrono::milliseconds time) const {
    if (options_.rest)
      options_.rest(time);
    else
      std::this_thread::sleep_for(time);
  }

  std::string doubt(const markers::ControlVector& v) const {
    if (const auto disagrees =
            markers::disagreement(v, *result_.placement, v.dram_address == result_.dram_base))
      return *disagrees;
    if (v.dram_address != result_.dram_base) return "its DRAM address differs from the others'";
    if (v.core_count_per_dram != result_.core_count_per_dram)
      return "its cores per DRAM bank differ from the others'";
    if (seen_[v.flat_id]) return "its flat id " + std::to_string(v.flat_id) + " is taken";
    if (v.flat_id / v.core_count_per_dram >= card_.identity().dram_views.size())
      return "its DRAM bank does not exist";
    return {};
  }

  card::Card& card_;
  const AttachOptions& options_;
  Attachment result_;
  std::bitset<256> seen_;
  std::set<card::Coord> taken_;
  std::map<std::string, std::vector<card::Coord>> left_out_;
  struct Unread {
    CoreKind kind;
    markers::Discovery found;
    card::Coord tile;
  };
  std::vector<Unread> unread_;
  markers::Discovery tensix_;  // what the Tensix tiles carry
  bool any_answered_ = false;
};

}  // namespace

Attachment attach(card::Card& card, const AttachOptions& options, const HostClock& clock) {
  return Attaching(card, options, clock).run();
}

bool shows_profiler(card::Card& card, card::Coord tile, const markers::Layout* only) {
  const markers::Placement* placement = markers::placement_for(card.identity().arch->name);
  if (!placement) return false;
  const auto found = discover_at(card, tile, *placement, CoreKind::tensix, only);
  return found && *found;
}

}  // namespace ttc::collect
