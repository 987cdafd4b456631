// The drain with recycling on, over a core that runs between any two of its loads and around its stores;
// and the check: what was pushed is delivered once, bit for bit, or is in a reported interval.
#pragma once
#include <array>
#include <cstdio>
#include <memory>
#include <set>
#include <sstream>
#include <string>

#include "collector/drain/drain.hpp"
#include "tests/sim/recycled_core.hpp"
#include "tests/sim/ring_reading.hpp"
#include "tests/support/fake_card.hpp"

namespace ttc::sim {

// What the world does at the points where something can happen. Defaults: nothing happens while it is looked
// at.
class World {
 public:
  virtual ~World() = default;
  struct Step {
    uint64_t accesses = 0;  // of the firmware
    uint64_t ns = 0;        // that pass without it
  };
  virtual Step before_load() { return {}; }
  virtual Step before_store() { return {}; }    // between the poll it rests on and the store
  virtual Step between_stores() { return {}; }  // of one clear
  virtual bool sixteen_at_once() { return true; }
  virtual Step between_looks(bool recycling) { return {recycling ? 0u : 400u, 0}; }
  virtual bool whole_launches() { return false; }  // between polls, while nothing is recycled
};

struct RecycleTotals {
  uint64_t runs = 0, equal = 0, recycles = 0, slow = 0, provisional = 0, withdrawn = 0, surprises = 0,
           lossy = 0, rewound = 0, found_again = 0, never_found = 0, recovered = 0, silent = 0, needless = 0,
           missing_launches = 0;
  std::array<uint64_t, static_cast<size_t>(collect::Verdict::kinds)> verdicts{};
  void add(const collect::RecycleAccount& a) {
    recycles += a.recycles, slow += a.slow, provisional += a.provisional, withdrawn += a.withdrawn;
    surprises += a.surprises, found_again += a.found_again, rewound += a.rewound, recovered += a.recovered;
    missing_launches += a.missing_launches;
    for (size_t v = 0; v < verdicts.size(); ++v) verdicts[v] += a.verdicts[v];
  }
  uint64_t of(collect::Verdict v) const { return verdicts[static_cast<size_t>(v)]; }
  std::string text() const {
    std::ostringstream out;
    out << runs << " runs, " << equal << " equal, " << lossy << " with reported loss, " << needless
        << " of them needless, " << silent << " silent; " << recycles << " recycles (" << slow << " slow, "
        << surprises << " surprises, " << found_again << " found again, " << never_found << " never, "
        << rewound << " cut short by the host): lanes";
    for (size_t v = 1; v < verdicts.size(); ++v)
      out << (v > 1 ? ", " : " ") << collect::to_string(static_cast<collect::Verdict>(v)) << " "
          << verdicts[v];
    out << "; " << recovered << " frames recovered, " << provisional << " provisional, " << withdrawn
        << " withdrawn; " << missing_launches << " runs missing by count";
    return out.str();
  }
};

class Recycled : public RingReading {
 public:
  struct Options {
    RecycledOptions core;
    collect::RecycleLimits limits = small_log();
    double at = 0.4;
    bool blackhole = false;
    uint32_t hold_at_percent = 55;  // of a log: no more launches until it was emptied; 100: never
    int host_reset_at_launch = -1;
    bool within_bound = true;  // of what may come between a store and the end of its recycle
  };

  // The log is short, and so are its frames.
  static collect::RecycleLimits small_log() {
    collect::RecycleLimits limits;
    limits.any_moment_fill = 0.5;
    limits.rest_ns = 100'000;
    limits.keep_clear_words = 140;
    return limits;
  }

