// A core whose firmware runs on its own stack, so that an observer who writes can be put between any two of
// its accesses: the device header on emulated L1, clock and NoC, with words landing late and, on Blackhole,
// an index that the core may have cached.
#pragma once
#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "firmware_markers/device/profiler.hpp"
#include "firmware_markers/frame.hpp"
#include "firmware_markers/layout.hpp"
#include "tests/sim/fiber.hpp"
#include "tests/sim/history.hpp"
#include "tests/sim/sim_marker.hpp"

namespace ttc::sim {

struct RecycledOptions {
  unsigned generation = 4;
  uint32_t log_words = 1200;
  uint32_t launches = 50;
  uint32_t zones = 6;            // of a RISC in a launch, at most
  unsigned sit_out_percent = 0;  // RISCs that take no part in a launch
  unsigned skip_percent = 0;     // launches that are not for this core
  bool payload = false;
  uint64_t landing_ns = 0;   // a piece of 16 bytes takes up to so long (the drain assumes 45 us)
  uint64_t late_ns = 0;      // likewise, of what is pushed around a store of ours (the protocol: in 1 ms)
  bool caches = false;       // loads of the vector may be served from a line read earlier
  bool stale_log = true;     // frames of an earlier session lie in the log
  int quick_push_from = -1;  // NCRISC uses quick push from this launch on
  uint64_t seed = 1;
  uint32_t longest_frame() const { return device::kFirstCustomWord + (payload ? 8 : 4) * zones; }
};

// splitmix64. A world lasts a millisecond and draws thousands of numbers: a Mersenne twister takes a third of
// that.
class Dice {
 public:
  explicit Dice(uint64_t seed) : state_(seed) {}
  uint64_t operator()() {
    uint64_t z = state_ += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }

 private:
  uint64_t state_;
};

// A marker that was stored and pushed. By time first, in which they nearly are.
class RecycledCore {
 public:
  static constexpr uint32_t kControl = 0xB00, kRiscs = 3, kGranule = 4;
  static constexpr uint64_t kPushWithinNs = 4'000;  // of the index; with what landing takes, below 45 us
  static constexpr uint32_t kDramBase = 0x20, kFlatId = 1, kCoresPerBank = 8;
  virtual ~RecycledCore() = default;

  explicit RecycledCore(const RecycledOptions& o)
      : o_(o), dice_(o.seed), layout_(markers::layout_by_generation(o.generation)) {
    for (auto& lane : log_) lane.assign(o.log_words, 0);
    owner_.fill(-1);
  }

  // Makes `accesses` accesses of the firmware, or stops when all launches are over. No launch behind `until` begins.
  void step(uint64_t accesses, uint32_t until = ~0u) {
    budget_ = accesses;
    until_ = until;
    while (budget_ > 0 && !over_) fiber_->resume();
  }
  // Until a launch is over.
  void finish_launch() {
    budget_ = ~uint64_t{0};
    stop_behind_launch_ = true;
    until_ = ~0u;
    if (!over_) fiber_->resume();
    stop_behind_launch_ = false;
  }
  bool over() const { return over_; }
  bool in_launch() const { return in_launch_; }
  uint32_t begun() const { return begun_; }
  uint64_t accesses() const { return accesses_; }
  uint64_t now() const { return now_; }
  // Time without the firmware. A core is held up anywhere but between the index it has stored and the push
  // that follows within nanoseconds: what the drain assumes of words announced for so long rests on that.
  void pass(uint64_t ns) {
    constexpr int kAccessesOfAPush = 16;
    for (int i = 0; i < kAccessesOfAPush && announced_ns_ && now_ + ns > announced_ns_ + kPushWithinNs; ++i)
      step(1, until_);
    now_ += ns;
  }
  void around_store(bool yes) { around_store_ = yes; }
  const markers::Layout& layout() const { return *layout_; }
  uint32_t index_of(uint32_t risc) const { return control_[layout_->format.host_end + risc]; }
  uint32_t highest_index() const {
    return *std::max_element(control_.begin() + layout_->format.host_end,
                             control_.begin() + layout_->format.host_end + kRiscs);
  }
  const std::vector<SimMarker>& truth() const { return truth_; }
  uint32_t runs() const { return control_[layout_->format.run_counter]; }
  bool wrote_outside() const { return outside_; }
  bool dropped() const { return control_[layout_->format.dropped] != 0; }

