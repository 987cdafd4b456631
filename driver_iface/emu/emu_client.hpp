#pragma once
#include "driver_iface/card.hpp"
#include "driver_iface/card/fd.hpp"
#include "driver_iface/index_writer.hpp"

namespace ttc::card::emu {
// Connects to a running emulated card. Throws OpenError.
std::unique_ptr<Card> open_emulated(const std::string& name);
std::vector<std::string> running_cards();
// Likewise; and when the card grants no writer, or has granted it to another process.
std::unique_ptr<IndexWriter> open_emulated_writer(const std::string& name,
                                                  std::vector<ClearableWords> places);

// What a card hands to an observer it lets in. The connection must be kept; its end is the observer's.
struct Admitted {
  Fd socket, page, memory;  // memory: none of a strict card
  bool strict = false;
};
Admitted enter(const std::string& name);  // throws OpenError
}  // namespace ttc::card::emu