  Recycled(Shared& shared, const Options& o, World& world)
      : RingReading(shared), o_(o), world_(world), core_(make_recycled(o.core)), card_(*this) {
    const device::Format& f = core_->layout().format;
    attachment_.layout = &core_->layout();
    attachment_.placement = markers::placement_for(o.blackhole ? "blackhole" : "wormhole_b0");
    attachment_.dram_base = RecycledCore::kDramBase;
    attachment_.core_count_per_dram = RecycledCore::kCoresPerBank;
    attachment_.mode_given = true;
    collect::AttachedCore core;
    core.at = {1, 2};
    core.flat_id = RecycledCore::kFlatId;
    core.control_address = RecycledCore::kControl;
    core.buffer_address = RecycledCore::kControl + 4u * f.control_words;
    attachment_.cores = {core};
    attachment_.clock = [this] { return core_->now(); };
    attachment_.begun_ns = attachment_.begun_cycles = core_->now();
  }

  // Empty if all is well. `totals` count the situations that occurred.
  std::string run(RecycleTotals& totals) {
    collect::Recycling::Options options;
    options.at = o_.at;
    options.limits = o_.limits;
    options.audit = [this](const std::string& line) {
      if (trace) std::printf("              audit: %s\n", line.c_str());
      audit_ += line.find(" clear ") != std::string::npos;
    };
    collect::Recycling recycling(
        std::make_unique<Writer>(*this, collect::Recycling::clearable(card_, attachment_)), options);
    collect::Publisher publisher(shared_.segment, 0, core_->layout().format.generation);
    const auto logs = collect::window_log_reader(card_);
    collect::DrainOptions drain_options;
    drain_options.bytes_per_risc = 4 * o_.core.log_words;
    drain_options.recycling = &recycling;
    drain_options.report = [this](const std::string& text) {
      if (trace) std::printf("           message: %s\n", text.c_str());
      reported_ += text + "\n";
    };
    collect::Drain drain(card_, attachment_, *logs, publisher, shared_.segment, drain_options);
    collect(drain, publisher);
    drain.close_account(false);
    read_ring(publisher);
    losses_ = pipeline_.losses();
    totals.add(recycling.account);
    totals.never_found += drain.not_recycled().size();
    ++totals.runs;
    if (audit_ != recycling.account.recycles) return "an audit line is missing";
    if (drain.recycling_under_way()) return "a recycle never ended";
    if (const std::string wrong = miscounted(recycling.account); !wrong.empty()) return wrong;
    return judge(totals);
  }
  const std::string& reported() const { return reported_; }
  RecycledCore& core() { return *core_; }
  bool trace = false;

 private:
  static constexpr uint64_t kLoadNs = 250;

  class TheCard : public card::FakeCard {
   public:
    explicit TheCard(Recycled& run)
        : FakeCard("sim", run.o_.blackhole ? "blackhole" : "wormhole_b0"), run_(run) {
      tiles_ = {{{1, 2}, card::TileKind::tensix, false}};
    }
    card::Access aim(card::Window window, card::Coord tile, uint64_t address) override {
      place(window, tile, address);
      return card::Access::ok;
    }
    card::Access copy(card::Window window, uint32_t offset, std::span<uint64_t> out) override {
      const bool dram = window == card::Window::payload;
      uint64_t address = base_of(window) + (offset & (card::kWindowBytes - 1));
      for (size_t i = 0; i < out.size(); ++i, address += 8) {
        if (i == 0 || address % (4 * RecycledCore::kGranule) == 0)
          run_.happen(run_.world_.before_load(), kLoadNs);
        run_.core_->around_store(false);
        out[i] = dram ? run_.log_words(address) : run_.l1_words(static_cast<uint32_t>(address));
      }
      return card::Access::ok;
    }
    card::Access wall_clock(card::Coord, uint64_t& cycles) override {
      cycles = run_.core_->now();
      return card::Access::ok;
    }

   private:
    Recycled& run_;
  };

