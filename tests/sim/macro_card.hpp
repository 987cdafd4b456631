// A card whose host and firmware take whole steps: a launch, a host reset, a push whose words land late. Between two steps an
// observer may poll it, or not. The firmware is the shipped device header (device/profiler.hpp) on two RISCs of a Tensix core, and
// on request on two of an Ethernet core.
//
// Simulated time: a step takes what its markers take, a load of the observer kLoadNs. Steps store by store, with the observer
// between two of its own loads, are the business of history.hpp and scheduled_card.hpp.
#pragma once
#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "firmware_markers/device/profiler.hpp"
#include "firmware_markers/layout.hpp"
#include "firmware_markers/packets.hpp"
#include "tests/sim/sim_marker.hpp"
#include "tests/support/fake_card.hpp"

namespace ttc::sim {

struct MacroCardOptions {
  unsigned generation = 4;  // 16, 1 to 4
  device::Mode mode = device::Mode::normal;
  // The zones of a kernel. Accumulating firmware pushes when a buffer is nearly full: with 60 every second launch.
  uint32_t zones = 1;
  // L1 holds markers of before the card was reset, when its clock was far ahead.
  bool old_l1 = false;
  bool ethernet = false;
  uint32_t log_words = 12000;  // tt-metal's default region of 48000 bytes
};

// A marker that firmware stored, and what became of it.
struct MacroMarker {
  SimMarker marker;  // lanes of the Ethernet core count on behind the Tensix core's
  uint64_t visible_ns =
      0;  // an index covered its words, or accumulating firmware stored them in L1; 0: never
};

class MacroCard : public card::FakeCard {
 public:
  static constexpr uint32_t kRiscs = 2;
  static constexpr uint32_t kLogWords = MacroCardOptions{}.log_words;
  static constexpr uint32_t kControlAddress = 0xB00;
  static constexpr uint64_t kDramBase = 0x20, kBeginNs = 10'000'000'000;
  static constexpr uint32_t kFlatId = 1,
                            kCoresPerBank = 8;  // of the Tensix core; the Ethernet core has the next one
  static constexpr card::Coord kTensix{1, 2}, kEthernet{1, 0};
  static constexpr uint64_t kLoadNs = 250;
  static constexpr uint64_t kMarkerNs = 500;    // between two markers of a RISC
  static constexpr uint64_t kLandsNs = 40'000;  // of a push that lands late (the drain allows 45 us)
  static constexpr uint64_t kResetNs = 20'000;  // from the first to the last word of a torn reset

  explicit MacroCard(const MacroCardOptions& options)
      : FakeCard("sim"), layout_(*markers::layout_by_generation(options.generation)), options_(options) {
    tiles_ = {{kTensix, card::TileKind::tensix, false}};
    if (options.ethernet) tiles_.push_back({kEthernet, card::TileKind::ethernet, false});
    cores_.resize(tiles_.size());
    for (uint32_t c = 0; c < cores_.size(); ++c) {
      cores_[c].firmware = make_firmware(c);
      host_writes(cores_[c], 0, format().control_words, 0);
    }
    now_ = kBeginNs;
    if (options.old_l1) fill_l1(cores_[0]);
  }

  // --- steps
  // of_others: the core takes no part in it, and BRISC closes what it opened.
  // reset_first, reset_inside: the host resets the core before NCRISC begins, and after it ended.
  enum class Launch : uint8_t {
    plain,
    sits_out,
    quick_push,
    lands_late,
    reset_first,
    reset_inside,
    of_others
  };
  void launch(Launch kind, uint32_t on = 0) {
    finish_reset();
    ++launches_;
    land_late_ = kind == Launch::lands_late;
    cores_[on].firmware->launch(launches_, kind);
    land_late_ = false;
  }
  void launch_on_ethernet() { launch(Launch::plain, 1); }
  // The next launch takes place between two lines that the observer loads: when it has loaded so many from now on.
  void launch_inside(uint64_t lines) { launch_inside_ = lines; }
  void reset() {
    finish_reset();
    for (Core& core : cores_) {
      core.forget_buffers();
      host_writes(core, 0, format().control_words, kDramBase);
    }
    resets_ns_.push_back(now_);
  }
  // The host has written the first index, and continues kResetNs later.
  void begin_torn_reset() {
    finish_reset();
    for (Core& core : cores_) host_writes(core, 0, format().host_end + 1u, kDramBase);
    reset_goes_on_ns_ = now_ + kResetNs;
  }
  void pass(uint64_t ns) {
    const uint64_t until = now_ + ns;
    for (const uint64_t due : {reset_goes_on_ns_, lands_ns()})
      if (due != 0 && due <= until) catch_up(due);
    now_ = std::max(now_, until);
    catch_up(now_);
  }

