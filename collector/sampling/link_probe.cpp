#include "collector/sampling/link_probe.hpp"

#include <algorithm>

#include "driver_iface/allow_list.hpp"

namespace ttc::collect {
namespace {

using card::Access;
using card::Memory;
using card::Window;

constexpr uint64_t kL1 = 0x80000;        // the profiler's mailbox and buffers lie below 0x4000
constexpr uint64_t kDram = 0x1000'0000;  // logs end below 16 MiB
constexpr uint32_t kOffsetMask = card::kWindowBytes - 1;
constexpr uint32_t kWidths[] = {4, 8, 16, 32, 64};
constexpr uint32_t kTimerSamples = 64;
constexpr size_t kRows = 16;  // shares of the budget

ProbeRow summary(ProbeKind kind, Memory memory, uint32_t bytes, std::vector<uint32_t>& ns) {
  std::sort(ns.begin(), ns.end());
  const auto at = [&](size_t percent) { return ns[(ns.size() - 1) * percent / 100]; };
  return {kind,   memory, bytes,    static_cast<uint32_t>(ns.size()), ns.front(), at(50),
          at(90), at(99), ns.back()};
}

class Probing {
 public:
  Probing(card::Card& card, card::Coord tile, const ProbeOptions& options, const HostClock& clock)
      : card_(card), options_(options), clock_(clock), words_(options.stream_bytes / 8) {
    result_.tile = tile;
  }

  LinkProbe run() {
    time_the_timer();
    register_loads();
    loads();
    streams();
    re_aims();
    wall_clocks();
    return std::move(result_);
  }

 private:
  // Runs `operation` so often; the first time is not counted, because it may pay for what all others find
  // done: a page fault, a window that moves.
  template <class Operation>
  void measure(ProbeKind kind, Memory memory, uint32_t bytes, Operation operation) {
    std::vector<uint32_t> ns;
    ns.reserve(options_.samples);
    const uint64_t share = options_.budget_ns / kRows;
    const uint64_t begun = clock_();
    Access answer = operation();
    while (answer == Access::ok && ns.size() < options_.samples) {
      const uint64_t before = clock_();
      answer = operation();
      if (answer != Access::ok) break;
      const uint64_t after = clock_();
      ns.push_back(static_cast<uint32_t>(std::min<uint64_t>(after - before, ~0u)));
      if (after - begun > share) break;
    }
    if (answer != Access::ok) leave_out(kind, bytes, static_cast<uint32_t>(ns.size()), answer);
    if (!ns.empty()) result_.rows.push_back(summary(kind, memory, bytes, ns));
  }

  void leave_out(ProbeKind kind, uint32_t bytes, uint32_t samples, Access answer) {
    result_.left_out.push_back({kind, bytes, samples,
                                answer == Access::gone
                                    ? "the card went away"
                                    : "a load took longer than a tile may take, or gave no true answer; "
                                      "the tile is then left alone for a while. Try again"});
  }

  void time_the_timer() {
    std::vector<uint32_t> ns(kTimerSamples);
    for (uint32_t& sample : ns) {
      const uint64_t before = clock_();
      sample = static_cast<uint32_t>(clock_() - before);
    }
    result_.timer_ns = summary(ProbeKind::load, Memory::uncached, 0, ns).p50;
  }

  void register_loads() {
    if (const Access aimed = card_.aim(Window::control, result_.tile, card::kRegisterWindow);
        aimed != Access::ok)
      return leave_out(ProbeKind::reg, 4, 0, aimed);
    const uint32_t offset = card_.identity().arch->node_id_address & kOffsetMask;
    uint32_t value = 0;
    measure(ProbeKind::reg, Memory::uncached, 4, [&] {
      return card_.load_registers(Window::control, offset, {&value, 1});
    });
  }

  // Both mappings are the payload window's: it is aimed once.
  void loads() {
    if (const Access aimed = card_.aim(Window::payload, result_.tile, kL1); aimed != Access::ok)
      return leave_out(ProbeKind::load, 0, 0, aimed);
    uint32_t line[card::kLineBytes / 4];
    for (const Memory memory : {Memory::uncached, Memory::write_combined})
      for (const uint32_t bytes : kWidths)
        measure(ProbeKind::load, memory, bytes, [&] {
          return card_.one_load(Window::payload, memory, kL1 & kOffsetMask, {line, bytes / 4});
        });
  }

  // Long copies go through the control window uncached, and through the payload window write-combined.
  void streams() {
    stream(ProbeKind::stream_l1, Memory::uncached, Window::control, result_.tile, kL1);
    stream(ProbeKind::stream_l1, Memory::write_combined, Window::payload, result_.tile, kL1);
    const card::DramView& view = card_.identity().dram_views.front();
    stream(ProbeKind::stream_dram, Memory::write_combined, Window::payload, view.endpoint,
           view.offset + kDram);
  }
  void stream(ProbeKind kind, Memory memory, Window window, card::Coord tile, uint64_t address) {
    if (const Access aimed = card_.aim(window, tile, address); aimed != Access::ok)
      return leave_out(kind, options_.stream_bytes, 0, aimed);
    const auto offset = static_cast<uint32_t>(address) & kOffsetMask;
    measure(kind, memory, options_.stream_bytes, [&] { return card_.copy(window, offset, words_); });
  }

  // Moves the window between the tile's L1 and its registers; only moving counts, no word is read.
  void re_aims() {
    bool registers = false;
    measure(ProbeKind::re_aim, Memory::uncached, 0, [&] {
      registers = !registers;
      return card_.aim(Window::control, result_.tile, registers ? card::kRegisterWindow : kL1);
    });
  }

  void wall_clocks() {
    uint64_t cycles = 0;
    measure(ProbeKind::wall_clock, Memory::uncached, 0,
            [&] { return card_.wall_clock(result_.tile, cycles); });
  }

  card::Card& card_;
  const ProbeOptions& options_;
  const HostClock& clock_;
  std::vector<uint64_t> words_;
  LinkProbe result_;
};

}  // namespace

std::string_view to_string(ProbeKind kind) {
  constexpr std::string_view kNames[] = {"register",    "load",   "stream L1",
                                         "stream DRAM", "re-aim", "wall clock"};
  return kNames[static_cast<size_t>(kind)];
}

double ProbeRow::bytes_per_s() const {
  return p50 ? bytes * 1e9 / p50 : 0;
}

double LinkProbe::best_bytes_per_s() const {
  double best = 0;
  for (const ProbeRow& r : rows)
    if (r.kind == ProbeKind::stream_l1 || r.kind == ProbeKind::stream_dram)
      best = std::max(best, r.bytes_per_s());
  return best;
}

const ProbeRow* LinkProbe::row(ProbeKind kind, card::Memory memory, uint32_t bytes) const {
  for (const ProbeRow& r : rows)
    if (r.kind == kind && r.memory == memory && (bytes == 0 || r.bytes == bytes)) return &r;
  return nullptr;
}

LinkProbe probe_link(card::Card& card, card::Coord tile, const ProbeOptions& options,
                     const HostClock& clock) {
  return Probing(card, tile, options, clock).run();
}

}  // namespace ttc::collect
