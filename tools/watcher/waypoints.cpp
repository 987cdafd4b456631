#include "tools/watcher/waypoints.hpp"

#include <algorithm>

namespace ttc::watcher {
namespace {

constexpr uint32_t kOff = 2, kOn = 3;
constexpr uint32_t kProcessors = 5;  // of the struct, whatever the kind of core

// Places of the block, from the mailbox's base. They are counted from the members around it: in front of it the launch and go messages,
// behind the waypoints two records of the sanitiser of 24 bytes, aligned to 8, then 4 bytes, the assertion's record (4 bytes in M2, 20
// since), 8 of pauses and 32 of stacks, and then the delays' record, whose place is known.
constexpr struct {
  const char* mailbox;
  uint32_t offset;
} kBlocks[] = {{"M2-2025", 840}, {"M2", 840}, {"M3", 968}, {"M4", 1232}};

}  // namespace

std::optional<Waypoints> Waypoints::in(const markers::Mailbox& mailbox, std::string_view arch,
                                       markers::CoreKind kind) {
  const markers::Placement* placement = markers::placement_for(arch);
  for (const auto& place : kBlocks)
    if (placement && mailbox.name == place.mailbox)
      return Waypoints(placement->place(kind).mailbox_base + place.offset);
  return std::nullopt;
}

void Waypoints::write(card::EmulatedCard& card, card::Coord at, bool watcher_is_on) const {
  card.store(at, address_, watcher_is_on ? kOn : kOff);
  for (uint32_t r = 0; r < kProcessors; ++r) pass(card, at, r, "");
}

void Waypoints::pass(card::EmulatedCard& card, card::Coord at, uint32_t risc,
                     std::string_view waypoint) const {
  uint32_t word = 0;
  for (size_t i = 0; i < std::min<size_t>(4, waypoint.size()); ++i)
    word |= static_cast<uint32_t>(static_cast<unsigned char>(waypoint[i])) << 8 * i;
  card.store(at, address_ + 4 + 4 * risc, word);
}

}  // namespace ttc::watcher
