#include "driver_iface/card.hpp"
#include "emu_client.hpp"

namespace ttc::card {

std::unique_ptr<Card> open_card(const std::string& spec) {
  if (spec.starts_with("emu:") && spec.size() > 4) return emu::open_emulated(spec.substr(4));
  throw OpenError("device '" + spec + "' is not of a form this build can open; it takes emu:NAME");
}

std::vector<std::string> present_cards() {
  std::vector<std::string> specs;
  for (const std::string& name : emu::running_cards()) specs.push_back("emu:" + name);
  return specs;
}

}  // namespace ttc::card