  class Writer : public card::IndexWriter {
   public:
    Writer(Recycled& run, std::vector<card::ClearableWords> places)
        : IndexWriter(std::move(places)), run_(run) {}
    card::Access clear(size_t place, uint32_t mask) override {
      if (!may_clear(place, mask)) return card::Access::refused;
      const uint32_t first = (places()[place].address - RecycledCore::kControl) / 4;
      run_.core_->around_store(true);
      run_.recycling_ = true;
      run_.begun_at_store_ = run_.core_->begun();
      run_.happen(run_.world_.before_store(), 0);
      bool at_once = run_.world_.sixteen_at_once();
      for (uint32_t w = 0; mask >> w; ++w) {
        if (!(mask >> w & 1)) continue;
        run_.core_->clear_word(first + w);
        if (!at_once || w >= 3) run_.happen(run_.world_.between_stores(), 0);
      }
      return card::Access::ok;
    }

   private:
    Recycled& run_;
  };

  void happen(const World::Step& step, uint64_t least_ns) {
    core_->pass(least_ns + step.ns);
    if (step.accesses && !held()) core_->step(step.accesses, last_launch());
  }
  // A workload that waits a while for its log to be read, between launches.
  bool held() {
    const bool full = core_->highest_index() * 100 >= o_.core.log_words * o_.hold_at_percent;
    if (!full) held_since_ = looks_;
    return full && !core_->in_launch() && looks_ < held_since_ + kPatientLooks;
  }
  static constexpr uint64_t kPatientLooks = 40;
  // The bounds of the protocol: the log is not filled between two polls, and the new lap does not reach what
  // was not read before the store.
  uint32_t last_launch() const {
    if (!o_.within_bound) return ~0u;
    const auto unread_from = static_cast<uint32_t>(o_.limits.least_fill * o_.core.log_words);
    const uint32_t crossing = std::max(2u, unread_from / o_.core.longest_frame()) - 1;
    return recycling_ ? begun_at_store_ + crossing : begun_at_look_ + kRunsInLook;
  }
  static constexpr uint32_t kRunsInLook = 4;

