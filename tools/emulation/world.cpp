#include "tools/emulation/world.hpp"

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "ttcollect/host_time.hpp"

namespace ttc::emulation {
namespace {

constexpr auto kStandingStep = std::chrono::microseconds(20);
constexpr uint64_t kPollsToAttach = 64;  // an observer reads a vector some dozen times before it collects
// Contradictions.
constexpr uint64_t kSlowResetNs = 700'000;
constexpr uint64_t kOverwriteEvery = 16;

}  // namespace

World::World(card::EmulatedCard& card, const WorldOptions& options, TruthLog& truth, TruthLog* unseen)
    : card_(card),
      clock_may_stand_(card.clock_may_stand()),
      options_(options),
      truth_(truth),
      placement_(*markers::placement_for(card.arch().name)),
      resets_(256, 0),
      polls_at_reset_(256, kPollsToAttach),
      recycled_(256 * device::kMaxRiscs, 0),
      pushed_(256 * device::kMaxRiscs, 0),
      unseen_(card, unseen),
      last_due_(256 * device::kMaxRiscs, 0),
      landing_dice_(options.faults.late_landing.seed),
      reset_dice_(options.faults.host_reset.seed) {
  draw_next_reset();
  if (!options_.mailbox) options_.mailbox = &markers::mailboxes().back();
  const auto views = static_cast<uint32_t>(card.dram_views().size());
  std::vector<card::Tile> tiles(card.tiles().begin(), card.tiles().end());
  if (options_.faults.is_unlike(Unlike::flat_id_order))
    std::stable_sort(tiles.begin(), tiles.end(),
                     [](const card::Tile& a, const card::Tile& b) { return a.at.y < b.at.y; });
  // Flat ids number all unharvested Tensix and all Ethernet tiles, x first (tt-metal llrt/tt_cluster.cpp).
  std::vector<WorldCore> all;
  unsigned ethernet = 0;
  const bool has_ethernet = options_.mailbox->ethernet_offset != 0;  // its place there is known
  for (const card::Tile& tile : tiles) {
    if (tile.harvested) continue;
    WorldCore core{tile.at, static_cast<uint8_t>(all.size())};
    if (tile.kind == card::TileKind::ethernet) {
      core.kind = markers::CoreKind::active_ethernet;
      if (ethernet >= options.ethernet && ethernet < options.ethernet + options.idle_ethernet)
        core.kind = markers::CoreKind::idle_ethernet;
      if (ethernet++ < options.ethernet + options.idle_ethernet && has_ethernet) ethernet_.push_back(core);
    }
    all.push_back(core);
  }
  cores_per_bank_ = (static_cast<uint32_t>(all.size()) + views - 1) / views;
  card_.set_log_geometry({0, 4u * format().control_words, placement_.dram_base, options.bytes_per_risc,
                          cores_per_bank_, 4u * format().host_end, device::kMaxRiscs});
  // The host prepares every core, whether it will run kernels or not.
  for (WorldCore& core : all) {
    if (core.kind != markers::CoreKind::tensix && !has_ethernet) continue;
    place(core);
    for (uint32_t r = 0; r < device::kMaxRiscs; ++r)
      card_.set_landed(core.flat_id * device::kMaxRiscs + r, 0, 0);
    write_initial_vector(core);
    prepared_.push_back(core);
    if (core.kind == markers::CoreKind::tensix) cores_.push_back(core);
  }
  for (WorldCore& core : ethernet_) core = all[core.flat_id];
}

// The address of the vector in this version's mailbox, and the magic word in front of it if it has one.
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

// What the host writes there: at device init, or when it has read results (tt-metal
// impl/profiler/profiler.cpp).
uint32_t World::vector_word(const WorldCore& core, uint32_t w, bool after_results_read) const {
  const device::Format& f = format();
  if (w == f.dram_address) return placement_.dram_base;
  if (w == f.flat_id) return core.flat_id;
  if (w == f.core_count_per_dram) return cores_per_bank_;
  if (w == f.dispatch_core && dispatch_.contains(core.flat_id)) return 1;
  // A results read also leaves the DRAM base in the per-RISC address words.
  const bool risc_address =
      w >= f.risc_dram_address && w < f.risc_dram_address + uint32_t{f.risc_dram_address_count};
  after_results_read |= options_.faults.is_unlike(Unlike::addresses_early);
  return after_results_read && risc_address ? placement_.dram_base : 0;
}

void World::write_initial_vector(const WorldCore& core) {
  for (uint32_t w = 0; w < format().control_words; ++w)
    card_.store(core.at, core.control_address + 4 * w, vector_word(core, w, false));
}

void World::unload() {
  land_all();
  for (const WorldCore& core : prepared_) {
    const uint32_t words = format().control_words + core.riscs * device::kBufferWords;
    const uint32_t magic = options_.mailbox->has_magic ? 4 : 0;
    for (uint32_t w = 0; w < magic + words; ++w)
      card_.store(core.at, core.control_address - 4 * magic + 4 * w, 0);
  }
}

void World::is_dispatch_core(const WorldCore& core) {
  if (options_.mode != device::Mode::accumulate || format().dispatch_core == 0) return;
  dispatch_.insert(core.flat_id);
  write_initial_vector(core);
}

void World::begin_reset(const WorldCore& core) {
  reset_ns_ = collect::raw_now_ns();
  polls_at_reset_[core.flat_id] = card_.control_reads(core.at);
  race_.reset(steps_);
  unseen_.strike(core.at, core.flat_id);
  unseen_.epoch_ends(core.flat_id);
  ++resets_[core.flat_id];
  std::erase_if(not_visible_, [&](const auto& word) { return word.first.first == core.flat_id; });
  for (uint32_t r = 0; r < device::kMaxRiscs; ++r) {
    const uint32_t lane = core.flat_id * device::kMaxRiscs + r;
    pushed_[lane] = 0;
    card_.set_landed(lane, lap(core.flat_id, r), 0);
  }
}

void World::write(const WorldCore& core, uint32_t from, uint32_t to) {
  const card::HostWrite under_way(card_);
  for (uint32_t w = from; w < to; ++w)
    card_.store(core.at, core.control_address + 4 * w, vector_word(core, w, true));
}

void World::host_reset(const WorldCore& core) {
  begin_reset(core);
  write(core, 0, format().control_words);
}

void World::results_read(const std::vector<WorldCore>& cores) {
  std::vector<WorldCore> some = cores;
  ++results_reads_;
  if (options_.faults.is_unlike(Unlike::reset_some_cores))
    std::erase_if(some, [&](const WorldCore& core) { return (core.flat_id + results_reads_) % 2 == 0; });
  const uint32_t words = format().control_words;
  const bool slow = options_.faults.is_unlike(Unlike::slow_reset);
  for (const WorldCore& core : some) {
    begin_reset(core);
    write(core, 0, slow ? words / 2 : words);
  }
  if (!slow) return;
  for (const uint64_t until = collect::raw_now_ns() + kSlowResetNs; collect::raw_now_ns() < until;)
    land_due();
  for (const WorldCore& core : some) {
    write(core, words / 2, words);
    unseen_.strike(core.at, core.flat_id);
  }
}

// --- posted writes

uint64_t World::landing_due(uint8_t flat_id, uint32_t risc) {
  const WorkloadFaults::LateLanding& late = options_.faults.late_landing;
  if (!late.on) return (announced_ns_ ? announced_ns_ : collect::raw_now_ns()) + options_.landing_ns;
  uint64_t& last = last_due_[flat_id * device::kMaxRiscs + risc];
  const uint64_t spread = late.max_ns > late.min_ns ? late.max_ns - late.min_ns : 0;
  return last = std::max(last, collect::raw_now_ns() + late.min_ns + landing_dice_() % (spread + 1));
}

void World::post(const WorldCore& core, uint32_t risc, uint64_t in_bank, std::vector<uint32_t> words,
                 uint32_t end_words, std::vector<TruthRecord> markers) {
  // A first run too long for its log, before G3, is pushed to the log's beginning and ends nothing.
  const uint32_t lane = core.flat_id * device::kMaxRiscs + risc;
  uint32_t& pushed = pushed_[lane];
  unseen_.pushed(lane, markers);
  if (race_.words_pushed(lane, end_words - static_cast<uint32_t>(words.size()), end_words, steps_))
    index_is_wrong(lane);
  if (card_.account().index_writes != 0 && end_words - words.size() < pushed) {
    ++recycled_[lane];
    pushed = 0;
    card_.set_landed(lane, lap(core.flat_id, risc), 0);
  }
  end_words = pushed = std::max(pushed, end_words);
  if (options_.faults.is_unlike(Unlike::log_overwritten) && ++posts_ % kOverwriteEvery == 0)
    in_bank -= in_bank % options_.bytes_per_risc;
  Posted p{core,
           risc,
           in_bank,
           std::move(words),
           end_words,
           lap(core.flat_id, risc),
           announced_ns_ ? announced_strikes_ : unseen_.strikes(core.flat_id),
           std::move(markers)};
  if (options_.faults.is_unlike(Unlike::split_markers)) {
    Posted odd = p;
    odd.odd_words_alone = true;
    land(odd);
    posted_.emplace(landing_due(core.flat_id, risc) + options_.split_ns, std::move(p));
  } else if (options_.landing_ns == 0 && !options_.faults.late_landing.on)
    land(p);
  else
    posted_.emplace(landing_due(core.flat_id, risc), std::move(p));
  announced_ns_ = 0;
  report_landing_due();
}

uint32_t World::load_own(const WorldCore& core, const card::TileMemory& l1, uint32_t address) const {
  const auto it = not_visible_.find({core.flat_id, address});
  return it != not_visible_.end() ? it->second : l1.load(address);
}

// Of the lane's epoch that has ended, what was not read before may be missing, and be taken for what the new one pushed.
void World::index_is_wrong(uint32_t lane) {
  ++index_races_;
  unseen_.lane_is_mixed(lane);
}

void World::store_index(const WorldCore& core, uint32_t risc, uint32_t address, uint32_t before,
                        uint32_t value) {
  const uint32_t lane = core.flat_id * device::kMaxRiscs + risc;
  if (race_.index_moves(lane, before, value, steps_)) index_is_wrong(lane);
  if (!options_.faults.is_unlike(Unlike::index_behind)) {
    announce_push(core);
    card_.store(core.at, address, value);
    return;
  }
  not_visible_[{core.flat_id, address}] = value;
  Posted p{core, risc, 0, {value}, 0, lap(core.flat_id, risc), 0, {}};
  p.index_at = address;
  posted_.emplace(collect::raw_now_ns() + options_.landing_ns + options_.index_behind_ns, std::move(p));
}

void World::land_index(const Posted& p) {
  if (p.lap != lap(p.core.flat_id, p.risc)) return;  // the host has rewritten the vector
  card_.store(p.core.at, p.index_at, p.words[0]);
  const auto it = not_visible_.find({p.core.flat_id, p.index_at});
  if (it != not_visible_.end() && it->second == p.words[0]) not_visible_.erase(it);
}

// The end of a launch moves the index first; the words are on their way from then on.
void World::announce_push(const WorldCore& core) {
  announced_ns_ = collect::raw_now_ns();
  announced_step_ = steps_;
  announced_strikes_ = unseen_.strikes(core.flat_id);
  report_landing_due();
}

void World::report_landing_due() {
  uint64_t due = posted_.empty() ? 0 : posted_.begin()->first;
  if (announced_ns_ && !options_.faults.late_landing.on) {
    const uint64_t announced = announced_ns_ + options_.landing_ns;
    due = due ? std::min(due, announced) : announced;
  }
  if (due != std::exchange(reported_due_ns_, due)) card_.set_landing_due(due);
}

void World::land(const Posted& p) {
  const uint8_t flat_id = p.core.flat_id;
  if (p.index_at != 0) return land_index(p);
  const uint32_t view = flat_id / cores_per_bank_;
  const uint64_t at = placement_.dram_base + p.in_bank;
  if (p.odd_words_alone) {
    std::vector<uint32_t> words = p.words;
    for (size_t i = 0; i < words.size(); i += 2) words[i] = card_.load_dram(view, at + 4 * i);
    return card_.store_dram(view, at, words);
  }
  card_.store_dram(view, at, p.words);
  if (p.lap == lap(flat_id, p.risc))
    card_.set_landed(flat_id * device::kMaxRiscs + p.risc, p.lap, p.end_words);
  unseen_.landed(p.core.at, flat_id, p.strikes, p.markers);
}

void World::land_due() {
  if (posted_.empty()) return;
  const uint64_t now = collect::raw_now_ns();
  while (!posted_.empty() && posted_.begin()->first <= now) {
    land(posted_.begin()->second);
    posted_.erase(posted_.begin());
  }
  report_landing_due();
}

void World::land_all() {
  for (const auto& [due, posted] : posted_) land(posted);
  posted_.clear();
  report_landing_due();
}

// --- steps

void World::eventful_step() {
  if (steps_++ == 0) reset_ns_ = collect::raw_now_ns();  // the first epoch lasts as long as the others
  if (announced_ns_ && steps_ - announced_step_ > IndexRace::kStepsToPush) {  // it was not for a push
    announced_ns_ = 0;
    report_landing_due();
  }
  if (step_cycles_ != 0) card_.advance_clock(step_cycles_);
  while (card_.clock_stands()) {
    land_due();  // what is under way does not need the cores' clock
    std::this_thread::sleep_for(kStandingStep);
  }
  land_due();
  if (rewritten_ != kNotRewriting)
    rewrite_words();
  else if (steps_ >= next_reset_step_)
    strike_of_host();
}

void World::draw_next_reset() {
  const WorkloadFaults::HostReset& f = options_.faults.host_reset;
  next_reset_step_ = ~uint64_t{0};
  if (f.every) next_reset_step_ = steps_ + 1 + reset_dice_() % (2 * f.every);
  if (f.at_step > steps_) next_reset_step_ = std::min(next_reset_step_, f.at_step);
}

// A clock that moves by what is done alone does not show how long an observer was kept waiting: there resets
// wait for its polls. (Ethernet cores are examined a few times a second only.)
bool World::looked_at_since_reset() const {
  constexpr uint64_t kPolls = 4;
  return card_.observers() == 0 || std::all_of(cores_.begin(), cores_.end(), [&](const WorldCore& core) {
           return core.kind != markers::CoreKind::tensix ||
                  card_.control_reads(core.at) >= polls_at_reset_[core.flat_id] + kPolls;
         });
}

bool World::long_enough_since_reset() const {
  const uint64_t apart_ns = options_.faults.host_reset.apart_ns;
  if (collect::raw_now_ns() < reset_ns_ + apart_ns) return false;
  return !options_.virtual_time || apart_ns == 0 || looked_at_since_reset();
}

bool World::host_may_reset() {
  while (rewritten_ != kNotRewriting) rewrite_words();
  return long_enough_since_reset();
}

// The host's write reaches the cores now, whatever they are doing.
void World::strike_of_host() {
  if (!long_enough_since_reset()) return;  // the next step checks again
  ++host_strikes_;
  draw_next_reset();
  if (options_.faults.host_reset.words_per_step != 0) {
    rewritten_ = 0;
    return;
  }
  results_read(cores_);
}

void World::rewrite_words() {
  const uint32_t words = format().control_words;
  for (uint64_t i = 0; i < options_.faults.host_reset.words_per_step; ++i, ++rewritten_) {
    if (rewritten_ == cores_.size() * words) {
      rewritten_ = kNotRewriting;
      return;
    }
    const WorldCore& core = cores_[rewritten_ / words];
    const auto word = static_cast<uint32_t>(rewritten_ % words);
    if (word == 0) begin_reset(core);
    race_.reset(steps_);
    card_.store(core.at, core.control_address + 4 * word, vector_word(core, word, true));
    if (word + 1 == words) unseen_.strike(core.at, core.flat_id);  // what began meanwhile is of neither epoch
  }
}

uint32_t World::words_pushed(uint8_t flat_id, uint32_t risc) const {
  return pushed_[flat_id * device::kMaxRiscs + risc];
}

uint32_t World::words_read(uint8_t flat_id, uint32_t risc) const {
  return card_.words_read(flat_id * device::kMaxRiscs + risc, lap(flat_id, risc));
}

}  // namespace ttc::emulation
