#include "driver_iface/kmd/kmd_card.hpp"

#include <time.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <utility>

#include "driver_iface/allow_list.hpp"
#include "driver_iface/card/wall_clock.hpp"
#include "driver_iface/kmd/kmd_copy.hpp"
#include "driver_iface/kmd/kmd_fault.hpp"
#include "driver_iface/kmd/kmd_open.hpp"
#include "driver_iface/kmd/kmd_tiles.hpp"
#include "driver_iface/kmd/reset_notice.hpp"

namespace ttc::card::kmd {
namespace {

constexpr uint64_t kSlowNs = 2'000'000;  // a block that takes longer than this and its lines is looked into
constexpr uint64_t kStallNs = 100'000'000;     // a block that takes longer can end the copy
constexpr uint64_t kCpuEveryNs = 1'000'000;    // how old a reading of this thread's CPU time may get
constexpr uint64_t kLineInLoads = 16;          // the most that a line may take, in register loads
constexpr uint64_t kAskEveryNs = 100'000'000;  // checks that the descriptor is still valid
constexpr uint32_t kTranslates = 1u << 14;     // in a network interface's configuration word

uint64_t now_ns(clockid_t clock = CLOCK_MONOTONIC) {
  timespec t{};
  clock_gettime(clock, &t);
  return static_cast<uint64_t>(t.tv_sec) * 1000000000u + static_cast<uint64_t>(t.tv_nsec);
}

// True also for a copy shorter than a line that is all ones.
bool holds_line_of_ones(std::span<const uint64_t> words) {
  const auto line = std::min<size_t>(words.size(), kLineBytes / 8);
  return std::search_n(words.begin(), words.end(), line, ~uint64_t{0}) != words.end();
}

std::string pci_address(const DeviceInfo& i) {
  char text[24];
  std::snprintf(text, sizeof text, "%04x-%02x-%02x.%x", i.pci_domain, i.bus_dev_fn >> 8,
                i.bus_dev_fn >> 3 & 31, i.bus_dev_fn & 7);
  return text;
}

// Listening continues while a reset is announced and no card is open, so that no card is opened during the reset.
class Awaited {
 public:
  void keep(std::shared_ptr<ResetNotice> notice) {
    const std::lock_guard lock(mutex_);
    notice_ = std::move(notice);
  }
  bool under_way() {
    const std::lock_guard lock(mutex_);
    if (notice_ && notice_->under_way()) return true;
    notice_.reset();
    return false;
  }

 private:
  std::mutex mutex_;
  std::shared_ptr<ResetNotice> notice_;
};
Awaited& awaited() {
  static Awaited one;
  return one;
}

class KmdCard : public Card {
 public:
  KmdCard(System& system, const std::string& spec, const OpenOptions& options)
      : system_(system),
        opened_(open_windows(system, spec, options)),
        arch_(*opened_->arch),
        timer_permitted_(options.reference_timer) {
    identity_.spec = spec;
    identity_.arch = &arch_;
    identity_.remarks = std::move(opened_->remarks);
    if (!card_answers())
      throw OpenError(
          spec +
          ": the card does not answer over PCIe (its node id reads as all-ones); the link is down "
          "or the card is being reset");
    tiles_ = std::make_unique<TileMap>(
        arch_, translates(), [this](Coord at, uint64_t address) { return identify_by(at, address); }, spec);
    line_allowance_ns_ = std::max(line_allowance_ns_, kLineInLoads * fastest_load_ns_);
    describe();
    sensors_ = sensors(system, opened_->node);
    std::string why;
    notice_ = ResetNotice::listen(system.notice_directory(), why);
    if (notice_) announced_at_open_ = notice_->announced();
    if (!why.empty()) identity_.remarks.push_back(why);
    copy_ = copy_of(widest_copy());
  }

  ~KmdCard() override {
    if (notice_ && notice_->under_way()) awaited().keep(notice_);
  }

