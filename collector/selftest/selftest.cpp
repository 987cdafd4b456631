#include "collector/selftest/selftest.hpp"

#include <algorithm>
#include <cstdio>

#include "collector/selftest/chip_watch.hpp"
#include "collector/selftest/reset_watch.hpp"
#include "driver_iface/guarded_card.hpp"
#include "driver_iface/pci_functions.hpp"
#include "ttcollect/host_time.hpp"

namespace ttc::collect::selftest {
namespace {

using card::Access;

// Shares of the whole time.
constexpr uint64_t kGapsPercent = 5, kLinkPercent = 10, kCollectPercent = 20;
constexpr uint64_t kRoundNs = 20'000'000'000;               // clocks, logs and results reads in turn
constexpr uint64_t kShortRoundNs = 2'000'000'000;           // when the test ends with what is contradicted
constexpr uint64_t kClockRoundNs = 250'000'000;             // likewise, where there are only clocks to watch
constexpr uint64_t kClocksPercent = 40, kLogsPercent = 35;  // of a round; the rest is for results reads
constexpr size_t kMostTiles = 3;                            // on which the link is measured, until one serves
constexpr uint32_t kMostSamples = 100'000;                  // of a kind of load

bool is_emulated(const std::string& device) {
  return device.starts_with("emu:");
}

class Testing {
 public:
  explicit Testing(const Options& options) : options_(options) {}

  Result run() {
    const uint64_t begun = raw_now_ns();
    host_.watch_gaps(share(kGapsPercent));
    if (open()) {
      look_at_card();
      find_profiler();
      watch();
      close();
      collect();
    }
    result_.figures.host = host_.finish();
    result_.figures.seconds = static_cast<double>(raw_now_ns() - begun) / 1e9;
    result_.lines = judge(tallies_);
    return std::move(result_);
  }

 private:
  uint64_t share(uint64_t percent) const {
    const uint64_t whole =
        options_.until_contradicted ? std::min(options_.duration_ns, kShortRoundNs) : options_.duration_ns;
    return whole / 100 * percent;
  }
  Figures& figures() { return result_.figures; }

  bool open() {
    figures().device_kind = is_emulated(options_.device) ? "emulated card" : "card of the kernel driver";
    card::OpenOptions how;
    how.power_vote = false;
    how.reference_timer = options_.reference_timer;
    try {
      card_ = std::make_unique<card::GuardedCard>(card::open_card(options_.device, how));
    } catch (const card::NoWindowError& e) {
      tallies_.speaks_against(Id::two_windows, "none, or one, was left");
      figures().refused = "the card could not be opened, because no window is left";
      return false;
    }
    tallies_.agrees(Id::two_windows);
    return true;
  }

  void look_at_card() {
    const card::Identity& id = card_->identity();
    Figures& f = figures();
    f.arch = id.arch->name;
    f.board = id.board;
    f.aiclk_mhz = id.aiclk_mhz;
    f.banks = id.dram_views.size();
    f.numberings = card_->memory_numberings();
    f.telemetry_first = card_->telemetry();
    for (const card::Tile& tile : card_->tiles()) {
      if (tile.harvested)
        ++f.harvested;
      else if (tile.kind == card::TileKind::tensix)
        ++f.tensix, tiles_.push_back(tile.at);
      else if (tile.kind == card::TileKind::ethernet)
        ++f.ethernet;
    }
    if (!is_emulated(options_.device)) describe_driver();
    judge_fused_off(*card_, is_emulated(options_.device), tallies_);
    if (tallies_[Id::fused_off]
            .against) {  // a tile that is off must not be touched, and which one is off is not known
      f.refused = "no tile was touched: more or fewer are fused off than the board's name implies";
      tiles_.clear();
      return;
    }
    judge_node_ids(*card_, tallies_);
    // A host that was elsewhere in the middle of a load makes a tile look slow, and it is left alone for a while.
    for (size_t i = 0; i < std::min(tiles_.size(), kMostTiles) && !is_whole(f.link); ++i) {
      LinkFigures link = measure_link(*card_, tiles_[i], kMostSamples, share(kLinkPercent));
      if (link.loads.size() >= f.link.loads.size()) f.link = std::move(link);
    }
  }