  // The observer's side.
  uint32_t control_word(uint32_t word) const { return control_[word]; }
  uint32_t buffer_word(uint32_t word) const { return buffer_[word]; }
  void clear_word(uint32_t word) { control_[word] = 0; }
  uint32_t log_word(uint32_t risc, uint32_t word) {
    land(now_);
    return risc < kRiscs && word < o_.log_words ? log_[risc][word] : 0;
  }
  void land_all() { land(~uint64_t{0}); }
  // Rewrites the vector as tt-metal does after reading results. Everything in the log counts as taken by the host.
  void host_reset() {
    const device::Format& f = layout_->format;
    for (uint32_t w = 0; w < f.control_words; ++w) {
      const bool kept = w == f.flat_id || w == f.core_count_per_dram || w == f.dram_address;
      const bool address =
          w >= f.risc_dram_address && w < f.risc_dram_address + uint32_t{f.risc_dram_address_count};
      if (!kept) control_[w] = address ? kDramBase : 0;
    }
    cached_.fill(false);
  }

 protected:
  void access() {
    ++accesses_;
    now_ += 5;
    if (budget_ > 0) --budget_;
    if (budget_ == 0) fiber_->yield();
  }
  void land(uint64_t until) {
    size_t kept = 0;
    for (Piece& p : under_way_) {
      if (p.due > until) {
        under_way_[kept++] = p;
        continue;
      }
      for (uint32_t w = 0; w < p.words; ++w) log_[p.risc][p.at + w] = p.value[w];
    }
    under_way_.resize(kept);
  }

  struct Piece {
    uint64_t due;
    uint32_t risc, at, words;
    std::array<uint32_t, kGranule> value;
  };
  struct Stored {
    SimMarker marker;
    bool pushed = false;
  };

  RecycledOptions o_;
  Dice dice_;
  const markers::Layout* layout_;
  std::unique_ptr<Fiber> fiber_;
  uint64_t budget_ = 0, accesses_ = 0;
  uint64_t now_ = 1'000'000'000'000;
  bool over_ = false, in_launch_ = false, stop_behind_launch_ = false, around_store_ = false,
       outside_ = false;
  uint32_t begun_ = 0, until_ = ~0u;
  uint64_t announced_ns_ = 0;  // when an index was stored whose frame is not pushed yet; 0: there is none
  std::array<uint32_t, 96> control_{};
  std::array<uint32_t, 96> cache_{};
  std::array<bool, 96 / kGranule> cached_{};
  std::array<uint32_t, device::kMaxRiscs * device::kBufferWords + 16> buffer_{};
  std::array<int, device::kMaxRiscs * device::kBufferWords + 16> owner_;
  std::array<std::vector<uint32_t>, kRiscs> log_;
  std::vector<Piece> under_way_;
  std::vector<Stored> stored_;
  std::vector<SimMarker> truth_;
};

template <const device::Format& F>
class RecycledCoreOf : public RecycledCore {
 public:
  explicit RecycledCoreOf(const RecycledOptions& o) : RecycledCore(o) {
    for (uint32_t r = 0; r < kRiscs; ++r) riscs_[r] = std::make_unique<Risc>(*this, r, 4 * o.log_words);
    control_[F.dram_address] = kDramBase;
    control_[F.flat_id] = kFlatId;
    control_[F.core_count_per_dram] = kCoresPerBank;
    fiber_ = std::make_unique<Fiber>([this] { body(); });
    if (o.stale_log) leave_a_session();
  }

  // --- Port
  static constexpr uint32_t control_address() { return kControl; }
  static constexpr uint32_t buffer_address() { return kControl + 4 * F.control_words; }
  uint32_t load(uint32_t address) {
    access();
    if (address >= buffer_address()) return buffer_[(address - buffer_address()) / 4];
    const uint32_t word = (address - control_address()) / 4;
    if (!o_.caches) return control_[word];
    const uint32_t line = word / kGranule;
    if (!cached_[line])
      std::copy_n(control_.begin() + line * kGranule, kGranule, cache_.begin() + line * kGranule);
    cached_[line] = true;
    return cache_[word];
  }
  void store(uint32_t address, uint32_t value) {
    access();
    if (address >= buffer_address()) {
      const uint32_t word = (address - buffer_address()) / 4;
      owner_[word] = -1;
      buffer_[word] = value;
      stored_at_ = word;
      return;
    }
    const uint32_t word = (address - control_address()) / 4;
    if (word >= F.host_end && word < F.host_end + device::kMaxRiscs && value > control_[word])
      announced_ns_ = now_;
    control_[word] = cache_[word] = value;
  }
  uint32_t clock_high() {
    access();
    return static_cast<uint32_t>(now_ >> 32);
  }
  uint32_t clock_low() {
    access();
    return static_cast<uint32_t>(now_);
  }
  void push(uint32_t risc, uint32_t words, uint32_t, uint32_t bank_offset) {
    access();
    announced_ns_ = 0;
    const uint32_t at = bank_offset / 4 % o_.log_words;
    for (uint32_t w = 0; w < words; w += kGranule) {
      const uint64_t within = around_store_ ? std::max(o_.late_ns, o_.landing_ns) : o_.landing_ns;
      Piece p{now_ + (within ? dice_() % within : 0), risc, at + w, std::min(kGranule, words - w), {}};
      for (uint32_t i = 0; i < p.words; ++i) p.value[i] = buffer_[risc * device::kBufferWords + w + i];
      // Writes of one core to one address arrive in their order, also where a lap of this short log takes less than landing.
      for (const Piece& earlier : under_way_)
        if (earlier.risc == risc && earlier.at < p.at + p.words && p.at < earlier.at + earlier.words)
          p.due = std::max(p.due, earlier.due);
      if (p.at + p.words <= o_.log_words)
        under_way_.push_back(p);
      else
        outside_ = true;  // over the next RISC's log
    }
    for (uint32_t w = 0; w < words; ++w) {
      const int owner = owner_[risc * device::kBufferWords + w];
      if (owner < 0 || stored_[static_cast<size_t>(owner)].pushed) continue;
      stored_[static_cast<size_t>(owner)].pushed = true;
      truth_.push_back(stored_[static_cast<size_t>(owner)].marker);
    }
    land(now_);
  }
  void wait_sent() { access(); }
  uint32_t noc_x() const { return 1; }
  uint32_t noc_y() const { return 2; }
  bool noc_busy() const { return false; }
  void recorded(uint32_t risc, uint32_t type, uint32_t id, uint64_t time, uint64_t a, uint64_t b) {
    // The word stored last is the marker's own, or the last of its payload.
    const uint32_t words = type == device::kTsData ? 4 : type == device::kTsData16B ? 6 : 2;
    owner_[stored_at_ + 1 - words] = static_cast<int>(stored_.size());
    stored_.push_back({{time & markers::kClockMask, risc, type, id, host_id_, {a, b}}, false});
  }