  // Called within each push of a lane: its index has moved, its DEVICE_END has not been cleared yet.
  std::function<void()> in_push;

  // --- what is true
  uint64_t now() const { return now_; }
  const std::vector<MacroMarker>& markers() const { return markers_; }
  const std::vector<uint64_t>& resets_ns() const { return resets_ns_; }
  const markers::Layout& layout() const { return layout_; }
  const device::Format& format() const { return layout_.format; }
  device::Mode mode() const { return options_.mode; }
  uint32_t zones() const { return options_.zones; }
  uint32_t log_words() const { return options_.log_words; }
  uint32_t buffer_address() const { return kControlAddress + 4u * format().control_words; }

  // --- the firmware's port
  uint32_t load(uint32_t address, uint32_t core = 0) const { return l1_word(cores_[core], address); }
  void store(uint32_t address, uint32_t value, uint32_t core = 0) {
    if (address >= buffer_address())
      cores_[core].buffer[(address - buffer_address()) / 4] = value;
    else
      cores_[core].control[(address - kControlAddress) / 4] = value;
  }
  uint64_t tick() { return now_ += kMarkerNs; }
  void push(uint32_t core, uint32_t risc, uint32_t words, uint32_t at) {
    const auto from = cores_[core].buffer.begin() + risc * device::kBufferWords;
    Landing l{core, risc, at, {from, from + words}, now_ + kLandsNs};
    if (land_late_)
      landing_.push_back(std::move(l));
    else
      land(l);
    for (const size_t m : cores_[core].owned[risc])
      if (markers_[m].visible_ns == 0) markers_[m].visible_ns = now_;
    cores_[core].owned[risc].clear();
    if (in_push) in_push();
  }
  // `in_l1`: it can be read there until the buffer restarts.
  void recorded(uint32_t core, uint32_t risc, uint32_t type, uint32_t id, uint32_t host_id, uint64_t time,
                bool in_l1) {
    cores_[core].owned[risc].push_back(markers_.size());
    markers_.push_back({{time, risc + core * kRiscs, type, id, host_id, {0, 0}}, in_l1 ? now_ : 0});
  }

  // --- card::Card
  card::Access aim(card::Window window, card::Coord tile, uint64_t address) override {
    place(window, tile, address);
    return card::Access::ok;
  }
  card::Access copy(card::Window window, uint32_t offset, std::span<uint64_t> out) override {
    const bool dram = window == card::Window::payload;
    const Core& core = cores_[tile_of(window) == kEthernet ? 1 : 0];
    uint64_t address = base_of(window) + (offset & (card::kWindowBytes - 1));
    for (size_t i = 0; i < out.size(); ++i, address += 8) {
      if (i == 0 || address % card::kLineBytes == 0) {
        pass(kLoadNs);
        if (launch_inside_ != 0 && --launch_inside_ == 0) launch(Launch::plain);
      }
      const uint32_t low = dram ? dram_word(address) : l1_word(core, static_cast<uint32_t>(address));
      const uint32_t high = dram ? dram_word(address + 4) : l1_word(core, static_cast<uint32_t>(address + 4));
      __atomic_store_n(&out[i], uint64_t{high} << 32 | low, __ATOMIC_RELEASE);
    }
    return card::Access::ok;
  }
  card::Access wall_clock(card::Coord, uint64_t& cycles) override {
    cycles = now_;
    return card::Access::ok;
  }

 private:
  struct Firmware {
    virtual ~Firmware() = default;
    virtual void launch(uint32_t host_id, Launch kind) = 0;
  };
  template <const device::Format& F, device::Mode M>
  class FirmwareOf;
  struct Landing {
    uint32_t core, risc, at;
    std::vector<uint32_t> words;
    uint64_t due_ns;
  };
  struct Core {
    std::unique_ptr<Firmware> firmware;
    std::array<uint32_t, 96> control{};
    std::array<uint32_t, device::kMaxRiscs * device::kBufferWords> buffer{};
    std::array<std::array<uint32_t, 4096>, kRiscs> log{};
    std::array<std::vector<size_t>, kRiscs> owned;  // of each RISC's buffer, since its last push