  const Identity& identity() const override { return identity_; }
  // Who opened it first, of those who still have it: the workload, as far as is known.
  int workload_pid() override {
    const auto pids = holders(system_, opened_->node);
    return pids.empty() ? 0 : pids.back();
  }
  std::span<const Tile> tiles() const override { return tiles_->tiles(); }
  int hangup_fd() const override { return -1; }  // the driver's descriptors cannot be polled for a reset

  Access aim(Window window, Coord tile, uint64_t address) override {
    if (gone_) return Access::gone;
    Aimed& now = aimed_[static_cast<size_t>(window)];
    if (now.valid && now.tile == tile && now.reach.base == (address & ~(kWindowBytes - 1))) return Access::ok;
    const bool of_timer =
        (address & ~(kWindowBytes - 1)) == kTimerBlock && timer_readable(arch_, tile, kTimerLow);
    if (timer_permitted_ && of_timer) return aim_at_timer(window, tile, now);
    const auto verdict = reach_of(arch_, tile, tiles_->harvested(tile), address);
    const Reach* reach = std::get_if<Reach>(&verdict);
    if (!reach) return Access::refused;
    now.valid = false;
    if (const Access a = point(window, tiles_->aim_at(tile), reach->base); a != Access::ok) return a;
    now = {true, tile, *reach};
    return Access::ok;
  }

  Access load_registers(Window window, uint32_t offset, std::span<uint32_t> out) override {
    if (gone_) return Access::gone;
    const Aimed& at = aimed_[static_cast<size_t>(window)];
    if (!at.valid || at.reach.readable != 0) return Access::refused;
    for (size_t i = 0; i < out.size(); ++i)
      if (offset % 4 || !is_listed(at, at.reach.base + offset + 4 * i)) return Access::refused;
    for (uint32_t& value : out) {
      if (!load(opened_->window[static_cast<size_t>(window)].uncached + offset, value)) return lose();
      count_register();
      offset += 4;
    }
    return Access::ok;
  }

  Access copy(Window window, uint32_t offset, std::span<uint64_t> out) override {
    if (gone_) return Access::gone;
    const Aimed& at = aimed_[static_cast<size_t>(window)];
    if (!at.valid || offset % 8 || uint64_t{offset} + out.size_bytes() > at.reach.readable)
      return Access::refused;
    const MappedWindow& w = opened_->window[static_cast<size_t>(window)];
    // One line has no other to overlap with, and uncached memory is never stale.
    const bool streaming = w.combining && lines_touched(offset, out.size_bytes()) > 1;
    if (streaming) fence();
    const Access a = copy_blocks((streaming ? w.combining : w.uncached) + offset, offset, out);
    if (streaming) fence();
    return a;
  }

  Access one_load(Window window, Memory memory, uint32_t offset, std::span<uint32_t> out) override {
    if (gone_) return Access::gone;
    const Aimed& at = aimed_[static_cast<size_t>(window)];
    const MappedWindow& w = opened_->window[static_cast<size_t>(window)];
    const bool combining = memory == Memory::write_combined;
    const volatile uint8_t* from = combining ? w.combining : w.uncached;
    if (!from || !at.valid || !is_one_load(offset, out.size_bytes()) ||
        uint64_t{offset} + out.size_bytes() > at.reach.readable)
      return Access::refused;
    from += offset;
    ++transactions_.round_trips;
    transactions_.bytes += out.size_bytes();
    if (combining) fence();  // or what is measured is a line buffer
    const bool loaded = out.size() == 1 ? load_word(from, out[0]) : load_wide(from, out);
    if (combining) fence();
    return loaded ? Access::ok : lose();
  }

  Access wall_clock(Coord tile, uint64_t& cycles) override { return read_wall_clock(*this, tile, cycles); }

  Health health() override {
    if (gone_) return Health::gone;
    if (const uint64_t now = now_ns(); now >= ask_next_ns_) {
      ask_next_ns_ = now + kAskEveryNs;
      if (!descriptor_lives()) lose();
    }
    if (gone_) return Health::gone;
    return notice_ && notice_->announced() != announced_at_open_ ? Health::leaving : Health::ok;
  }

