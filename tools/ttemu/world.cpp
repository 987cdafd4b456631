#include "ttemu/world.hpp"

#include <time.h>

#include <algorithm>

namespace ttc::emulation {
namespace {

uint64_t now_ns() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<uint64_t>(t.tv_sec) * 1000000000u + static_cast<uint64_t>(t.tv_nsec);
}

}  // namespace

World::World(card::EmulatedCard& card, const WorldOptions& options, TruthLog& truth)
    : card_(card),
      options_(options),
      truth_(truth),
      placement_(*markers::placement_for(card.arch().name)),
      resets_(256, 0) {
  if (!options_.mailbox) options_.mailbox = &markers::mailboxes().back();
  const auto views = static_cast<uint32_t>(card.arch().dram_views().size());
  // Flat ids number all unharvested Tensix and all Ethernet tiles, x first (format sheet 4.5).
  std::vector<WorldCore> all;
  unsigned ethernet = 0;
  for (const card::Tile& tile : card.tiles()) {
    if (tile.harvested) continue;
    WorldCore core{tile.at, static_cast<uint8_t>(all.size())};
    if (tile.kind == card::TileKind::ethernet) {
      core.kind = markers::CoreKind::active_ethernet;
      if (ethernet >= options.ethernet && ethernet < options.ethernet + options.idle_ethernet)
        core.kind = markers::CoreKind::idle_ethernet;
      if (ethernet++ < options.ethernet + options.idle_ethernet) ethernet_.push_back(core);
    }
    all.push_back(core);
  }
  cores_per_bank_ = (static_cast<uint32_t>(all.size()) + views - 1) / views;
  card_.set_log_geometry(
      {0, 4u * format().control_words, placement_.dram_base, options.bytes_per_risc, cores_per_bank_});
  // The host prepares every core, whether it will run kernels or not.
  for (WorldCore& core : all) {
    place(core);
    write_initial_vector(core);
    if (core.kind == markers::CoreKind::tensix) cores_.push_back(core);
  }
  for (WorldCore& core : ethernet_) core = all[core.flat_id];
}

// Where the mailbox of this version has the vector, and the magic word in front of it if it has one.
void World::place(WorldCore& core) {
  const markers::Mailbox& mailbox = *options_.mailbox;
  const markers::CorePlace& place = placement_.place(core.kind);
  // Structs older than the second erisc have one place whatever the number of RISCs (PR #27547, Aug 2025).
  const bool one_erisc = mailbox.ethernet_offset == mailbox.ethernet2_offset;
  core.riscs = static_cast<uint8_t>(core.kind != markers::CoreKind::tensix && one_erisc ? 1 : place.riscs);
  const bool early = mailbox.name == "M1-early" && place.mailbox_base_2025 != 0;
  const uint32_t base = early ? place.mailbox_base_2025 : place.mailbox_base;
  core.control_address = base + mailbox.offset(core.kind, core.riscs);
  card_.set_control_address(core.at, core.control_address);
  if (mailbox.has_magic) card_.store(core.at, core.control_address - 16, place.magic);
}

void World::write_initial_vector(const WorldCore& core) {
  const device::Format& f = format();
  for (uint32_t w = 0; w < f.control_words; ++w) {
    uint32_t value = 0;
    if (w == f.dram_address) value = placement_.dram_base;
    if (w == f.flat_id) value = core.flat_id;
    if (w == f.core_count_per_dram) value = cores_per_bank_;
    card_.store(core.at, core.control_address + 4 * w, value);
  }
}

void World::host_reset(const WorldCore& core) {
  const device::Format& f = format();
  const uint32_t resets = ++resets_[core.flat_id];
  for (uint32_t r = 0; r < device::kMaxRiscs; ++r)
    card_.set_landed(core.flat_id * device::kMaxRiscs + r, resets, 0);
  write_initial_vector(core);
  // A results read also leaves the DRAM base in the per-RISC address words.
  for (uint32_t w = 0; w < f.risc_dram_address_count; ++w)
    card_.store(core.at, core.control_address + 4 * (f.risc_dram_address + w), placement_.dram_base);
}

void World::post(uint8_t flat_id, uint32_t risc, uint64_t in_bank, std::vector<uint32_t> words,
                 uint32_t end_words) {
  Posted p{0, flat_id, risc, in_bank, std::move(words), end_words, resets_[flat_id]};
  if (options_.landing_ns == 0) return land(p);
  p.due_ns = now_ns() + options_.landing_ns;
  posted_.push_back(std::move(p));
}

void World::land(const Posted& p) {
  card_.store_dram(p.flat_id / cores_per_bank_, placement_.dram_base + p.in_bank, p.words);
  if (p.resets == resets_[p.flat_id])
    card_.set_landed(p.flat_id * device::kMaxRiscs + p.risc, p.resets, p.end_words);
}

void World::land_due() {
  if (posted_.empty()) return;
  const uint64_t now = now_ns();
  while (!posted_.empty() && posted_.front().due_ns <= now) {
    land(posted_.front());
    posted_.pop_front();
  }
}

void World::land_all() {
  while (!posted_.empty()) {
    land(posted_.front());
    posted_.pop_front();
  }
}

void World::step() {
  card_.advance_clock(1);
  land_due();
}

uint32_t World::words_read(uint8_t flat_id, uint32_t risc) const {
  return card_.words_read(flat_id * device::kMaxRiscs + risc, resets_[flat_id]);
}

}  // namespace ttc::emulation