    // Accumulating firmware restarts its buffers after a reset, and clears the slots with the zones of its last push.
    void forget_buffers() {
      for (auto& each : owned) each.clear();
    }
  };

  std::unique_ptr<Firmware> make_firmware(uint32_t core);
  template <device::Mode M>
  std::unique_ptr<Firmware> firmware_of_generation(uint32_t core);

  uint32_t flat_id_of(const Core& core) const {
    return kFlatId + static_cast<uint32_t>(&core - cores_.data());
  }
  void host_writes(Core& core, uint32_t first, uint32_t last, uint32_t risc_addresses) {
    const device::Format& f = format();
    for (uint32_t w = first; w < last; ++w) {
      const bool address = w >= f.risc_dram_address && w < f.risc_dram_address + f.risc_dram_address_count;
      core.control[w] = w == f.dram_address          ? static_cast<uint32_t>(kDramBase)
                        : w == f.flat_id             ? flat_id_of(core)
                        : w == f.core_count_per_dram ? kCoresPerBank
                        : address                    ? risc_addresses
                                                     : 0;
    }
  }
  static void fill_l1(Core& core) {
    for (uint32_t w = 0; w + 2 <= core.buffer.size(); w += 2) {
      const uint64_t time = kBeginNs + (uint64_t{1} << 40) + w;
      core.buffer[w] = 0x80000000 | static_cast<uint32_t>(time >> 32);
      core.buffer[w + 1] = static_cast<uint32_t>(time);
    }
  }
  void finish_reset() {
    if (reset_goes_on_ns_ == 0) return;
    reset_goes_on_ns_ = 0;
    for (Core& core : cores_) {
      core.forget_buffers();
      host_writes(core, format().host_end + 1u, format().control_words, kDramBase);
    }
    resets_ns_.push_back(now_);
  }
  uint64_t lands_ns() const { return landing_.empty() ? 0 : landing_.front().due_ns; }
  void catch_up(uint64_t until) {
    now_ = std::max(now_, until);
    if (reset_goes_on_ns_ != 0 && reset_goes_on_ns_ <= until) finish_reset();
    while (!landing_.empty() && landing_.front().due_ns <= until) {
      land(landing_.front());
      landing_.erase(landing_.begin());
    }
  }
  void land(const Landing& l) {
    std::copy(l.words.begin(), l.words.end(), cores_[l.core].log[l.risc].begin() + l.at);
  }

  uint32_t l1_word(const Core& core, uint32_t address) const {
    if (address < kControlAddress || address >= buffer_address() + 4 * core.buffer.size()) return 0;
    if (address < buffer_address()) return core.control[(address - kControlAddress) / 4];
    return core.buffer[(address - buffer_address()) / 4];
  }
  uint32_t dram_word(uint64_t address) const {
    const uint64_t lane = (address - kDramBase) / 4 / options_.log_words;
    const uint64_t core = lane / device::kMaxRiscs - kFlatId, risc = lane % device::kMaxRiscs;
    if (core >= cores_.size() || risc >= kRiscs) return 0;
    const auto word = static_cast<size_t>((address - kDramBase) / 4 % options_.log_words);
    const auto& log = cores_[core].log[risc];
    return word < log.size() ? log[word] : 0;
  }

  const markers::Layout& layout_;
  MacroCardOptions options_;
  std::vector<Core> cores_;
  uint64_t now_ = 0;
  uint64_t reset_goes_on_ns_ = 0;
  uint32_t launches_ = 0;
  bool land_late_ = false;
  uint64_t launch_inside_ = 0;  // lines until it
  std::vector<Landing> landing_;
  std::vector<MacroMarker> markers_;
  std::vector<uint64_t> resets_ns_;
};

// One core's firmware: zones on both RISCs, and what the kind of launch adds.
template <const device::Format& F, device::Mode M>
class MacroCard::FirmwareOf : public MacroCard::Firmware {
 public:
  FirmwareOf(MacroCard& card, uint32_t core)
      : card_(card),
        core_(core),
        risc_{{{*this, 0, 4 * card.log_words()}, {*this, 1, 4 * card.log_words()}}} {}

