#include "tools/watcher/record.hpp"

#include <algorithm>

namespace ttc::watcher {
namespace {

constexpr uint32_t kFeedback = 3;  // field behind the masks

// Places in a core's record, from the mailbox's base. They are the same for Tensix and Ethernet cores, since the two kinds' mailboxes are
// alike up to what follows the watcher's block. tt-metal's headers of M1, M2 and M3 show it for both kinds; M4's place on Ethernet cores
// follows from its profiler's place there, which is as far before the Tensix one as M3's.
constexpr struct {
  const char* mailbox;
  uint32_t offset;
  bool words;
} kPlaces[] = {{"M0", 332, false}, {"M1", 780, false}, {"M2-2025", 960, true},
               {"M2", 960, true},  {"M3", 1104, true}, {"M4", 1368, true}};

std::map<LogicalCore, Masks> masks_for(const Settings& settings, int chip,
                                       std::vector<LogicalCore> DelayFeature::*cores,
                                       uint32_t DelayFeature::*riscs) {
  std::map<LogicalCore, Masks> all;
  for (size_t t = 0; t < kTransactions; ++t) {
    const DelayFeature& f = settings.delays[t];
    const bool this_chip = f.all_chips || std::find(f.chips.begin(), f.chips.end(), chip) != f.chips.end();
    if (!this_chip) continue;
    for (const LogicalCore& core : f.*cores) all[core][t] = f.*riscs;
  }
  return all;
}

}  // namespace

std::vector<card::Coord> ethernet_channels(std::string_view arch) {
  std::vector<card::Coord> channels;
  // The channels are in order from the outside of a row in.
  if (arch == "wormhole_b0")
    for (const uint8_t y : {uint8_t{0}, uint8_t{6}})
      for (const uint8_t x : std::array<uint8_t, 8>{9, 1, 8, 2, 7, 3, 6, 4}) channels.push_back({x, y});
  if (arch == "blackhole")
    for (const uint8_t x : std::array<uint8_t, 14>{1, 16, 2, 15, 3, 14, 4, 13, 5, 12, 6, 11, 7, 10})
      channels.push_back({x, 1});
  return channels;
}

std::map<LogicalCore, Masks> worker_masks(const Settings& settings, int chip) {
  return masks_for(settings, chip, &DelayFeature::workers, &DelayFeature::riscs);
}
std::map<LogicalCore, Masks> ethernet_masks(const Settings& settings, int chip) {
  return masks_for(settings, chip, &DelayFeature::ethernet, &DelayFeature::ethernet_riscs);
}

std::optional<DelayRecord> DelayRecord::in(const markers::Mailbox& mailbox, std::string_view arch,
                                           markers::CoreKind kind) {
  const markers::Placement* placement = markers::placement_for(arch);
  const bool ethernet = kind != markers::CoreKind::tensix;
  if (!placement || (ethernet && mailbox.ethernet_offset == 0)) return std::nullopt;
  for (const auto& place : kPlaces)
    if (mailbox.name == place.mailbox)
      return DelayRecord(placement->place(kind).mailbox_base + place.offset, place.words);
  return std::nullopt;
}

uint32_t DelayRecord::get(const card::EmulatedCard& card, card::Coord at, uint32_t field) const {
  if (words_) return card.load(at, address_ + 4 * field);
  return card.load(at, address_) >> 8 * field & 0xff;
}

void DelayRecord::set(card::EmulatedCard& card, card::Coord at, uint32_t field, uint32_t value) const {
  if (words_) return card.store(at, address_ + 4 * field, value);
  const uint32_t others = card.load(at, address_) & ~(0xffu << 8 * field);
  card.store(at, address_, others | (value & 0xff) << 8 * field);
}

void DelayRecord::write(card::EmulatedCard& card, card::Coord at, const Masks& masks) const {
  for (uint32_t t = 0; t < kTransactions; ++t) set(card, at, t, masks[t]);
  set(card, at, kFeedback, 0);
}

Masks DelayRecord::masks(const card::EmulatedCard& card, card::Coord at) const {
  Masks masks{};
  for (uint32_t t = 0; t < kTransactions; ++t) masks[t] = get(card, at, t);
  return masks;
}

uint32_t DelayRecord::feedback(const card::EmulatedCard& card, card::Coord at) const {
  return get(card, at, kFeedback);
}

void DelayRecord::add_feedback(card::EmulatedCard& card, card::Coord at, uint32_t bits) const {
  set(card, at, kFeedback, feedback(card, at) | bits);
}

}  // namespace ttc::watcher
