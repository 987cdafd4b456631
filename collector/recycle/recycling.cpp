#include "collector/recycle/recycling.hpp"

namespace ttc::collect {

std::string Recycling::refusal(const Attachment& attachment) {
  const unsigned generation = attachment.layout->format.generation;
  if (generation != device::kG3.generation && generation != device::kG4.generation)
    return "layout " + std::string(attachment.layout->name) +
           ": recycling was shown to be safe on firmware of G3 and G4 only";
  if (attachment.mode != device::Mode::normal)
    return std::string(markers::to_string(attachment.mode)) +
           " mode: its frames do not come one a run, so they cannot be counted";
  return {};
}

std::vector<card::ClearableWords> Recycling::clearable(const card::Card& card, const Attachment& attachment) {
  std::vector<card::ClearableWords> places;
  const device::Format& f = attachment.layout->format;
  for (const AttachedCore& core : attachment.cores)
    places.push_back({core.at, card.noc_place(core.at), core.control_address + 4u * f.host_end,
                      core.kind == markers::CoreKind::tensix ? device::kMaxRiscs : 0});
  return places;
}

}  // namespace ttc::collect
