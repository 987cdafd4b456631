// A card whose host and firmware take whole steps: a launch, a host reset, a push whose words land late. Between two steps an
// observer may poll it, or not. The firmware is the shipped device header (device/profiler.hpp) on two RISCs of one core.
//
// Simulated time: a step takes what its markers take, a load of the observer kLoadNs. Steps store by store, with the observer
// between two of its own loads, are the business of history.hpp and scheduled_card.hpp.
#pragma once
#include <array>
#include <cstdint>
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
  // Of a kernel. Accumulating firmware pushes when a buffer is nearly full: with 60 every second launch.
  uint32_t zones = 1;
  // L1 holds markers of before the card was reset, when its clock was far ahead.
  bool old_l1 = false;
};

// A marker that firmware stored, and what became of it.
struct MacroMarker {
  SimMarker marker;
  uint64_t visible_ns =
      0;  // an index covered its words, or accumulating firmware stored them in L1; 0: never
};

class MacroCard : public card::FakeCard {
 public:
  static constexpr uint32_t kRiscs = 2;
  static constexpr uint32_t kLogWords = 12000;  // tt-metal's default region of 48000 bytes
  static constexpr uint32_t kControlAddress = 0xB00;
  static constexpr uint64_t kDramBase = 0x20, kBeginNs = 10'000'000'000;
  static constexpr uint32_t kFlatId = 1, kCoresPerBank = 8;
  static constexpr uint64_t kLoadNs = 250;
  static constexpr uint64_t kMarkerNs = 500;    // between two markers of a RISC
  static constexpr uint64_t kLandsNs = 40'000;  // of a push that lands late (the drain allows 45 us)
  static constexpr uint64_t kResetNs = 20'000;  // from the first to the last word of a torn reset

  explicit MacroCard(const MacroCardOptions& options)
      : FakeCard("sim"), layout_(*markers::layout_by_generation(options.generation)), options_(options) {
    tiles_ = {{{1, 2}, card::TileKind::tensix, false}};
    firmware_ = make_firmware();
    host_writes(0, format().control_words, 0);
    now_ = kBeginNs;
    if (options.old_l1) fill_l1();
  }

  // --- steps
  enum class Launch : uint8_t { plain, sits_out, quick_push, lands_late, reset_inside };
  void launch(Launch kind) {
    finish_reset();
    ++launches_;
    land_late_ = kind == Launch::lands_late;
    firmware_->launch(launches_, kind);
    land_late_ = false;
  }
  // The next launch takes place between two lines that the observer loads: when it has loaded so many from now on.
  void launch_inside(uint64_t lines) { launch_inside_ = lines; }
  void reset() {
    finish_reset();
    forget_buffers();
    host_writes(0, format().control_words, kDramBase);
    resets_ns_.push_back(now_);
  }
  // The host has written the first index, and goes on kResetNs later.
  void begin_torn_reset() {
    finish_reset();
    host_writes(0, format().host_end + 1u, kDramBase);
    reset_goes_on_ns_ = now_ + kResetNs;
  }
  void pass(uint64_t ns) {
    const uint64_t until = now_ + ns;
    for (const uint64_t due : {reset_goes_on_ns_, lands_ns()})
      if (due != 0 && due <= until) catch_up(due);
    now_ = std::max(now_, until);
    catch_up(now_);
  }

  // --- what is true
  uint64_t now() const { return now_; }
  const std::vector<MacroMarker>& markers() const { return markers_; }
  const std::vector<uint64_t>& resets_ns() const { return resets_ns_; }
  const markers::Layout& layout() const { return layout_; }
  const device::Format& format() const { return layout_.format; }
  device::Mode mode() const { return options_.mode; }
  uint32_t zones() const { return options_.zones; }
  uint32_t buffer_address() const { return kControlAddress + 4u * format().control_words; }