 private:
  using Risc = device::Profiler<RecycledCoreOf, F>;
  uint32_t below(uint32_t n) { return static_cast<uint32_t>(dice_() % n); }

  // What some earlier session left: a log full of frames of the same shape, all older.
  void leave_a_session() {
    const uint32_t launches = o_.launches;
    const uint64_t now = now_;
    now_ = now / 2;
    o_.launches = ~0u;
    while (highest_index() + 200 < o_.log_words) finish_launch();
    o_.launches = launches;
    land_all();
    const device::Format& f = layout_->format;
    for (uint32_t w = 0; w < f.control_words; ++w)
      if (w != f.flat_id && w != f.core_count_per_dram && w != f.dram_address) control_[w] = 0;
    cached_.fill(false);
    truth_.clear();
    begun_ = 0;
    now_ = now;
  }

  [[noreturn]] void body() {
    for (;;) {
      over_ = begun_ >= o_.launches;
      if (over_ || begun_ >= until_) {
        budget_ = 0;
        fiber_->yield();
        continue;
      }
      ++begun_;
      in_launch_ = true;
      if (o_.caches && below(8)) cached_.fill(false);  // mostly the core reads memory again, sometimes not
      launch();
      in_launch_ = false;
      if (stop_behind_launch_) fiber_->yield();
      for (uint32_t idle = below(12); idle > 0; --idle) access();
    }
  }
  void launch() {
    host_id_ = ++launch_number_;
    const bool for_us = below(100) >= o_.skip_percent;
    riscs_[0]->open_launch();
    riscs_[0]->fw_start(kFw);
    riscs_[0]->take_launch(for_us, host_id_);
    if (for_us) {
      for (uint32_t r = kRiscs - 1; r > 0; --r)
        if (below(100) >= o_.sit_out_percent) {
          riscs_[r]->fw_start(kFw + r);
          kernel(r);
          riscs_[r]->fw_end(kFw + r);
        }
      kernel(0);
    }
    riscs_[0]->fw_end(kFw, for_us);
    riscs_[0]->finish_launch();
  }
  void kernel(uint32_t r) {
    riscs_[r]->kernel_start(kKernel + r);
    for (uint32_t z = below(o_.zones + 1); z > 0; --z) {
      riscs_[r]->zone_start(kZone + r);
      if (o_.payload && below(2))
        riscs_[r]->data(kData + r, below(2) ? 0x8000000180000002u + host_id_ : dice_());
      riscs_[r]->zone_end(kZone + r);
    }
    if (r == 1 && o_.quick_push_from >= 0 && begun_ > static_cast<uint32_t>(o_.quick_push_from))
      riscs_[r]->quick_push(kQuick);
    riscs_[r]->kernel_end(kKernel + r);
  }

  std::array<std::unique_ptr<Risc>, kRiscs> riscs_;
  uint32_t stored_at_ = 0, host_id_ = 0, launch_number_ = 0;
};

inline std::unique_ptr<RecycledCore> make_recycled(const RecycledOptions& o) {
  if (o.generation == device::kG3.generation) return std::make_unique<RecycledCoreOf<device::kG3>>(o);
  return std::make_unique<RecycledCoreOf<device::kG4>>(o);
}

}  // namespace ttc::sim
