#include "driver_iface/emu/emu_access.hpp"

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "driver_iface/emulated_card.hpp"

namespace ttc::card::emu {
namespace {

uint32_t tile_index(const Arch& arch, Coord c) {
  return uint32_t{c.y} * arch.grid_x + c.x;
}

ViolationKind violation_of(Refusal why) {
  switch (why) {
    case Refusal::forbidden_tile:
      return ViolationKind::forbidden_tile;
    case Refusal::harvested_tile:
      return ViolationKind::harvested_tile;
    default:
      return ViolationKind::outside_memory;
  }
}

void spin_until(uint64_t deadline_ns) {
  while (host_now_ns() < deadline_ns) {
  }
}

}  // namespace

void AccessLayer::violate(ViolationKind kind, Coord tile, uint64_t address) {
  const uint64_t n = page_.violations.fetch_add(1, std::memory_order_relaxed);
  if (n < kKeptViolations) page_.violation[n] = {kind, tile.x | uint32_t{tile.y} << 8, address};
}

Access AccessLayer::locate(Coord tile, uint64_t address, Aimed& to) {
  if ((address & ~(kWindowBytes - 1)) == kTimerBlock && timer_readable(arch_, tile, kTimerLow)) {
    to = {true, tile, TileKind::pcie, kTimerBlock, 0, 0};
    return Access::ok;
  }
  const bool in_grid = tile.x < arch_.grid_x && tile.y < arch_.grid_y;
  const auto verdict =
      reach_of(arch_, tile, in_grid && page_.harvested[tile_index(arch_, tile)] != 0, address);
  if (const Refusal* why = std::get_if<Refusal>(&verdict)) {
    violate(violation_of(*why), tile, address);
    return Access::refused;
  }
  const Reach& reach = std::get<Reach>(verdict);
  to = {true, tile, reach.kind, reach.base, 0, reach.readable};
  if (reach.kind == TileKind::dram)
    to.file_offset = channel_offset(arch_, *arch_.channel_at(tile)) + reach.base;
  else if (reach.readable)
    to.file_offset = tile_offset(arch_, tile);
  return Access::ok;
}

Access AccessLayer::aim(Window window, Coord tile, uint64_t address) {
  if (card_lost()) return Access::gone;
  Aimed& now = aimed_[static_cast<size_t>(window)];
  const uint64_t base = address & ~(kWindowBytes - 1);
  if (now.valid && now.tile == tile && now.base == base) return Access::ok;
  Aimed next;
  if (const Access access = locate(tile, address, next); access != Access::ok) return access;
  now = next;
  ++transactions_.window_moves;
  page_.window_moves.fetch_add(1, std::memory_order_relaxed);
  return Access::ok;
}

void AccessLayer::charge(uint64_t round_trips, uint64_t bytes) {
  transactions_.round_trips += round_trips;
  transactions_.bytes += bytes;
  page_.round_trips.fetch_add(round_trips, std::memory_order_relaxed);
  if (page_.clock.is_virtual) return;
  charged_ns_ += round_trips * page_.round_trip_ns;
  if (page_.round_trip_ns) spin_until(host_now_ns() + round_trips * page_.round_trip_ns);
}

uint32_t register_now(const Arch& arch, Page& page, Coord tile, uint64_t address) {
  const auto contradicts = [&](Contradiction one) { return has(page.contradictions, one); };
  if (timer_readable(arch, tile, address)) {
    const uint64_t ticks = timer_now(page);
    const auto high = static_cast<uint32_t>(ticks >> 32);
    if (address == kTimerHigh)
      return contradicts(Contradiction::timer_latch) ? high : page.timer_high.load(std::memory_order_relaxed);
    page.timer_high.store(high, std::memory_order_relaxed);
    return static_cast<uint32_t>(ticks);
  }
  std::atomic<uint32_t>& latch = page.latched_high[tile_index(arch, tile)];
  const uint64_t now = on_tile(page, tile, device_now(page));
  const auto high = static_cast<uint32_t>(now >> 32);
  if (address == kWallClockLow) {
    latch.store(high, std::memory_order_relaxed);
    return static_cast<uint32_t>(now);
  }
  const uint32_t latched = latch.load(std::memory_order_relaxed);
  if (address == kWallClockHigh) return contradicts(Contradiction::wall_high) ? latched : high;
  if (address == kWallClockLatched) return contradicts(Contradiction::wall_latch) ? 0 : latched;
  if (contradicts(Contradiction::node_id)) std::swap(tile.x, tile.y);
  return tile.x | uint32_t{tile.y} << 6 | uint32_t{arch.grid_x} << 12 | uint32_t{arch.grid_y} << 19;
}

void AccessLayer::disturb_register(const Aimed& window, uint64_t address, uint32_t& value) {
  if (address == kWallClockHigh) faults_.roll_over();
  const bool hung = faults_.hang(window.tile);
  if (faults_.silent(window.tile) || hung) value = ~0u;
}

Access AccessLayer::load_registers(Window window, uint32_t offset, std::span<uint32_t> out) {
  if (card_lost()) return Access::gone;
  const Aimed& w = aimed_[static_cast<size_t>(window)];
  const bool timer = w.kind == TileKind::pcie;
  if (!w.valid || (w.base != kRegisterWindow && !timer) || w.kind == TileKind::dram) {
    violate(ViolationKind::forbidden_register, w.tile, w.base + offset);
    return Access::refused;
  }
  // All or none: the first address that may not be loaded refuses the run.
  for (size_t i = 0; i < out.size(); ++i) {
    const uint64_t address = w.base + offset + 4 * i;
    const bool listed = timer ? timer_readable(arch_, w.tile, address) : register_readable(arch_, address);
    if (address % 4 == 0 && listed) continue;
    violate(address % 4 ? ViolationKind::unaligned_register : ViolationKind::forbidden_register, w.tile,
            address);
    return Access::refused;
  }
  for (uint32_t& value : out) {
    charge(1, 4);
    ++transactions_.register_loads;
    page_.register_loads.fetch_add(1, std::memory_order_relaxed);
    value = register_now(arch_, page_, w.tile, w.base + offset);
    if (faults_.any()) disturb_register(w, w.base + offset, value);
    offset += 4;
  }
  return card_lost() ? Access::gone : Access::ok;
}

std::optional<AccessLayer::LogPart> AccessLayer::log_part(const Aimed& w, uint64_t offset,
                                                          uint64_t bytes) const {
  if (w.kind != TileKind::dram || page_.bytes_per_risc == 0) return std::nullopt;
  const uint64_t view_bytes = arch_.channel_bytes / arch_.views_per_channel;
  const uint64_t in_channel = w.base + offset;
  const uint64_t in_view = in_channel % view_bytes;
  if (in_view < page_.log_base) return std::nullopt;
  const uint64_t slot = (in_view - page_.log_base) / page_.bytes_per_risc;
  if (slot >= uint64_t{page_.cores_per_bank} * kMaxRiscs) return std::nullopt;
  uint32_t channel = 0;  // among those that are there: banks are numbered without holes
  for (uint32_t c = 0; c < *arch_.channel_at(w.tile); ++c)
    channel += !page_.harvested[tile_index(arch_, arch_.ports(c)[0])];
  auto view = static_cast<uint32_t>(channel * arch_.views_per_channel + in_channel / view_bytes);
  if (has(page_.contradictions, Contradiction::dram_numbering)) view = (view + views() - 1) % views();
  const uint64_t lane = uint64_t{view} * page_.cores_per_bank * kMaxRiscs + slot;
  if (lane >= kMaxFlatIds * kMaxRiscs) return std::nullopt;
  const uint64_t first_byte = (in_view - page_.log_base) % page_.bytes_per_risc;
  return LogPart{static_cast<uint32_t>(lane), page_.landed[lane].load(std::memory_order_acquire),
                 static_cast<uint32_t>(first_byte / 4), static_cast<uint32_t>((first_byte + bytes) / 4)};
}

uint32_t AccessLayer::views() const {
  uint32_t channels = 0;
  for (uint32_t c = 0; c < arch_.channels; ++c)
    channels += !page_.harvested[tile_index(arch_, arch_.ports(c)[0])];
  return channels * arch_.views_per_channel;
}

// True: `out` now holds what the copy of this place before it got, and not the tile's words.
bool AccessLayer::make_stale(uint64_t at, std::span<uint64_t> out) {
  Earlier& earlier = earlier_[{at, out.size()}];
  if (!std::exchange(earlier.next_is_stale, !earlier.next_is_stale)) {
    earlier.words.assign(out.begin(), out.end());
    return false;
  }
  for (size_t i = 0; i < out.size(); ++i) __atomic_store_n(&out[i], earlier.words[i], __ATOMIC_RELEASE);
  return true;
}

// Counts only what continues the part already read: a probe further on has not fetched the words before it.
// True when the mark is at `words` or beyond afterwards.
bool AccessLayer::raise_mark(const LogPart& part, uint64_t words) {
  const uint64_t epoch = part.landed & ~uint64_t{0xffffffff};
  const uint64_t reached = epoch | std::min<uint64_t>(part.end_word, words);
  uint64_t seen = page_.read[part.lane].load(std::memory_order_relaxed);
  do {
    if (seen >= reached) return true;
    const uint64_t seen_words = (seen & ~uint64_t{0xffffffff}) == epoch ? seen & 0xffffffffu : 0;
    if (part.first_word > seen_words) return false;
  } while (!page_.read[part.lane].compare_exchange_weak(seen, reached, std::memory_order_release));
  page_.log_changes.fetch_add(1, std::memory_order_release);
  return true;
}

// Reads of a lane can be resolved where its words, or the mark, have moved since they were last examined. A search for the logs' size
// leaves thousands of reads open, which no landing resolves: they cost nothing then.
void AccessLayer::resolve_open_reads() {
  const uint32_t changes = page_.log_changes.load(std::memory_order_acquire);
  if (changes == changes_seen_) return;
  changes_seen_ = changes;
  for (auto open = open_reads_.begin(); open != open_reads_.end();) {
    auto& [lane, reads] = *open;
    const std::pair at{page_.landed[lane].load(std::memory_order_acquire),
                       page_.read[lane].load(std::memory_order_relaxed)};
    if (at != std::exchange(reads.examined_at, at))
      std::erase_if(reads.open, [&](OpenRead& r) { return resolve(r); });
    open = reads.open.empty() ? open_reads_.erase(open) : std::next(open);
  }
}

// Landing is announced after the words are there, so a read can have them before it is known that it could.
// Such a read stays open until that shows, or until the observer reads the same words again.
void AccessLayer::mark_read(const LogPart& part, std::span<const uint64_t> got, const uint64_t* from) {
  if (const auto open = open_reads_.find(part.lane); open != open_reads_.end())
    std::erase_if(open->second.open, [&](const OpenRead& r) { return part.first_word <= r.part.first_word; });
  const uint64_t landed = part.landed & 0xffffffffu;
  const bool raised = raise_mark(part, landed);
  if (raised && landed >= part.end_word) return;
  OpenRead read{part, {got.begin(), got.end()}, from, kNever};
  // What lands from here on is counted as a change.
  const bool landed_since = page_.landed[part.lane].load(std::memory_order_acquire) != part.landed;
  if (!landed_since || !resolve(read)) open_reads_[part.lane].open.push_back(std::move(read));
}

// Words arrive in order, so what was got and what is there now agree up to where the read came too early.
// Returns true when no more words can be resolved.
bool AccessLayer::resolve(OpenRead& r) {
  const uint64_t now = page_.landed[r.part.lane].load(std::memory_order_acquire);
  if (now == r.resolved_at) return false;
  if (now >> 32 != r.part.landed >> 32) return true;  // a reset: those words count no more
  size_t same = 0;
  while (same < r.got.size() && r.got[same] == __atomic_load_n(r.from + same, __ATOMIC_RELAXED)) ++same;
  const bool raised = raise_mark(r.part, std::min<uint64_t>(now & 0xffffffffu, r.part.first_word + 2 * same));
  if (raised) r.resolved_at = now;  // else the words before it have to be read first
  return raised && (now & 0xffffffffu) >= r.part.end_word;
}

bool AccessLayer::fits(Window window, uint32_t offset, uint64_t bytes) {
  const Aimed& w = aimed_[static_cast<size_t>(window)];
  if (w.valid && offset % 8 == 0 && offset + bytes <= w.readable) return true;
  violate(ViolationKind::outside_memory, w.tile, w.base + offset);
  return false;
}

// True: what arrived are not the tile's words, so they count as neither examined nor read.
bool AccessLayer::disturb_copy(const Aimed& window, const uint64_t* from, std::span<uint64_t> out) {
  if (window.kind != TileKind::dram) faults_.tear(window.tile, from, out);
  const bool hung = faults_.hang(window.tile);
  const bool silent = faults_.silent(window.tile);
  if (silent || hung)
    for (uint64_t& word : out) __atomic_store_n(&word, ~uint64_t{0}, __ATOMIC_RELEASE);
  return silent || hung || card_lost();
}

// Only the emulation can be late with a write, where the host gives it no CPU: then time on the card stops, and the answer comes when the
// emulation has caught up. False: it did not, as it was stopped or killed.
template <class Late>
bool AccessLayer::wait_while(const Late& late) {
  constexpr uint64_t kLongestNs = 200'000'000;
  constexpr auto kAskAgain = std::chrono::microseconds(10);
  const uint64_t begun_ns = host_now_ns();
  uint64_t now_ns = begun_ns;
  bool is_late = late(now_ns);
  while (is_late && now_ns - begun_ns < kLongestNs && !card_lost()) {
    std::this_thread::sleep_for(kAskAgain);
    now_ns = host_now_ns();
    is_late = late(now_ns);
  }
  transactions_.transport_ns += now_ns - begun_ns;
  return !is_late;
}

// A write that a core has posted is in memory when it is due.
void AccessLayer::await_landing() {
  uint64_t due_ns = page_.landing_due_ns.load(std::memory_order_acquire);
  if (due_ns == 0 || due_ns == given_up_on_ns_) return;
  const bool landed = wait_while([&](uint64_t now_ns) {
    due_ns = page_.landing_due_ns.load(std::memory_order_acquire);
    return due_ns != 0 && due_ns < now_ns;
  });
  given_up_on_ns_ = landed ? 0 : due_ns;
}

// A write of the host that an observer found under way before is over within HostWrite::kLongestNs of that. Only the observer's own times are
// compared: those of the two CPUs may differ by more.
void AccessLayer::await_host_write() {
  const uint32_t under_way = page_.host_writes.load(std::memory_order_acquire);
  if (under_way % 2 == 0 || under_way == endless_host_write_) return;
  const uint64_t now_ns = host_now_ns();
  if (std::exchange(host_write_, under_way) != under_way) host_write_found_ns_ = now_ns;
  if (now_ns - host_write_found_ns_ < HostWrite::kLongestNs) return;
  const bool over =
      wait_while([&](uint64_t) { return page_.host_writes.load(std::memory_order_acquire) == under_way; });
  if (!over) endless_host_write_ = under_way;
}

Access AccessLayer::copy(Window window, uint32_t offset, std::span<uint64_t> out) {
  if (card_lost()) return Access::gone;
  if (!fits(window, offset, out.size_bytes())) return Access::refused;
  const Aimed& w = aimed_[static_cast<size_t>(window)];
  await_landing();
  await_host_write();
  resolve_open_reads();
  const auto part = log_part(w, offset, out.size_bytes());
  charge(lines_touched(w.base + offset, out.size_bytes()), out.size_bytes());
  const auto* from = reinterpret_cast<const uint64_t*>(memory_ + w.file_offset + offset);
  for (size_t i = 0; i < out.size(); ++i)
    __atomic_store_n(&out[i], __atomic_load_n(from + i, __ATOMIC_RELAXED), __ATOMIC_RELEASE);
  if (faults_.any() && disturb_copy(w, from, out)) return card_lost() ? Access::gone : Access::ok;
  if (w.kind != TileKind::dram && has(page_.contradictions, Contradiction::stale_loads) &&
      make_stale(w.file_offset + offset, out))
    return Access::ok;
  if (w.kind != TileKind::dram) {
    const uint32_t tile = tile_index(arch_, w.tile);
    const uint32_t control = page_.control_address[tile];
    if (offset < control + page_.control_bytes && offset + out.size_bytes() > control)
      page_.control_reads[tile].fetch_add(1, std::memory_order_release);
  }
  if (part) mark_read(*part, out, from);
  return Access::ok;
}

// Single loads do not read logs: marks no word as fetched.
Access AccessLayer::one_load(Window window, uint32_t offset, std::span<uint32_t> out) {
  if (card_lost()) return Access::gone;
  const Aimed& w = aimed_[static_cast<size_t>(window)];
  if (!w.valid || !is_one_load(offset, out.size_bytes()) || offset + out.size_bytes() > w.readable) {
    violate(ViolationKind::outside_memory, w.tile, w.base + offset);
    return Access::refused;
  }
  charge(1, out.size_bytes());
  const auto* from = reinterpret_cast<const uint32_t*>(memory_ + w.file_offset + offset);
  for (size_t i = 0; i < out.size(); ++i) out[i] = __atomic_load_n(from + i, __ATOMIC_RELAXED);
  if (faults_.any()) {
    const bool hung = faults_.hang(w.tile);
    if (faults_.silent(w.tile) || hung) std::fill(out.begin(), out.end(), ~0u);
  }
  return card_lost() ? Access::gone : Access::ok;
}

std::optional<DescriptorRange> AccessLayer::range(Coord tile, uint64_t address, uint32_t bytes) {
  Aimed to;
  if (card_lost() || locate(tile, address, to) != Access::ok) return std::nullopt;
  if (to.readable == 0) {
    violate(ViolationKind::forbidden_register, tile, address);
    return std::nullopt;
  }
  const uint64_t offset = address - to.base;
  if (offset % 8 || bytes % 8 || offset + bytes > to.readable) {
    violate(ViolationKind::outside_memory, tile, address);
    return std::nullopt;
  }
  await_landing();
  await_host_write();
  charge(lines_touched(address, bytes), bytes);
  page_.descriptor_bytes.fetch_add(bytes, std::memory_order_relaxed);
  const auto part = log_part(to, offset, bytes);
  const uint64_t token = part ? next_token_++ : 0;
  if (part) open_ranges_.emplace_back(token, *part);
  return DescriptorRange{-1, to.file_offset + offset, bytes, token};
}

Access AccessLayer::release(const DescriptorRange& r, std::span<const uint64_t> bytes_read) {
  const auto it = std::find_if(open_ranges_.begin(), open_ranges_.end(),
                               [&](const auto& open) { return open.first == r.token; });
  if (card_lost()) return Access::gone;
  if (it == open_ranges_.end()) return Access::ok;  // no part of a log
  resolve_open_reads();
  mark_read(it->second, bytes_read, reinterpret_cast<const uint64_t*>(memory_ + r.file_offset));
  open_ranges_.erase(it);
  return Access::ok;
}

}  // namespace ttc::card::emu
