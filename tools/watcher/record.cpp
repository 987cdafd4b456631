#include "tools/watcher/record.hpp"

#include <algorithm>

namespace ttc::watcher {
namespace {

constexpr uint32_t kFeedback = 3;  // field behind the masks

// Of a Tensix core's record, from the mailbox's base.
constexpr struct {
  const char* mailbox;
  uint32_t offset;
  bool words;
} kPlaces[] = {{"M0", 332, false}, {"M1", 780, false}, {"M2-2025", 960, true},
               {"M2", 960, true},  {"M3", 1104, true}, {"M4", 1368, true}};

}  // namespace

std::map<LogicalCore, Masks> worker_masks(const Settings& settings, int chip) {
  std::map<LogicalCore, Masks> all;
  for (size_t t = 0; t < kTransactions; ++t) {
    const DelayFeature& f = settings.delays[t];
    const bool this_chip = f.all_chips || std::find(f.chips.begin(), f.chips.end(), chip) != f.chips.end();
    if (!this_chip) continue;
    for (const LogicalCore& core : f.workers) all[core][t] = f.riscs;
  }
  return all;
}

std::optional<DelayRecord> DelayRecord::in(const markers::Mailbox& mailbox, std::string_view arch) {
  const markers::Placement* placement = markers::placement_for(arch);
  for (const auto& place : kPlaces)
    if (placement && mailbox.name == place.mailbox)
      return DelayRecord(placement->place(markers::CoreKind::tensix).mailbox_base + place.offset,
                         place.words);
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
