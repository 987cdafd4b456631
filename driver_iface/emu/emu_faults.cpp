#include "driver_iface/emu/emu_faults.hpp"

#include <time.h>

#include <cerrno>

namespace ttc::card::emu {
namespace {

void sleep_ns(uint64_t ns) {
  timespec left{static_cast<time_t>(ns / 1000000000u), static_cast<long>(ns % 1000000000u)};
  while (clock_nanosleep(CLOCK_MONOTONIC, 0, &left, &left) == EINTR) {
  }
}

}  // namespace

uint64_t attended_ns(const Page& page) {
  const uint64_t since = page.attended_since.load(std::memory_order_acquire);
  if (since == 0) return 0;
  return time_axis_ns(page) - since;
}

bool begun(const Page& page, const CardFault& f) {
  if (page.attended_since.load(std::memory_order_acquire) == 0) return false;
  if (f.after_is_round_trips && f.notice_ns) {  // announced at that moment, and so long before
    const uint64_t announced = page.fault_began[&f - page.fault].load(std::memory_order_acquire);
    return announced != 0 && attended_ns(page) + 1 >= announced + f.notice_ns;
  }
  if (f.after_is_round_trips) return page.round_trips.load(std::memory_order_relaxed) >= f.after;
  return attended_ns(page) >= f.after;
}

const CardFault* begun_fault(const Page& page, FaultKind kind) {
  for (uint32_t i = 0; i < page.faults; ++i)
    if (page.fault[i].kind == kind && begun(page, page.fault[i])) return &page.fault[i];
  return nullptr;
}

Faults::Faults(Page& page) : page_(page), resets_at_birth_(page.resets.load(std::memory_order_acquire)) {
  for (uint32_t i = 0; i < page.faults; ++i) {
    dice_[i].seed(page.fault[i].seed);
    until_strike_[i] = draw_gap(i);
  }
}

// `every` on average and less than twice that at most, so that a run of known length is sure to be hit.
uint64_t Faults::draw_gap(uint32_t i) {
  const uint64_t every = page_.fault[i].every;
  return every > 1 ? dice_[i]() % (2 * every - 1) : 0;
}

bool Faults::card_lost() const {
  if (!any()) return false;
  const uint32_t resets = page_.resets.load(std::memory_order_acquire);
  if (cut_off(page_, resets_at_birth_)) return true;
  // The descriptor hangs up before the card acts on it, so nothing read from then on is used.
  const bool reset_is_seen = !has(page_.contradictions, Contradiction::reset_unseen);
  return begun_fault(page_, FaultKind::unplug) ||
         (reset_is_seen && resets == 0 && begun_fault(page_, FaultKind::reset));
}

bool Faults::strikes(uint32_t i, FaultKind kind, Coord tile) {
  const CardFault& f = page_.fault[i];
  if (f.kind != kind || (!f.every_tile && f.tile != tile) || !begun(page_, f)) return false;
  if (f.for_ns) {
    uint64_t began = 0;
    const uint64_t now = attended_ns(page_);
    page_.fault_began[i].compare_exchange_strong(began, now + 1);  // 0 means: not begun
    if (began != 0 && now >= began - 1 + f.for_ns) return false;
  }
  if (until_strike_[i] > 0) {
    --until_strike_[i];
    return false;
  }
  until_strike_[i] = draw_gap(i);
  page_.fault_hits[i].fetch_add(1, std::memory_order_relaxed);
  return true;
}

bool Faults::silent(Coord tile) {
  bool silent = false;
  for (uint32_t i = 0; i < page_.faults; ++i) silent = strikes(i, FaultKind::all_ones, tile) || silent;
  return silent;
}

bool Faults::hang(Coord tile) {
  bool all_ones = false;
  for (uint32_t i = 0; i < page_.faults; ++i) {
    if (strikes(i, FaultKind::stolen_cpu, tile)) sleep_ns(page_.fault[i].wait_ns);
    if (!strikes(i, FaultKind::hung_read, tile)) continue;
    sleep_ns(page_.fault[i].wait_ns);
    hung_ns_ += page_.fault[i].wait_ns;
    all_ones = all_ones || page_.fault[i].all_ones;
  }
  return all_ones;
}

void Faults::tear(Coord tile, const uint64_t* from, std::span<uint64_t> out) {
  for (uint32_t i = 0; i < page_.faults; ++i) {
    if (!strikes(i, FaultKind::torn_copy, tile)) continue;
    const auto changed = [&] {
      for (size_t w = 0; w < out.size(); ++w)
        if (__atomic_load_n(from + w, __ATOMIC_RELAXED) != out[w]) return true;
      return false;
    };
    const uint64_t until = host_now_ns() + page_.fault[i].wait_ns;
    while (!changed() && host_now_ns() < until) {
    }
    // Each 32-bit word alone: no larger load is guaranteed to be atomic.
    for (size_t w = 0; w < out.size(); ++w) {
      const uint64_t later = __atomic_load_n(from + w, __ATOMIC_RELAXED);
      const uint64_t pick = dice_[i]();
      const uint64_t mask = (pick & 1 ? 0xffffffffu : 0) | (pick & 2 ? uint64_t{0xffffffffu} << 32 : 0);
      __atomic_store_n(&out[w], (out[w] & ~mask) | (later & mask), __ATOMIC_RELEASE);
    }
  }
}

void Faults::roll_over() {
  for (uint32_t i = 0; i < page_.faults; ++i) {
    const uint64_t left = (uint64_t{1} << 32) - (device_now(page_) & 0xffffffffu);
    if (page_.fault[i].kind != FaultKind::roll_over || left > page_.fault[i].cycles) continue;
    if (!strikes(i, FaultKind::roll_over, page_.fault[i].tile)) continue;
    const uint64_t until = device_now(page_) + left;
    if (page_.clock.is_virtual)
      page_.virtual_cycles.fetch_add(left, std::memory_order_relaxed);
    else
      while (device_now(page_) < until) {
      }
  }
}

}  // namespace ttc::card::emu
