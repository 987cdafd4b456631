#include "driver_iface/card.hpp"
#include "driver_iface/emu/emu_client.hpp"
#include "driver_iface/kmd/kmd_card.hpp"
#include "driver_iface/kmd/kmd_node.hpp"
#include "driver_iface/kmd/kmd_writer.hpp"

namespace ttc::card {

std::unique_ptr<Card> open_card(const std::string& spec, const OpenOptions& options) {
  if (spec.starts_with("emu:") && spec.size() > 4) return emu::open_emulated(spec.substr(4));
  if (kmd::names_a_node(spec)) return kmd::open_node(kmd::system_in_use(), spec, options);
  throw OpenError("device '" + spec +
                  "' is not of a form that is known; it takes 0, /dev/tenstorrent/0, "
                  "/dev/tenstorrent/by-id/..., pci:0000:01:00.0 or emu:NAME");
}

std::unique_ptr<IndexWriter> open_index_writer(const std::string& spec, std::vector<ClearableWords> places) {
  if (spec.starts_with("emu:")) return emu::open_emulated_writer(spec.substr(4), std::move(places));
  return kmd::open_writer(kmd::system_in_use(), spec, std::move(places));
}

std::vector<std::string> present_cards() {
  std::vector<std::string> specs = kmd::present_nodes(kmd::system_in_use());
  for (const std::string& name : emu::running_cards()) specs.push_back("emu:" + name);
  return specs;
}

}  // namespace ttc::card