  uint64_t line_allowance_ns() const override { return line_allowance_ns_; }
  Health check() override {
    if (!gone_ && (!card_answers() || !descriptor_lives())) lose();
    return health();
  }

  Coord noc_place(Coord tile) const override { return tiles_->aim_at(tile); }
  unsigned memory_numberings() const override { return tiles_->memory_numberings(); }
  void use_memory_numbering(unsigned way) override {
    tiles_->use_memory_numbering(way);
    for (Aimed& at : aimed_) at.valid = false;
  }

  std::optional<DescriptorRange> descriptor_range(Coord, uint64_t, uint32_t) override { return std::nullopt; }
  Access release(const DescriptorRange&, std::span<const uint64_t>) override { return Access::refused; }
  // What the driver publishes in the node's class directory and as sensors (hwmon: microwatts, thousandths of
  // a degree): a read of the chip, by the driver.
  Telemetry telemetry() override {
    const auto number = [](const std::optional<std::string>& text) -> std::optional<long> {
      char* end = nullptr;
      const long value = text ? std::strtol(text->c_str(), &end, 10) : 0;
      return text && end != text->c_str() ? std::optional(value) : std::nullopt;
    };
    Telemetry t;
    if (const auto mhz = number(attribute(system_, opened_->node, "tt_aiclk")); mhz && *mhz > 0)
      t.aiclk_mhz = static_cast<uint32_t>(*mhz);
    if (sensors_.empty()) return t;
    if (const auto uw = number(system_.read_text(sensors_ + "/power1_input")); uw && *uw >= 0)
      t.power_mw = static_cast<uint32_t>(*uw / 1000);
    if (const auto mc = number(system_.read_text(sensors_ + "/temp1_input")))
      t.temperature_mc = static_cast<int32_t>(*mc);
    return t;
  }
  Transactions transactions() const override { return transactions_; }

 private:
  struct Aimed {
    bool valid = false;
    Coord tile;
    Reach reach;
  };

  // Reset or removed: everything is given back at once, so that no window or mapping of this process blocks what
  // comes next.
  Access lose() {
    gone_ = true;
    opened_->device.release();
    return Access::gone;
  }

  bool descriptor_lives() {
    DeviceInfo info;
    return opened_->device.device_info(info) == 0;
  }

  void count_register() {
    ++transactions_.round_trips;
    ++transactions_.register_loads;
    transactions_.bytes += 4;
  }

  bool load(const volatile uint8_t* at, uint32_t& value) {
    const auto* word = reinterpret_cast<const volatile uint32_t*>(at);
    return caught(at, 4, [this, word, &value] { value = system_.load(word); });
  }

  static bool load_word(const volatile uint8_t* at, uint32_t& value) {
    return caught(at, 4, [at, &value] { value = *reinterpret_cast<const volatile uint32_t*>(at); });
  }
  bool load_wide(const volatile uint8_t* at, std::span<uint32_t> out) const {
    uint64_t words[kLineBytes / 8];
    uint64_t* to = words;
    const Copy kernel = copy_;
    const auto* source = reinterpret_cast<const volatile uint64_t*>(at);
    const size_t count = out.size_bytes() / 8;
    if (!caught(at, out.size_bytes(), [kernel, to, source, count] { kernel(to, source, count); }))
      return false;
    std::memcpy(out.data(), words, out.size_bytes());
    return true;
  }

  // A load that needs neither window nor NoC: checks whether the link works.
  bool card_answers() {
    uint32_t id = ~0u;
    const bool loaded = load(opened_->node_id_page + arch_.bar0_node_id % kPageBytes, id);
    count_register();
    return loaded && id != ~0u;
  }

  // Blackhole's PCIe tile keeps its configuration beside its node id.
  bool translates() {
    if (arch_.name != "blackhole") return true;  // physical coordinates translate to themselves
    uint32_t config = 0;
    const auto at =
        (arch_.bar0_node_id - arch_.node_id_address % kPageBytes + kNiuConfig % kPageBytes) % kPageBytes;
    if (!load(opened_->node_id_page + at, config)) config = ~0u;
    count_register();
    return config & kTranslates;
  }