  void collect(collect::Drain& drain, collect::Publisher& publisher) {
    bool reset = o_.host_reset_at_launch < 0;
    while (!core_->over() && fault_.empty()) {
      if (world_.whole_launches() && !drain.recycling_under_way()) core_->finish_launch();
      happen(world_.between_looks(drain.recycling_under_way()), 0);
      if (!reset && static_cast<int>(core_->begun()) >= o_.host_reset_at_launch &&
          drain.recycling_under_way()) {
        core_->finish_launch();
        core_->pass(1'000'000);  // the host reads when its programs are through and their frames are there
        core_->land_all();
        core_->host_reset();
        reset_ns_ = core_->now();
        reset = true;
      }
      look(drain, publisher);
    }
    core_->land_all();
    for (uint32_t quiet = 0; quiet < kQuietLooks && fault_.empty();) {
      core_->pass(1'000'000);
      look(drain, publisher);
      quiet = drain.recycling_under_way() ? 0 : quiet + 1;
    }
  }
  void look(collect::Drain& drain, collect::Publisher& publisher) {
    if (const uint64_t due = drain.next_due_ns(); due > core_->now()) core_->pass(due - core_->now());
    const uint64_t frames = drain.frames();
    begun_at_look_ = core_->begun();
    drain.sweep(core_->now());
    recycling_ = drain.recycling_under_way();
    if (drain.frames() != frames) read_ring(publisher);
    if (++looks_ > 3'000) fault_ = "it does not end";
  }
  static constexpr uint32_t kQuietLooks = 40;

  uint64_t log_words(uint64_t address) {
    const uint64_t lane = (address - RecycledCore::kDramBase) / 4 / o_.core.log_words;
    const auto word = static_cast<uint32_t>((address - RecycledCore::kDramBase) / 4 % o_.core.log_words);
    const uint64_t first = uint64_t{RecycledCore::kFlatId} * device::kMaxRiscs;
    if (lane < first || lane >= first + RecycledCore::kRiscs) return 0;
    const auto risc = static_cast<uint32_t>(lane - first);
    return core_->log_word(risc, word) | uint64_t{core_->log_word(risc, word + 1)} << 32;
  }
  uint64_t l1_words(uint32_t address) const {
    const auto word = [&](uint32_t at) -> uint32_t {
      const uint32_t buffers = RecycledCore::kControl + 4u * core_->layout().format.control_words;
      if (at < RecycledCore::kControl) return 0;
      return at < buffers ? core_->control_word((at - RecycledCore::kControl) / 4)
                          : core_->buffer_word((at - buffers) / 4);
    };
    return word(address) | uint64_t{word(address + 4)} << 32;
  }

  // Within an epoch each lane's words follow one another without a gap.
  void saw_chunk(const shm::ChunkHeader& h) override {
    if (h.kind != shm::ChunkKind::device_words || !o_.limits.resolve || o_.host_reset_at_launch >= 0) return;
    for (const shm::SpanEntry& span : shm::spans_of(shared_.chunk)) {
      if (span.word_offset != stream_at_[span.risc] && broken_stream_.empty())
        broken_stream_ = "RISC " + std::to_string(span.risc) + ": words continue at " +
                         std::to_string(span.word_offset) + " instead of " +
                         std::to_string(stream_at_[span.risc]);
      stream_at_[span.risc] = span.word_offset + span.word_count;
    }
  }
  std::string judge(RecycleTotals& totals) {
    if (!fault_.empty()) return fault_;
    if (core_->wrote_outside()) return "a frame was written beyond its lane";
    std::vector<SimMarker> truth = core_->truth();
    const std::string wrong = delivered_once(truth);
    const std::vector<SimMarker> missing = missing_of(truth);
    if (trace) print_differences(missing);
    if (!wrong.empty()) return wrong;
    for (const SimMarker& d : missing)
      if (!inside_interval(d) && !in_blind_spot(d)) {
        ++totals.silent;
        return "missing outside every interval: " + text(d);
      }
    if (!broken_stream_.empty() && losses_.empty()) return broken_stream_;
    // Reported, so not silent; but nothing made it necessary.
    const bool bounded = o_.within_bound && o_.host_reset_at_launch < 0 && o_.core.quick_push_from < 0;
    if (bounded && !core_->dropped() && !losses_.empty()) {
      ++totals.needless;
      if (!o_.limits.resolve || o_.limits.grace_ns == 0)
        return "losses are reported although the log was never full: " + reported_;
    }
    totals.lossy += !losses_.empty();
    totals.equal += missing.empty() && losses_.empty();
    return {};
  }
  void print_differences(const std::vector<SimMarker>& missing) const {
    for (const SimMarker& d : missing) std::printf("              missing: %s\n", text(d).c_str());
    for (const shm::LossRecord& r : losses_)
      std::printf("              reported: RISC %u from %llu to %llu\n", r.risc,
                  static_cast<unsigned long long>(r.from_cycles),
                  static_cast<unsigned long long>(r.to_cycles));
  }
  // The account holds how many of the runs that the core has counted never came.
  std::string miscounted(const collect::RecycleAccount& account) const {
    if (o_.host_reset_at_launch >= 0) return {};  // the count began from 0
    std::set<uint32_t> runs;
    for (const SimMarker& d : delivered_)
      if (d.risc == 0) runs.insert(d.host_id);
    const uint64_t missing = core_->runs() - runs.size();
    if (missing == account.missing_launches) return {};
    return std::to_string(missing) + " runs did not come, " + std::to_string(account.missing_launches) +
           " are missing by the account";
  }
  bool in_blind_spot(const SimMarker& d) const {
    return reset_ns_ != 0 && d.time < reset_ns_ && d.time + 4'000'000 > reset_ns_;
  }
  Options o_;
  World& world_;
  std::unique_ptr<RecycledCore> core_;
  TheCard card_;
  collect::Attachment attachment_;
  std::array<uint32_t, device::kMaxRiscs> stream_at_{};
  std::string broken_stream_, reported_;
  bool recycling_ = false;
  uint32_t begun_at_store_ = 0, begun_at_look_ = 0;
  uint64_t reset_ns_ = 0;
  uint64_t audit_ = 0, looks_ = 0, held_since_ = 0;
};

}  // namespace ttc::sim