  // --- the firmware's port
  uint32_t load(uint32_t address) const { return l1_word(address); }
  void store(uint32_t address, uint32_t value) {
    if (address >= buffer_address())
      buffer_[(address - buffer_address()) / 4] = value;
    else
      control_[(address - kControlAddress) / 4] = value;
  }
  uint64_t tick() { return now_ += kMarkerNs; }
  void push(uint32_t risc, uint32_t words, uint32_t at) {
    const auto from = buffer_.begin() + risc * device::kBufferWords;
    Landing l{risc, at, {from, from + words}, now_ + kLandsNs};
    if (land_late_)
      landing_.push_back(std::move(l));
    else
      land(l);
    for (const size_t m : owned_[risc])
      if (markers_[m].visible_ns == 0) markers_[m].visible_ns = now_;
    owned_[risc].clear();
  }
  // `in_l1`: it can be read there until the buffer restarts.
  void recorded(uint32_t risc, uint32_t type, uint32_t id, uint32_t host_id, uint64_t time, bool in_l1) {
    owned_[risc].push_back(markers_.size());
    markers_.push_back({{time, risc, type, id, host_id, {0, 0}}, in_l1 ? now_ : 0});
  }

  // --- card::Card
  card::Access aim(card::Window window, card::Coord tile, uint64_t address) override {
    place(window, tile, address);
    return card::Access::ok;
  }
  card::Access copy(card::Window window, uint32_t offset, std::span<uint64_t> out) override {
    const bool dram = window == card::Window::payload;
    uint64_t address = base_of(window) + (offset & (card::kWindowBytes - 1));
    for (size_t i = 0; i < out.size(); ++i, address += 8) {
      if (i == 0 || address % card::kLineBytes == 0) {
        pass(kLoadNs);
        if (launch_inside_ != 0 && --launch_inside_ == 0) launch(Launch::plain);
      }
      const uint32_t low = dram ? dram_word(address) : l1_word(static_cast<uint32_t>(address));
      const uint32_t high = dram ? dram_word(address + 4) : l1_word(static_cast<uint32_t>(address + 4));
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
    uint32_t risc, at;
    std::vector<uint32_t> words;
    uint64_t due_ns;
  };

  std::unique_ptr<Firmware> make_firmware();
  template <device::Mode M>
  std::unique_ptr<Firmware> firmware_of_generation();

  void host_writes(uint32_t first, uint32_t last, uint32_t risc_addresses) {
    const device::Format& f = format();
    for (uint32_t w = first; w < last; ++w) {
      const bool address = w >= f.risc_dram_address && w < f.risc_dram_address + f.risc_dram_address_count;
      control_[w] = w == f.dram_address          ? static_cast<uint32_t>(kDramBase)
                    : w == f.flat_id             ? kFlatId
                    : w == f.core_count_per_dram ? kCoresPerBank
                    : address                    ? risc_addresses
                                                 : 0;
    }
  }
  void fill_l1() {
    for (uint32_t w = 0; w + 2 <= buffer_.size(); w += 2) {
      const uint64_t time = kBeginNs + (uint64_t{1} << 40) + w;
      buffer_[w] = 0x80000000 | static_cast<uint32_t>(time >> 32);
      buffer_[w + 1] = static_cast<uint32_t>(time);
    }
  }
  void finish_reset() {
    if (reset_goes_on_ns_ == 0) return;
    reset_goes_on_ns_ = 0;
    forget_buffers();
    host_writes(format().host_end + 1u, format().control_words, kDramBase);
    resets_ns_.push_back(now_);
  }
  // Accumulating firmware restarts its buffers after a reset, and clears the slots with the zones of its last push.
  void forget_buffers() {
    for (auto& owned : owned_) owned.clear();
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
  void land(const Landing& l) { std::copy(l.words.begin(), l.words.end(), log_[l.risc].begin() + l.at); }

  uint32_t l1_word(uint32_t address) const {
    if (address < kControlAddress || address >= buffer_address() + 4 * buffer_.size()) return 0;
    if (address < buffer_address()) return control_[(address - kControlAddress) / 4];
    return buffer_[(address - buffer_address()) / 4];
  }
  uint32_t dram_word(uint64_t address) const {
    const uint64_t lane = (address - kDramBase) / 4 / kLogWords,
                   first = uint64_t{kFlatId} * device::kMaxRiscs;
    if (lane < first || lane >= first + kRiscs) return 0;
    const auto word = static_cast<size_t>((address - kDramBase) / 4 % kLogWords);
    return word < log_[lane - first].size() ? log_[lane - first][word] : 0;
  }

  const markers::Layout& layout_;
  MacroCardOptions options_;
  std::unique_ptr<Firmware> firmware_;
  uint64_t now_ = 0;
  uint64_t reset_goes_on_ns_ = 0;
  uint32_t launches_ = 0;
  bool land_late_ = false;
  uint64_t launch_inside_ = 0;  // lines until it
  std::array<uint32_t, 96> control_{};
  std::array<uint32_t, device::kMaxRiscs * device::kBufferWords> buffer_{};
  std::array<std::array<uint32_t, 4096>, kRiscs> log_{};
  std::vector<Landing> landing_;
  std::vector<MacroMarker> markers_;
  std::array<std::vector<size_t>, kRiscs> owned_;  // of each RISC's buffer, since its last push
  std::vector<uint64_t> resets_ns_;
};

// One core's firmware: zones on both RISCs, and what the kind of launch adds.
template <const device::Format& F, device::Mode M>
class MacroCard::FirmwareOf : public MacroCard::Firmware {
 public:
  explicit FirmwareOf(MacroCard& card)
      : card_(card), risc_{{{*this, 0, 4 * kLogWords}, {*this, 1, 4 * kLogWords}}} {}

  void launch(uint32_t host_id, Launch kind) override {
    host_id_ = M == device::Mode::normal ? F.host_id.get(F.host_id.put(host_id)) : 0;
    risc_[0].open_launch();
    risc_[0].fw_start(kFw);
    risc_[0].take_launch(true, host_id);
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
  uint32_t load(uint32_t address) const { return card_.load(address); }
  void store(uint32_t address, uint32_t value) { card_.store(address, value); }
  uint32_t clock_high() {
    time_ = card_.tick();
    return static_cast<uint32_t>(time_ >> 32);
  }
  uint32_t clock_low() const { return static_cast<uint32_t>(time_); }
  void push(uint32_t risc, uint32_t words, uint32_t, uint32_t bank_offset) {
    card_.push(risc, words, bank_offset / 4 % kLogWords);
  }
  void wait_sent() const {}
  uint32_t noc_x() const { return 1; }
  uint32_t noc_y() const { return 2; }
  bool noc_busy() const { return false; }
  void recorded(uint32_t risc, uint32_t type, uint32_t id, uint64_t time, uint64_t, uint64_t) {
    card_.recorded(risc, type, id, host_id_, time & markers::kClockMask, M == device::Mode::accumulate);
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
  std::array<device::Profiler<FirmwareOf, F, M>, kRiscs> risc_;
  uint64_t time_ = 0;
  uint32_t host_id_ = 0;
};

template <device::Mode M>
std::unique_ptr<MacroCard::Firmware> MacroCard::firmware_of_generation() {
  switch (options_.generation) {
    case device::kG1Narrow.generation:
      return std::make_unique<FirmwareOf<device::kG1Narrow, M>>(*this);
    case device::kG1.generation:
      return std::make_unique<FirmwareOf<device::kG1, M>>(*this);
    case device::kG2.generation:
      return std::make_unique<FirmwareOf<device::kG2, M>>(*this);
    case device::kG3.generation:
      return std::make_unique<FirmwareOf<device::kG3, M>>(*this);
    default:
      return std::make_unique<FirmwareOf<device::kG4, M>>(*this);
  }
}

inline std::unique_ptr<MacroCard::Firmware> MacroCard::make_firmware() {
  return options_.mode == device::Mode::accumulate ? firmware_of_generation<device::Mode::accumulate>()
                                                   : firmware_of_generation<device::Mode::normal>();
}

}  // namespace ttc::sim