  bool is_listed(const Aimed& at, uint64_t address) const {
    return at.reach.base == kTimerBlock
               ? timer_readable(arch_, at.tile, address)
               : at.reach.base == kRegisterWindow && register_readable(arch_, address);
  }

  // Of the grid's two PCIe tiles the board uses one, which BAR0 names; the other is not aimed at.
  Access aim_at_timer(Window window, Coord tile, Aimed& now) {
    uint32_t id = ~0u;
    const bool loaded = load(opened_->node_id_page + arch_.bar0_node_id % kPageBytes, id);
    count_register();
    if (!loaded) return lose();
    if (tile != Coord{static_cast<uint8_t>(id & 0x3f), static_cast<uint8_t>(id >> 6 & 0x3f)})
      return Access::refused;
    now.valid = false;
    if (const Access a = point(window, tile, kTimerBlock); a != Access::ok) return a;
    now = {true, tile, {TileKind::pcie, kTimerBlock, 0}};
    return Access::ok;
  }

  Access point(Window window, Coord at, uint64_t base) {
    NocAim aim;
    aim.address = base;
    aim.x_end = at.x;
    aim.y_end = at.y;
    const int error = opened_->device.configure(opened_->window[static_cast<size_t>(window)].id, aim);
    if (error == -ENODEV) return lose();
    if (error) return Access::refused;
    fence();
    ++transactions_.window_moves;
    return Access::ok;
  }

  // While attaching: a register of what answers at a NoC coordinate.
  std::optional<uint32_t> identify_by(Coord at, uint64_t address) {
    if (gone_ || !identity_readable(arch_, at, address)) return std::nullopt;
    const uint64_t base = address & ~(kWindowBytes - 1);
    if (!(identifying_.valid && identifying_.tile == at && identifying_.reach.base == base)) {
      identifying_.valid = false;
      if (point(Window::control, at, base) != Access::ok) return std::nullopt;
      identifying_ = {true, at, {TileKind::none, base, 0}};
    }
    uint32_t value = 0;
    const uint64_t begun = now_ns();
    if (!load(opened_->window[static_cast<size_t>(Window::control)].uncached + (address - base), value)) {
      lose();
      return std::nullopt;
    }
    fastest_load_ns_ = std::min(fastest_load_ns_, now_ns() - begun);
    count_register();
    // Before anything else is read of a chip that may be in trouble.
    if (value == ~0u && !card_answers()) return std::nullopt;
    return value;
  }

  // A load that stalls holds the CPU; a thread that waits for one does not count.
  class Stopwatch {
   public:
    explicit Stopwatch(uint64_t now) { update(now); }
    void update(uint64_t now) {
      if (now - looked_ns_ < kCpuEveryNs) return;
      looked_ns_ = now;
      cpu_ns_ = now_ns(CLOCK_THREAD_CPUTIME_ID);
    }
    uint64_t busy_ns() const { return now_ns(CLOCK_THREAD_CPUTIME_ID) - cpu_ns_; }

   private:
    uint64_t looked_ns_ = 0, cpu_ns_ = 0;
  };

