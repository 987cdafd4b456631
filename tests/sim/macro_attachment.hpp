// What attaching to a MacroCard finds.
#pragma once
#include "collector/attach/attach.hpp"
#include "tests/sim/macro_card.hpp"

namespace ttc::sim {

inline collect::Attachment attachment_of(const MacroCard& card) {
  collect::Attachment a;
  a.layout = &card.layout();
  a.layout_given = a.mode_given = true;
  a.mode = card.mode();
  a.placement = markers::placement_for("wormhole_b0");
  a.dram_base = MacroCard::kDramBase;
  a.core_count_per_dram = MacroCard::kCoresPerBank;
  for (const card::Tile& tile : card.tiles()) {
    collect::AttachedCore core;
    core.at = tile.at;
    core.flat_id = static_cast<uint8_t>(MacroCard::kFlatId + a.cores.size());
    core.control_address = MacroCard::kControlAddress;
    core.buffer_address = card.buffer_address();
    if (tile.kind == card::TileKind::ethernet) {
      core.kind = markers::CoreKind::active_ethernet;
      core.riscs = MacroCard::kRiscs;
    }
    a.cores.push_back(core);
  }
  a.clock = [&card] { return card.now(); };
  a.begun_ns = a.begun_cycles = card.now();
  return a;
}

}  // namespace ttc::sim
