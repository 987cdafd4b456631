#include "driver_iface/emulated_card.hpp"

#include "driver_iface/emu/emulated_card_impl.hpp"

namespace ttc::card {

using namespace emu;

EmulatedCard::EmulatedCard(const EmulatedCardOptions& options) : impl_(std::make_unique<Impl>(options)) {}
EmulatedCard::~EmulatedCard() = default;

void EmulatedCard::announce() {
  impl_->listen_for_observers();
}

const Arch& EmulatedCard::arch() const {
  return *impl_->arch;
}
std::span<const DramView> EmulatedCard::dram_views() const {
  return impl_->views;
}
std::span<const Tile> EmulatedCard::tiles() const {
  return impl_->tiles;
}

TileMemory EmulatedCard::l1(Coord tile) const {
  return {&impl_->word(tile_offset(*impl_->arch, tile)), &impl_->lost};
}
void EmulatedCard::store_dram(uint32_t view, uint64_t address, std::span<const uint32_t> words) {
  if (lost()) return;
  const uint64_t offset = impl_->view_offset(view, address);
  // In pairs: memory moves in pieces of 16 bytes, so the two words of a marker never arrive apart.
  auto* to = reinterpret_cast<uint64_t*>(impl_->memory + offset);
  for (size_t i = 0; i + 1 < words.size(); i += 2)
    __atomic_store_n(to + i / 2, words[i] | uint64_t{words[i + 1]} << 32, __ATOMIC_RELAXED);
  if (words.size() % 2)
    impl_->word(offset + 4 * (words.size() - 1)).store(words.back(), std::memory_order_relaxed);
}
uint32_t EmulatedCard::load_dram(uint32_t view, uint64_t address) const {
  return impl_->word(impl_->view_offset(view, address)).load(std::memory_order_relaxed);
}

uint64_t EmulatedCard::clock_on(Coord tile, uint64_t cycles) const {
  return on_tile(*impl_->page, tile, cycles);
}
uint64_t EmulatedCard::clock() const {
  return device_now(*impl_->page);
}
std::vector<ClockPiece> EmulatedCard::clock_pieces() const {
  const ClockWorld& c = impl_->page->clock;
  std::vector<ClockPiece> pieces;
  for (uint32_t i = 0; i < c.segments; ++i)
    pieces.push_back({c.segment[i].host_ns, c.segment[i].cycles, c.segment[i].hz});
  return pieces;
}
bool EmulatedCard::clock_may_stand() const {
  const ClockWorld& c = impl_->page->clock;
  return !c.is_virtual && c.segments != 1;
}
bool EmulatedCard::clock_stands() const {
  return clock_may_stand() && piece_at(impl_->page->clock, host_now_ns()).hz == 0;
}
void EmulatedCard::advance_clock(uint64_t cycles) {
  impl_->page->virtual_cycles.fetch_add(cycles, std::memory_order_relaxed);
}

void EmulatedCard::set_log_geometry(const LogGeometry& g) {
  std::fill(std::begin(impl_->page->control_address), std::end(impl_->page->control_address),
            g.control_address);
  impl_->page->control_bytes = g.control_bytes;
  impl_->page->index_offset = g.index_offset;
  impl_->page->index_words = g.index_words;
  impl_->page->log_base = g.base;
  impl_->page->cores_per_bank = g.cores_per_bank;
  impl_->page->bytes_per_risc = g.bytes_per_risc;
}
void EmulatedCard::set_control_address(Coord tile, uint32_t l1_address) {
  impl_->page->control_address[tile.y * impl_->arch->grid_x + tile.x] = l1_address;
}
void EmulatedCard::set_landed(uint32_t lane, uint32_t resets, uint32_t words) {
  impl_->page->landed[lane].store(uint64_t{resets} << 32 | words, std::memory_order_release);
  impl_->page->log_changes.fetch_add(1, std::memory_order_release);
}
void EmulatedCard::set_landing_due(uint64_t raw_ns) {
  impl_->page->landing_due_ns.store(raw_ns, std::memory_order_release);
}
uint32_t EmulatedCard::words_read(uint32_t lane, uint32_t resets) const {
  const uint64_t read = impl_->page->read[lane].load(std::memory_order_acquire);
  return read >> 32 == resets ? static_cast<uint32_t>(read) : 0;
}
void EmulatedCard::assume_read(uint32_t lane, uint32_t resets, uint32_t words) {
  impl_->page->read[lane].store(uint64_t{resets} << 32 | words, std::memory_order_release);
  impl_->page->log_changes.fetch_add(1, std::memory_order_release);
}
uint64_t EmulatedCard::control_reads(Coord tile) const {
  return impl_->page->control_reads[tile.y * impl_->arch->grid_x + tile.x].load(std::memory_order_acquire);
}

void EmulatedCard::announce_leaving() {
  impl_->page->leaving.store(1, std::memory_order_release);
}
size_t EmulatedCard::observers() const {
  return impl_->attached.load();
}

bool EmulatedCard::lost() const {
  return impl_->lost.load(std::memory_order_relaxed);
}
std::vector<uint64_t> EmulatedCard::fault_hits() const {
  return {impl_->page->fault_hits, impl_->page->fault_hits + impl_->page->faults};
}

AccessAccount EmulatedCard::account() const {
  const Page& p = *impl_->page;
  return {p.round_trips, p.register_loads, p.window_moves, p.descriptor_bytes, p.violations, p.index_writes};
}

std::vector<std::string> EmulatedCard::violations() const {
  std::vector<std::string> texts;
  const uint64_t count = std::min<uint64_t>(impl_->page->violations, kKeptViolations);
  for (uint64_t i = 0; i < count; ++i) {
    const Violation& v = impl_->page->violation[i];
    char text[128];
    std::snprintf(text, sizeof text, "%s at tile (%u,%u) address 0x%llx", to_string(v.kind), v.tile & 0xff,
                  v.tile >> 8, static_cast<unsigned long long>(v.address));
    texts.emplace_back(text);
  }
  return texts;
}

// Known to be under way before the first store.
HostWrite::HostWrite(EmulatedCard& card) : card_(card) {
  card_.impl_->page->host_writes.fetch_add(1, std::memory_order_seq_cst);
}
HostWrite::~HostWrite() {
  card_.impl_->page->host_writes.fetch_add(1, std::memory_order_release);
}

}  // namespace ttc::card