  // A block over kStallNs ends the copy when it holds a line of ones, or follows another such block: one
  // that brought its words was answered, and the time may be that of a CPU that the host of a virtual machine
  // took away, which the thread's CPU time can include. After a slow block the card's node id page is loaded once,
  // to check that the card still answers.
  Access copy_blocks(const volatile uint8_t* from, uint32_t offset, std::span<uint64_t> out) {
    const uint64_t slow = kSlowNs + kCopyBlockBytes / kLineBytes * line_allowance_ns_;
    bool asked = false, stalled = false;
    uint64_t begun = now_ns();
    transactions_.round_trips += lines_touched(offset, out.size_bytes());
    transactions_.bytes += out.size_bytes();
    while (!out.empty()) {
      cpu_time_.update(begun);
      // Blocks end where lines do, so that none is fetched twice.
      const size_t words = std::min<size_t>(out.size(), (kCopyBlockBytes - offset % kLineBytes) / 8);
      const auto* source = reinterpret_cast<const volatile uint64_t*>(from);
      uint64_t* to = out.data();
      const Copy kernel = copy_;
      if (!caught(from, 8 * words, [kernel, to, source, words] { kernel(to, source, words); })) return lose();
      const uint64_t now = now_ns();
      if (now - begun > slow && cpu_time_.busy_ns() > slow) {
        if (!std::exchange(asked, true) && check() == Health::gone) return Access::gone;
        const bool stalls = cpu_time_.busy_ns() > std::max(slow, kStallNs);
        if (stalls && (std::exchange(stalled, true) || holds_line_of_ones(out.first(words))))
          return Access::suspect;
      }
      begun = now;
      out = out.subspan(words);
      from += 8 * words;
      offset += static_cast<uint32_t>(8 * words);
    }
    return Access::ok;
  }

  void describe() {
    const Node& node = opened_->node;
    const auto text = [&](const char* name) { return attribute(system_, node, name); };
    const bool wormhole = arch_.name == "wormhole_b0";
    identity_.board = text("tt_card_type").value_or("unknown");
    const std::string asic = text("tt_asic_id").value_or("");
    const bool known =
        asic.find_first_not_of('0') != std::string::npos;  // all zeros: firmware was given none
    // The name is what the udev rule uses for the node in by-id.
    identity_.live_name =
        known ? (wormhole ? "wormhole-" : "blackhole-") + asic : "pci-" + pci_address(opened_->info);
    identity_.aiclk_mhz =
        static_cast<uint32_t>(std::strtoul(text("tt_aiclk").value_or("0").c_str(), nullptr, 10));
    if (identity_.aiclk_mhz == 0) {
      identity_.aiclk_mhz = wormhole ? 1000 : 1350;
      identity_.remarks.push_back("the card does not report its clock; " +
                                  std::to_string(identity_.aiclk_mhz) + " MHz, the nominal one, is assumed");
    }
    identity_.max_compute_cores =
        static_cast<uint32_t>(std::count_if(tiles().begin(), tiles().end(), [](const Tile& t) {
          return t.kind == TileKind::tensix && !t.harvested;
        }));
    identity_.dram_views = arch_.dram_views_without(tiles_->channels_off());
    identity_.workload_pid = KmdCard::workload_pid();
    identity_.remarks.insert(identity_.remarks.end(), tiles_->remarks().begin(), tiles_->remarks().end());
    if (identity_.board == "n300")
      identity_.remarks.push_back(
          "the second chip of an n300 is no PCI function: reading it takes writes to an Ethernet queue that "
          "the "
          "workload shares, so it is not collected. Instead: let the workload's own device log cover it, or "
          "record "
          "on the first chip over the fabric");
  }

  System& system_;
  std::string sensors_;  // directory
  std::unique_ptr<Opened> opened_;
  const Arch& arch_;
  Identity identity_;
  std::unique_ptr<TileMap> tiles_;
  std::shared_ptr<ResetNotice> notice_;
  uint64_t announced_at_open_ = 0;
  uint64_t ask_next_ns_ = 0;
  bool gone_ = false;
  uint64_t fastest_load_ns_ = ~uint64_t{0};
  uint64_t line_allowance_ns_ = Card::line_allowance_ns();
  Stopwatch cpu_time_{now_ns()};
  Copy copy_ = nullptr;
  const bool timer_permitted_;
  Aimed aimed_[kWindows];
  Aimed identifying_;
  Transactions transactions_;
};

}  // namespace

std::unique_ptr<Card> open_node(System& system, const std::string& spec, const OpenOptions& options) {
  if (awaited().under_way())
    throw OpenError(spec + ": a reset of this machine's cards was announced and is not over; --wait waits");
  return std::make_unique<KmdCard>(system, spec, options);
}

}  // namespace ttc::card::kmd