  // What names no machine and no card.
  void describe_driver() {
    try {
      for (const card::PciFunction& f : card::tenstorrent_functions()) {
        if (f.node != options_.device && f.by_id != options_.device &&
            (!f.ordinal || std::to_string(*f.ordinal) != options_.device) &&
            "pci:" + f.bdf != options_.device)
          continue;
        figures().driver_version = f.driver_version;
        figures().firmware = f.firmware;
      }
    } catch (const card::InventoryError& e) {
      figures().remarks.emplace_back("driver and firmware versions: the PCI bus cannot be searched");
    }
  }

  void find_profiler() {
    if (tiles_.empty()) {
      figures().no_profiler = "no tile can be read";
      return;
    }
    try {
      attachment_ = attach(*card_, {});
      Figures& f = figures();
      f.layout = attachment_->layout->name;
      f.mode = markers::to_string(attachment_->mode);
      f.cores = attachment_->cores.size();
      for (const AttachedCore& core : attachment_->cores) {
        if (core.kind != markers::CoreKind::tensix) continue;
        char text[24];
        std::snprintf(text, sizeof text, "0x%X", core.control_address);
        f.control_at = text;
        break;
      }
      judge_flat_ids(*card_, *attachment_, tallies_);
    } catch (const AttachError&) {
      figures().no_profiler = "no profiler was found on the card: no workload runs with it";
    }
    judge_link(figures().link, attachment_ ? attachment_->cores.size() : tiles_.size(), tallies_);
  }

  // In rounds, so that both cover rare events.
  void watch() {
    if (tiles_.empty()) return;
    ClockWatch clocks(*card_, tiles_, tallies_);
    TimerWatch timer(*card_, tallies_);
    std::optional<LogWatch> logs;
    std::optional<ResetWatch> resets;
    if (attachment_) {
      logs.emplace(*card_, *attachment_, tallies_);
      resets.emplace(*card_, *attachment_, tallies_);
    }
    const bool until = options_.until_contradicted;
    const uint64_t end =
        raw_now_ns() + (until
                            ? options_.duration_ns
                            : share(100 - kGapsPercent - kLinkPercent - (attachment_ ? kCollectPercent : 0)));
    Access a = Access::ok;
    for (uint64_t now = raw_now_ns(); a != Access::gone && now < end; now = raw_now_ns()) {
      if (until && any_contradicted(judge(tallies_))) break;
      const uint64_t round = std::min(end - now, !until ? kRoundNs : logs ? kShortRoundNs : kClockRoundNs);
      timer.look();
      a = clocks.run(now + round * (logs ? kClocksPercent : 100) / 100);
      timer.look();
      if (a != Access::gone && logs) a = logs->run(round * kLogsPercent / 100);
      if (a != Access::gone && resets)
        a = resets->run(raw_now_ns() + round * (100 - kClocksPercent - kLogsPercent) / 100);
    }
    if (a != Access::gone) timer.look();
    figures().vanished = a == Access::gone;
    if (a == Access::gone && card_->health() == card::Health::gone) tallies_.agrees(Id::reset_cuts);
    figures().clock = clocks.finish();
    if (logs) figures().log = logs->finish();
  }

  void close() {
    figures().telemetry_last = card_->telemetry();
    figures().transactions = card_->transactions();
    card_.reset();
  }

  void collect() {
    if (!attachment_ || figures().vanished || !options_.collect) return;
    if (options_.until_contradicted) {
      figures().not_collected = "the test ends with what is contradicted";
      return;
    }
    figures().collected = options_.collect(share(kCollectPercent), figures().not_collected);
  }

  const Options& options_;
  Tallies tallies_;
  Result result_;
  HostWatch host_;
  std::unique_ptr<card::GuardedCard> card_;
  std::optional<Attachment> attachment_;
  std::vector<card::Coord> tiles_;  // Tensix
};

}  // namespace

Result run(const Options& options) {
  return Testing(options).run();
}

}  // namespace ttc::collect::selftest