  void launch(uint32_t host_id, Launch kind) override {
    host_id_ = M == device::Mode::normal ? F.host_id.get(F.host_id.put(host_id)) : 0;
    risc_[0].open_launch();
    risc_[0].fw_start(kFw);
    risc_[0].take_launch(kind != Launch::of_others, host_id);
    if (kind == Launch::of_others) return close_for_others();
    if (kind == Launch::reset_first) card_.reset();
    if (kind != Launch::sits_out) run_ncrisc(kind);
    if (kind == Launch::reset_inside) card_.reset();
    risc_[0].kernel_start(kKernel);
    work(0);
    risc_[0].kernel_end(kKernel);
    risc_[0].fw_end(kFw);
    risc_[0].finish_launch({kPush, kFlush});
  }

  uint32_t control_address() const { return kControlAddress; }
  uint32_t buffer_address() const { return card_.buffer_address(); }
  uint32_t load(uint32_t address) const { return card_.load(address, core_); }
  void store(uint32_t address, uint32_t value) { card_.store(address, value, core_); }
  uint32_t clock_high() {
    time_ = card_.tick();
    return static_cast<uint32_t>(time_ >> 32);
  }
  uint32_t clock_low() const { return static_cast<uint32_t>(time_); }
  void push(uint32_t risc, uint32_t words, uint32_t, uint32_t bank_offset) {
    card_.push(core_, risc, words, bank_offset / 4 % card_.log_words());
  }
  void wait_sent() const {}
  uint32_t noc_x() const { return 1; }
  uint32_t noc_y() const { return 2; }
  bool noc_busy() const { return false; }
  void recorded(uint32_t risc, uint32_t type, uint32_t id, uint64_t time, uint64_t, uint64_t) {
    card_.recorded(core_, risc, type, id, host_id_, time & markers::kClockMask,
                   M == device::Mode::accumulate);
  }

 private:
  enum Id : uint32_t {
    kFw = 0x100,
    kKernel = 0x200,
    kZone = 0x300,
    kQuick = 0x500,
    kPush = 0x600,
    kFlush = 0x700
  };
  void close_for_others() {
    risc_[0].fw_end(kFw, false);
    risc_[0].finish_launch({kPush, kFlush});
  }
  void run_ncrisc(Launch kind) {
    risc_[1].fw_start(kFw + 1);
    risc_[1].kernel_start(kKernel + 1);
    work(1);
    if (kind == Launch::quick_push) {
      risc_[1].quick_push(kQuick);
      work(1);
    }
    risc_[1].kernel_end(kKernel + 1);
    risc_[1].fw_end(kFw + 1);
  }
  void work(uint32_t risc) {
    for (uint32_t i = 0; i < card_.zones(); ++i)
      if (risc_[risc].zone_start(kZone + risc)) risc_[risc].zone_end(kZone + risc);
  }

  MacroCard& card_;
  uint32_t core_;
  std::array<device::Profiler<FirmwareOf, F, M>, kRiscs> risc_;
  uint64_t time_ = 0;
  uint32_t host_id_ = 0;
};

template <device::Mode M>
std::unique_ptr<MacroCard::Firmware> MacroCard::firmware_of_generation(uint32_t core) {
  switch (options_.generation) {
    case device::kG1Narrow.generation:
      return std::make_unique<FirmwareOf<device::kG1Narrow, M>>(*this, core);
    case device::kG1.generation:
      return std::make_unique<FirmwareOf<device::kG1, M>>(*this, core);
    case device::kG2.generation:
      return std::make_unique<FirmwareOf<device::kG2, M>>(*this, core);
    case device::kG3.generation:
      return std::make_unique<FirmwareOf<device::kG3, M>>(*this, core);
    default:
      return std::make_unique<FirmwareOf<device::kG4, M>>(*this, core);
  }
}

inline std::unique_ptr<MacroCard::Firmware> MacroCard::make_firmware(uint32_t core) {
  return options_.mode == device::Mode::accumulate ? firmware_of_generation<device::Mode::accumulate>(core)
                                                   : firmware_of_generation<device::Mode::normal>(core);
}

}  // namespace ttc::sim
