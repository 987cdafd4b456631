#include "collector/drain.hpp"

#include <algorithm>
#include <utility>

#include "collector/host_time.hpp"

namespace ttc::collect {
namespace {

using card::Access;
using card::Window;
using shm::Counter;
using shm::LossCause;

constexpr uint64_t kSatOutPatienceNs = 50'000'000;  // BRISC's frame of that launch was dropped, then
constexpr uint32_t kUnexplainedVisits = 3;
constexpr uint32_t kWitnessEvery = 16;  // quiet looks

uint64_t hash_words(std::span<const uint32_t> words) {
  uint64_t h = 0x9e3779b97f4a7c15;
  for (const uint32_t w : words) h = (h ^ w) * 0x100000001b3 + (h >> 29);
  return h;
}

constexpr uint64_t round8(uint64_t bytes) {
  return (bytes + 7) & ~uint64_t{7};
}

// Ethernet tiles may count from another origin.
card::Coord clock_tile(const Attachment& attachment) {
  for (const AttachedCore& core : attachment.cores)
    if (core.kind == markers::CoreKind::tensix) return core.at;
  return {};
}

std::span<const uint32_t> slot_words(const uint64_t* slot, uint32_t byte_offset, uint32_t words) {
  return {reinterpret_cast<const uint32_t*>(slot) + byte_offset / 4, words};
}

}  // namespace

// Collects what verified frames say, to be applied only when they are accepted.
class Drain::Judge {
 public:
  // `landed_words`: of the words being verified, so many were announced long enough ago to be there.
  // `old_host`: what stood in the first frame's host id word before it was announced.
  Judge(std::span<const uint32_t> known_hosts, bool patience_over, size_t landed_words,
        std::optional<uint32_t> old_host)
      : known_hosts_(known_hosts),
        patience_over_(patience_over),
        landed_words_(landed_words),
        old_host_(old_host) {}

  // Every RISC's frame of a launch carries BRISC's host id.
  bool sat_out_ok(uint32_t host_id) const {
    return patience_over_ ||
           std::find(known_hosts_.rbegin(), known_hosts_.rend(), host_id) != known_hosts_.rend();
  }
  bool take(const markers::VerifiedFrame& frame) {
    if (first_end == 0) first_end = frame.end;
    const bool unproven = frame.has_payload || frame.sat_out;
    unproven_seen = unproven_seen || unproven;
    // An older frame of the lane may have stood at the same place: of the head, only the host id shows that.
    const bool head_landed = old_host_ && *old_host_ != frame.words[device::kIdHost];
    ids_repeat = ids_repeat || (old_host_ && !head_landed);
    old_host_.reset();
    if ((unproven || !head_landed) && frame.end > landed_words_) return false;
    hosts.push_back(frame.words[device::kIdHost]);
    if (frame.sat_out) return true;
    if (frame.words[device::kFwEndWord] != device::kUnsetWord)
      ++finished_runs;
    else
      pushed_early = true;
    if (!fresh_seen) first_fresh.assign(frame.words.begin(), frame.words.end());
    fresh_seen = true;
    return true;
  }

  std::vector<uint32_t> hosts;
  uint32_t finished_runs = 0;
  size_t first_end = 0;  // of the first frame that verified, whether it was taken or not
  bool pushed_early = false;
  bool fresh_seen = false;
  bool unproven_seen = false;  // words that time and valid bits cannot vouch for
  bool ids_repeat = false;     // a launch has the id of the one that stood at its place before
  std::vector<uint32_t> first_fresh;

 private:
  std::span<const uint32_t> known_hosts_;
  bool patience_over_;
  size_t landed_words_;
  std::optional<uint32_t> old_host_;
};

Drain::Drain(card::Card& card, const Attachment& attachment, LogReader& logs, Publisher& publisher,
             shm::SegmentWriter& segment, const DrainOptions& options, Carried carried)
    : card_(card),
      attachment_(attachment),
      logs_(logs),
      publisher_(publisher),
      segment_(segment),
      options_(options),
      region_size_(attachment, options.bytes_per_risc, card.memory_numberings()),
      losses_([this](const shm::LossRecord& r) { untold_losses_.push_back(r); }, std::move(carried.lost)),
      device_time_(card, clock_tile(attachment), attachment.begun_ns, attachment.begun_cycles,
                   attachment.clock),
      mode_settled_(attachment.mode_given || attachment.layout->format.trace_status == 0) {
  const device::Format& f = attachment.layout->format;
  // RUN_COUNTER is fetched first: indices read after it cannot lag behind it.
  const auto part = [](uint32_t first, uint32_t last) {
    const uint32_t begin = first & ~1u;
    return ControlPart{begin, ((last + 2) & ~1u) - begin};
  };
  const uint32_t last_index = f.host_end + device::kMaxRiscs - 1u;
  if (f.run_counter - last_index < 2 * card::kLineBytes / 4 / 2)
    poll_parts_ = {part(f.host_end, f.run_counter)};
  else
    poll_parts_ = {part(f.run_counter, f.run_counter), part(f.host_end, last_index)};
  dropped_part_ = part(f.dropped, f.dropped);
  if (f.risc_dram_address_count)
    host_read_part_ = part(f.risc_dram_address, f.risc_dram_address + f.risc_dram_address_count - 1u);
  for (const AttachedCore& core : attachment.cores) {
    CoreState state;
    state.core = core;
    state.caught_up_ns = state.look_ns = attachment.begun_ns;
    state.epoch = carried.first_epoch;
    state.runs_total = carried.programs;
    if (carried.first_epoch) state.notes |= shm::kNewEpoch;
    for (uint8_t r = 0; r < device::kMaxRiscs; ++r)
      state.lanes[r].lane = {&f, r, core.flat_id, mode_of(state)};
    cores_.push_back(std::move(state));
  }
  programs_ = carried.programs;
  markers_ = carried.markers;
  frames_ = carried.frames;
  epochs_ = carried.epochs;
  retries_ = carried.retries;
  sweeps_ = carried.sweeps;
  recovered_words_ = carried.recovered_words;
  unparsable_words_ = carried.unparsable_words;
  dropped_runs_ = carried.dropped_runs;
  earlier_transactions_ = carried.transactions;
  segment_.set(Counter::cores, cores_.size());
}

Carried Drain::carry() const {
  Carried c{0,       programs_,        markers_,          frames_,       epochs_ + 1,         retries_,
            sweeps_, recovered_words_, unparsable_words_, dropped_runs_, losses_.intervals(), transactions()};
  for (const CoreState& core : cores_) c.first_epoch = std::max(c.first_epoch, core.epoch + 1);
  return c;
}

card::Transactions Drain::transactions() const {
  card::Transactions t = card_.transactions();
  t.round_trips += earlier_transactions_.round_trips;
  t.bytes += earlier_transactions_.bytes;
  t.window_moves += earlier_transactions_.window_moves;
  t.register_loads += earlier_transactions_.register_loads;
  t.transport_ns += earlier_transactions_.transport_ns;
  return t;
}

LossAccount::Where Drain::where(const CoreState& core, uint32_t risc) const {
  return {core.core.at.x, core.core.at.y, static_cast<uint8_t>(risc), core.epoch};
}

uint64_t Drain::log_address(const CoreState& core, uint32_t risc, uint32_t word) const {
  return markers::log_place(core.core.flat_id, risc, attachment_.core_count_per_dram, attachment_.dram_base,
                            region_size_.bytes())
             .address +
         uint64_t{word} * 4;
}

// --- looking at the control vector
// ---------------------------------------------------------------------------

Access Drain::read_part(const CoreState& core, const ControlPart& part, uint32_t* words) {
  std::array<uint64_t, 32> raw;
  const uint32_t address = core.core.control_address + 4 * part.first_word;
  Access a = card_.aim(Window::control, core.core.at, address);
  if (a == Access::ok)
    a = card_.copy(Window::control, address & (card::kWindowBytes - 1), {raw.data(), part.words / 2});
  const auto* from = reinterpret_cast<const uint32_t*>(raw.data());
  if (a == Access::ok) std::copy_n(from, part.words, words + part.first_word);
  return a;
}

Access Drain::read_snapshot(const CoreState& core, Snapshot& snap) {
  std::array<uint32_t, 68> words{};
  snap.read_time_ns = attachment_.clock();
  for (const ControlPart& part : poll_parts_)
    if (const Access a = read_part(core, part, words.data()); a != Access::ok) return a;
  const device::Format& f = attachment_.layout->format;
  std::copy_n(words.begin() + f.host_end, device::kMaxRiscs, snap.host_end.begin());
  snap.run_counter = words[f.run_counter];
  // Neither an index nor a count of runs gets there: the tile does not answer.
  const bool silent = snap.run_counter == ~0u || std::count(snap.host_end.begin(), snap.host_end.end(), ~0u);
  return silent ? card_.doubt(core.core.at) : Access::ok;
}

bool Drain::rewound(const CoreState& core, const Snapshot& snap) const {
  if (snap.run_counter < core.seen_runs) return true;
  for (uint32_t r = 0; r < device::kMaxRiscs; ++r)
    if (snap.host_end[r] < core.seen_end[r]) return true;
  return false;
}

bool Drain::has_news(const CoreState& core, const Snapshot& snap) const {
  if (snap.run_counter != core.run_counter) return true;
  for (uint32_t r = 0; r < device::kMaxRiscs; ++r)
    if (snap.host_end[r] > core.lanes[r].cursor) return true;
  return false;
}

// Replays are recorded on Tensix cores only.
device::Mode Drain::mode_of(const CoreState& core) const {
  const bool elsewhere =
      attachment_.mode == device::Mode::trace_only && core.core.kind != markers::CoreKind::tensix;
  return elsewhere ? device::Mode::normal : attachment_.mode;
}

void Drain::caught_up(CoreState& core, const Snapshot& snap) const {
  core.caught_up_ns = snap.read_time_ns;
  core.caught_up_generation = reset_generation_;
}

Publisher::Core Drain::chunk_core(const CoreState& core, uint32_t run_counter, uint64_t read_time_ns,
                                  uint32_t notes) const {
  return {core.core.at.x, core.core.at.y, core.core.kind, mode_of(core), core.core.flat_id,
          core.epoch,     run_counter,    read_time_ns,   notes};
}

void Drain::note_indices(CoreState& core, const Snapshot& snap) const {
  core.seen_end = snap.host_end;
  core.seen_runs = snap.run_counter;
  core.recycling.referee.see(snap.run_counter);
  if (snap.read_time_ns < core.landing_since_ns + kLandedNs) return;
  core.landed_end = core.landing_end;
  core.landing_end = snap.host_end;
  core.landing_since_ns = attachment_.clock();
}

// Pushes that the reset caught under way land, and the host finishes its writing, before the new epoch is
// looked at.
void Drain::note_rewind(CoreState& core, bool long_ago) const {
  if (core.rewound_ns != 0) return;
  core.rewound_ns = attachment_.clock();
  core.rewound_after_ns = core.previous_look_ns;
  core.rewound_late = long_ago || core.looked_late || core.rewound_ns - core.look_ns > kBlindSpotNs;
}

// After the payload: one line, that of RUN_COUNTER, or of the indices where no run was recorded yet.
Access Drain::still_unrewound(const CoreState& core, const Snapshot& snap, bool& unrewound) {
  std::array<uint32_t, 68> words{};
  const device::Format& f = attachment_.layout->format;
  const bool by_runs = snap.run_counter != 0 && poll_parts_.size() > 1;
  const ControlPart& part = by_runs ? poll_parts_.front() : poll_parts_.back();
  if (const Access a = read_part(core, part, words.data()); a != Access::ok) return a;
  unrewound = true;
  if (by_runs || poll_parts_.size() == 1) unrewound = words[f.run_counter] >= snap.run_counter;
  if (!by_runs)
    for (uint32_t r = 0; r < device::kMaxRiscs; ++r)
      unrewound = unrewound && words[f.host_end + r] >= snap.host_end[r];
  return Access::ok;
}

// --- one visit
// -----------------------------------------------------------------------------------------------

std::vector<Drain::Fetched> Drain::plan(CoreState& core, const Snapshot& snap, uint64_t& bytes) const {
  std::vector<Fetched> fetched;
  const uint64_t room = (publisher_.max_chunk_bytes() - Publisher::kHeadBytes) / device::kMaxRiscs;
  // What takes longer than the blind spot is void: of a long backlog on a slow link, a part at a time.
  const uint64_t lines_in_time = kBlindSpotNs / 2 / std::max<uint64_t>(line_ns_, 1) / device::kMaxRiscs;
  const uint64_t in_time = std::max<uint64_t>(lines_in_time * card::kLineBytes / 4, 2 * device::kBufferWords);
  const auto most =
      static_cast<uint32_t>(std::min<uint64_t>((room - 3 * card::kLineBytes) / 4, in_time)) & ~3u;
  bytes = Publisher::kHeadBytes;
  for (uint32_t r = 0; r < device::kMaxRiscs; ++r) {
    LaneState& lane = core.lanes[r];
    // Where the word of the host id was not seen before, a frame is read once it has landed: not twice.
    const bool only_landed = (lane.careful || lane.waits || !lane.old_host) && lane.witness_words != 0;
    const uint32_t end = only_landed ? std::min(snap.host_end[r], core.landed_end[r]) : snap.host_end[r];
    if (end <= lane.cursor || end > log_capacity()) continue;  // an index beyond the log is no index
    // The words that share the first line come for nothing; BRISC fetches a line more where there are none.
    const auto in_line = static_cast<uint32_t>(log_address(core, r, lane.cursor) % card::kLineBytes / 4);
    uint32_t lead = std::min(in_line, lane.witness_words);
    if (r == 0 && lead < 4) lead = std::min(in_line + kWitnessWords, lane.witness_words);
    lead &= ~1u;
    const uint32_t words = std::min(end - lane.cursor, most);
    const bool cut = words < end - lane.cursor;
    const auto in_last_line = static_cast<uint32_t>(log_address(core, r, end) % card::kLineBytes / 4);
    const bool in_line_ahead = in_last_line != 0 && in_last_line + kHeadWords <= card::kLineBytes / 4;
    const uint32_t ahead = cut || !in_line_ahead || end + kHeadWords > log_capacity() ? 0 : kHeadWords;
    fetched.push_back({&lane, r, lead, words, ahead, cut, static_cast<uint32_t>(bytes + 4ull * lead)});
    bytes += round8(4ull * (lead + words + ahead));
  }
  return fetched;
}

// A load that was not answered. No four words of a frame are all-ones but those of one rare payload.
bool Drain::silent(std::span<const uint32_t> words) {
  return words.size() >= 4 && std::all_of(words.begin(), words.end(), [](uint32_t w) { return w == ~0u; });
}

Access Drain::doubt_bank(const CoreState& core) {
  return card_.doubt(card_.identity().dram_views[core.core.bank].endpoint);
}

bool Drain::witness_holds(const Fetched& f, const uint64_t* slot) const {
  const auto now = slot_words(slot, f.data_offset - 4 * f.lead, f.lead);
  const auto& then = f.lane->witness;
  return std::equal(now.begin(), now.end(), then.begin() + (f.lane->witness_words - f.lead));
}

void Drain::advance(LaneState& lane, std::span<const uint32_t> delivered,
                    const markers::FrameDigest& digest) {
  std::array<uint32_t, 2 * kWitnessWords> joined{};
  const auto fresh = delivered.last(std::min<size_t>(delivered.size(), kWitnessWords));
  std::copy_n(lane.witness.begin(), lane.witness_words, joined.begin());
  std::copy(fresh.begin(), fresh.end(), joined.begin() + lane.witness_words);
  const auto total = static_cast<uint32_t>(lane.witness_words + fresh.size());
  lane.witness_words = std::min(total, kWitnessWords);
  std::copy_n(joined.begin() + (total - lane.witness_words), lane.witness_words, lane.witness.begin());
  lane.cursor += static_cast<uint32_t>(delivered.size());
  lane.digest = digest;
  lane.delivered = true;
  lane.old_host.reset();
  lane.settled_words = 0;
  lane.stuck_since_ns = 0;
}

// Nothing of this epoch has been delivered that could bear witness: bytes of an earlier run could pass for
// new ones that have not landed. The first frame must look the same on two visits, far enough apart for what
// was under way.
bool Drain::settled(CoreState& core, LaneState& lane, std::span<const uint32_t> words,
                    uint64_t read_since_ns) {
  const uint32_t before = lane.settled_words;
  if (before != 0 && words.size() >= before && hash_words(words.first(before)) == lane.settled_hash)
    return read_since_ns >= lane.settled_since_ns + kLandedNs;
  // Another launch's frame where one stood: an epoch has ended in which nothing was taken. (Where nothing is
  // known it may have been one of an earlier session.)
  const uint64_t start = words.empty() ? 0 : markers::first_time(words, lane.digest.last_time);
  if (lane.digest.known && before != 0 && start != 0 &&
      markers::clock_difference(start, lane.settled_start) > 0)
    may_be_lost(core);
  lane.settled_start = start;
  lane.settled_since_ns = attachment_.clock();
  lane.settled_words = static_cast<uint32_t>(words.size());  // 0: none yet
  lane.settled_hash = hash_words(words);
  return false;
}

// The per-RISC DRAM address words are 0 until the host's first results read (format sheet 2): while they are,
// no epoch can have been missed.
bool Drain::host_has_read(const CoreState& core) {
  std::array<uint32_t, 68> words{};
  const device::Format& f = attachment_.layout->format;
  if (f.risc_dram_address_count == 0) return true;  // older firmware does not tell
  if (read_part(core, host_read_part_, words.data()) != Access::ok) return true;
  const auto first = words.begin() + f.risc_dram_address;
  return std::any_of(first, first + f.risc_dram_address_count, [](uint32_t w) { return w != 0; });
}

// Can an epoch have come and gone unseen before this frame, whose first new marker is at `time`?
bool Drain::may_have_missed(CoreState& core, uint32_t risc, std::span<const uint32_t> frame, uint64_t time) {
  const LaneState& lane = core.lanes[risc];
  const auto blind_cycles = static_cast<int64_t>(kBlindSpotNs * card_.identity().aiclk_mhz / 1000);
  bool unseen = markers::clock_difference(time, device_time_.at(core.caught_up_ns)) > blind_cycles;
  // The host resets all cores at once. Where this one is looked at rarely, the busy ones count its resets.
  if (core.core.kind != markers::CoreKind::tensix)
    unseen = unseen && reset_generation_ > core.caught_up_generation + 1;
  if (!lane.digest.known) return unseen && host_has_read(core);
  const bool whole_launches = frame[device::kFwEndWord] != device::kUnsetWord;
  if (whole_launches || attachment_.mode == device::Mode::accumulate) return unseen;
  // Quick push: its last marker but padding is the end of the push's own zone.
  const size_t padded = markers::is_blank(frame[frame.size() - 2]) ? 4 : 2;
  const uint64_t last = markers::marker_time(frame[frame.size() - padded], frame[frame.size() - padded + 1]);
  return 2 * markers::clock_difference(time, lane.digest.last_time) > markers::clock_difference(last, time);
}

// The first fresh frame of a lane in an epoch: closes what was open, and asks whether an epoch was missed.
// Cores are reset whole, so the first lane to come answers for all, but for quick push, which is a lane's own
// affair.
void Drain::enter_epoch(CoreState& core, uint32_t risc, std::span<const uint32_t> frame) {
  LaneState& lane = core.lanes[risc];
  const uint64_t time = markers::first_time(frame, lane.digest.last_time);
  const bool quick_push = frame[device::kFwEndWord] == device::kUnsetWord;
  const bool answered = std::exchange(core.epoch_entered, true) && !quick_push;
  lane.first_of_epoch = false;
  losses_.close(where(core, risc), LossCause::dropped_on_card, time);
  if (!answered && may_have_missed(core, risc, frame, time)) {
    for (uint32_t r = 0; r < device::kMaxRiscs; ++r)
      if (r == risc || (!quick_push && core.lanes[r].first_of_epoch))
        losses_.open(where(core, r), LossCause::rewound_before_read,
                     core.lanes[r].digest.known ? core.lanes[r].digest.last_time : 0, 0);
  }
  losses_.close(where(core, risc), LossCause::rewound_before_read,
                gap_end(lane, frame, lane.digest.last_time));
}

// Up to when markers may be missing in front of this frame. Where a lane can push in the middle of a run
// (RISCs with a NoC of their own, format sheet 3.5) it may be the second of its run: then what the first one
// held lies between the run's start and this one's own markers.
uint64_t Drain::gap_end(const LaneState& lane, std::span<const uint32_t> frame, uint64_t after) {
  if (lane.lane.risc > 1 && !lane.pushes_early) return markers::first_time(frame, after);
  const uint64_t first = markers::first_time(frame, 0);
  const uint64_t start = markers::marker_time(frame[device::kFwStartWord], frame[device::kFwStartWord + 1]);
  const bool ended = frame[device::kFwEndWord] != device::kUnsetWord;
  if (first != start || !ended) return first;
  return markers::marker_time(frame[device::kFwEndWord], frame[device::kFwEndWord + 1]);  // it has none
}

void Drain::remember_hosts(CoreState& core, std::span<const uint32_t> hosts) {
  core.hosts.insert(core.hosts.end(), hosts.begin(), hosts.end());
  if (core.hosts.size() > 2 * kHostsKept)
    core.hosts.erase(core.hosts.begin(), core.hosts.end() - static_cast<ptrdiff_t>(kHostsKept));
}

void Drain::accept(CoreState& core, const Fetched& f, const uint64_t* slot, const Snapshot& snap,
                   uint64_t now_ns, std::vector<Publisher::Span>& spans) {
  LaneState& lane = *f.lane;
  const auto words = slot_words(slot, f.data_offset, f.words);
  const bool patience_over = lane.stuck_since_ns != 0 && now_ns - lane.stuck_since_ns > kSatOutPatienceNs;
  const uint32_t landed = core.landed_end[f.risc];
  Judge judge(core.hosts, patience_over, landed > lane.cursor ? landed - lane.cursor : 0, lane.old_host);
  markers::FrameDigest digest = lane.digest;
  const markers::Walk walk = markers::verify_frames(words, lane.lane, ceiling(), f.cut, digest, judge);
  const auto whole = words.first(walk.whole_words);
  lane.careful = lane.careful || judge.unproven_seen || judge.ids_repeat;
  lane.waits = walk.held;
  if (f.risc == 0) remember_hosts(core, judge.hosts);
  const bool trusted =
      lane.witness_words != 0 || settled(core, lane, words.first(judge.first_end), snap.read_time_ns);
  if (whole.empty() && walk.held) return;
  if (whole.empty() || !trusted) {
    if (lane.stuck_since_ns == 0) lane.stuck_since_ns = now_ns, lane.stuck_looks = 0;
    device_time_.sample(kCeilingAgeNs);  // a clock that has jumped ahead shows it to the next visit
    core.notes |= shm::kRetried;
    ++retries_;
    if (whole.empty() && ++lane.stuck_looks > kGiveUpLooks && now_ns - lane.stuck_since_ns > kGiveUpNs)
      give_up(core, f, words);
    return;
  }
  lane.pushes_early = lane.pushes_early || judge.pushed_early;
  if (judge.fresh_seen && lane.first_of_epoch) enter_epoch(core, f.risc, judge.first_fresh);
  spans.push_back({static_cast<uint8_t>(f.risc), lane.base + lane.cursor, static_cast<uint32_t>(whole.size()),
                   f.data_offset, lane.digest});
  if (options_.recycling && lane.careful && pushes_soon(whole)) core.recycling.pushes_soon = true;
  lane.frames += walk.frames;
  advance(lane, whole, digest);
  if (f.ahead && whole.size() == f.words)
    lane.old_host = slot_words(slot, f.data_offset + 4 * f.words, f.ahead)[device::kIdHost];
  frames_ += walk.frames;
  markers_ += walk.markers;
  if (f.risc == 0) {
    core.runs_delivered += judge.finished_runs;
    core.runs_total += judge.finished_runs;
    core.recycling.referee.came += judge.finished_runs;
    programs_ = std::max(programs_, core.runs_total);
  }
}

markers::Ceiling Drain::ceiling() const {
  return {true, device_time_.ceiling(attachment_.clock())};
}

// The words have been there for long and still are no frame: they are damaged. Skips to the next frame that
// can be recognised and accounts for every word.
void Drain::give_up(CoreState& core, const Fetched& f, std::span<const uint32_t> words) {
  LaneState& lane = *f.lane;
  size_t next = 2;
  const auto goes_on = [&](size_t at) {
    if (!markers::frame_starts(words, at, lane.lane)) return false;
    // A frame that is older than what was delivered is one of those that must be skipped.
    return words[at + device::kFwStartWord] == device::kUnsetWord || !lane.digest.known ||
           markers::detail::head_is_fresh(words, at, lane.digest);
  };
  while (next < words.size() && !goes_on(next)) next += 2;
  next = std::min(next, words.size());
  uint64_t until = shm::kOpenEnd;
  if (next + device::kFirstCustomWord <= words.size() &&
      words[next + device::kFwStartWord] != device::kUnsetWord)
    until = markers::first_time(words.subspan(next, device::kFirstCustomWord), lane.digest.last_time);
  losses_.record(where(core, f.risc), LossCause::unparsable, shm::LossPrecision::exact_words,
                 lane.digest.last_time, until, next, 0);
  unparsable_words_ += next;
  core.recycling.words_skipped = true;
  lane.cursor += static_cast<uint32_t>(next);
  lane.witness_words = 0;
  lane.old_host.reset();
  lane.settled_words = 0;
  lane.stuck_since_ns = 0;
  // A lane that rested for half the clock's range seems to lie in the future: what follows is judged by
  // itself.
  if (markers::clock_difference(ceiling().time, lane.digest.last_time) < 0) lane.digest.known = 0;
}

Access Drain::deliver(CoreState& core, const Snapshot& snap, uint64_t now_ns) {
  uint64_t bytes = 0;
  const std::vector<Fetched> fetched = plan(core, snap, bytes);
  if (fetched.empty()) return Access::ok;
  uint64_t* slot = publisher_.claim(bytes);
  std::array<LogRead, device::kMaxRiscs> reads;
  for (size_t i = 0; i < fetched.size(); ++i) {
    const Fetched& f = fetched[i];
    const uint32_t from = f.data_offset - 4 * f.lead;
    reads[i] = {core.core.bank,
                log_address(core, f.risc, f.lane->cursor - f.lead),
                {slot + from / 8, round8(4ull * (f.lead + f.words + f.ahead)) / 8}};
  }
  const uint64_t begun_ns = attachment_.clock();
  if (const Access a = logs_.read({reads.data(), fetched.size()}); a != Access::ok) return a;
  const uint64_t lines = bytes / card::kLineBytes + fetched.size();
  line_ns_ = (3 * line_ns_ + (attachment_.clock() - begun_ns) / lines) / 4;
  bool unrewound = true;
  if (const Access a = still_unrewound(core, snap, unrewound); a != Access::ok) return a;
  for (const Fetched& f : fetched) {
    const auto witness = slot_words(slot, f.data_offset - 4 * f.lead, f.lead);
    if (silent(witness)) return doubt_bank(core);
    unrewound = unrewound && witness_holds(f, slot);
  }
  if (!unrewound) note_rewind(core, false);
  // Held up for so long that an epoch may have passed: looked at again.
  if (!unrewound || attachment_.clock() - snap.read_time_ns > kBlindSpotNs) return Access::ok;

  std::vector<Publisher::Span> spans;
  for (const Fetched& f : fetched) accept(core, f, slot, snap, now_ns, spans);
  if (spans.empty()) return Access::ok;
  if (options_.before_publish) options_.before_publish();
  const Publisher::Span& last = spans.back();
  publisher_.publish_words(slot, last.data_offset + round8(4ull * last.word_count),
                           chunk_core(core, snap.run_counter, snap.read_time_ns, core.notes), spans);
  if (options_.seen) options_.seen(core.core.at, core.lanes[last.risc].digest.last_time, attachment_.clock());
  core.notes = 0;
  return Access::ok;
}

// A push may have been dropped since, even where no index moves any more (quick push on dispatch cores).
bool Drain::near_full(const Snapshot& snap) const {
  return std::any_of(snap.host_end.begin(), snap.host_end.end(),
                     [&](uint32_t end) { return end + device::kBufferWords + 4 > log_capacity(); });
}

// More runs were counted than frames of BRISC delivered, and none of them is in the log.
bool Drain::runs_missing(const CoreState& core, const Snapshot& snap) const {
  // Accumulating firmware counts pushes, of whichever RISC.
  return attachment_.mode == device::Mode::normal && core.lanes[0].cursor >= snap.host_end[0] &&
         snap.run_counter > core.runs_delivered;
}

// Runs the core counted but whose frames are not in the log, and RISCs that say they lost markers.
Access Drain::account_drops(CoreState& core, const Snapshot& snap, const LastTimes& before) {
  const bool missing = runs_missing(core, snap);
  core.unexplained_visits = missing ? core.unexplained_visits + 1 : 0;
  if (!near_full(snap) && !missing) return Access::ok;
  std::array<uint32_t, 68> words{};
  if (const Access a = read_part(core, dropped_part_, words.data()); a != Access::ok) return a;
  uint32_t mask = words[attachment_.layout->format.dropped];
  const bool stays_missing = core.unexplained_visits >= kUnexplainedVisits;
  if (mask == 0 && stays_missing && near_full(snap)) mask = 1;  // the word can lose bits (5.7.8)
  // Otherwise a reset between the index and the push of these runs, or between two looks, hides their frames.
  if (mask == 0 && core.unexplained_visits == kUnexplainedVisits) may_be_lost(core);
  const uint32_t runs = missing ? snap.run_counter - core.runs_delivered : 0;
  for (uint32_t r = 0; r < device::kMaxRiscs; ++r) {
    if (!(mask >> r & 1)) continue;
    losses_.open(where(core, r), LossCause::dropped_on_card, before[r], runs);
    if (r == 0) dropped_runs_ = std::max<uint64_t>(dropped_runs_, runs);
  }
  return Access::ok;
}

Access Drain::visit(CoreState& core, uint64_t now_ns, bool& news) {
  if (core.recycling.under_way) return news = true, go_on_recycling(core);
  Snapshot snap;
  if (const Access a = read_snapshot(core, snap); a != Access::ok) return a;
  core.looked_late = snap.read_time_ns - core.look_ns > kBlindSpotNs;
  core.previous_look_ns = std::exchange(core.look_ns, snap.read_time_ns);
  if (rewound(core, snap)) note_rewind(core, false);
  if (core.rewound_ns != 0) {
    news = true;
    // What accumulating firmware keeps in L1 does not wait for us.
    const bool wait = attachment_.mode != device::Mode::accumulate;
    return wait && snap.read_time_ns < core.rewound_ns + kResetOverNs ? Access::ok : begin_epoch(core);
  }
  if (provisional_moved(core, snap)) return reopen_recycle(core), Access::ok;
  news = has_news(core, snap);
  core.quiet_looks = news ? 0 : core.quiet_looks + 1;
  const bool doubtful = core.looked_late || core.reset_generation != reset_generation_;
  if (!news && (doubtful || core.quiet_looks % kWitnessEvery == 0) && region_size_.known()) {
    if (const Access a = check_unseen_reset(core); a != Access::ok) return a;
    if (core.rewound_ns != 0) return Access::ok;
  }
  if (!news && core.last_run_unchecked && region_size_.known() && attachment_.mode == device::Mode::normal)
    if (const Access a = check_last_run(core); a != Access::ok) return a;
  if (!news && core.looked_late && !core.lanes[0].delivered)
    if (const Access a = check_never_seen(core); a != Access::ok) return a;
  if (!news) caught_up(core, snap);
  if (const Access a = settle_mode(core, now_ns, news); a != Access::ok) return a;
  if (!news)
    if (const Access a = keep_l1(core, now_ns); a != Access::ok) return a;
  const bool unexplained = runs_missing(core, snap) && core.unexplained_visits < kUnexplainedVisits;
  if (!news && !unexplained && !(region_size_.known() && near_full(snap))) return Access::ok;
  note_indices(core, snap);
  if (!region_size_.known()) {
    if (const Access a = region_size_.learn(card_, logs_, core.core, snap.host_end, attachment_.mode);
        a != Access::ok)
      return a;
    if (!region_size_.known()) return Access::ok;  // the payload waits
  }
  if (!generation_settled_) {
    if (const Access a = settle_generation(core); a != Access::ok) return a;
    if (!generation_settled_) return Access::ok;  // likewise
  }
  LastTimes before;
  for (uint32_t r = 0; r < device::kMaxRiscs; ++r) before[r] = core.lanes[r].digest.last_time;
  if (const Access a = deliver(core, snap, now_ns); a != Access::ok) return a;
  if (core.rewound_ns != 0) return Access::ok;
  if (const Access a = keep_l1(core, now_ns); a != Access::ok) return a;
  core.run_counter = snap.run_counter;
  if (!has_news(core, snap)) caught_up(core, snap);
  if (const Access a = account_drops(core, snap, before); a != Access::ok) return a;
  return consider_recycling(core, snap);
}

// Only between visits: during one, a slot of the ring is claimed for words.
void Drain::tell_losses() {
  for (const shm::LossRecord& record : untold_losses_) publisher_.publish_loss(record);
  untold_losses_.clear();
}

Access Drain::look_after(CoreState& core, uint64_t now_ns) {
  bool news = false;
  const Access result = visit(core, now_ns, news);
  tell_losses();
  if (result == Access::gone) return result;
  // Busy cores often, idle ones ever more rarely, down to the stated worst case.
  const bool fresh_epoch =
      core.lanes[0].delivered && core.seen_runs == 0 && attachment_.clock() - core.epoch_since_ns < kFreshNs;
  core.interval_ns =
      news || fresh_epoch
          ? options_.busy_interval_ns
          : std::min(options_.idle_interval_ns, std::max(options_.busy_interval_ns, 2 * core.interval_ns));
  if (core.core.kind != markers::CoreKind::tensix) core.interval_ns = options_.ethernet_interval_ns;
  if (core.recycling.under_way)
    core.interval_ns = core.recycling.under_way->pause_ns(options_.busy_interval_ns);
  core.due_ns = now_ns + core.interval_ns;
  return result;
}

Access Drain::sweep(uint64_t now_ns, bool all) {
  const uint64_t started = attachment_.clock();
  ending_ = ending_ || all;
  device_time_.sample(all ? 0 : DeviceTime::kEveryNs);  // a last look at everything knows what time it is
  Access result = Access::ok;
  bool ethernet_visited = false;
  for (CoreState& core : cores_) {
    if (!all && core.due_ns > now_ns) continue;
    // Ethernet cores serve the links too: one at most, so that they never make a sweep of their own.
    const bool ethernet = core.core.kind != markers::CoreKind::tensix;
    if (ethernet && !all && std::exchange(ethernet_visited, true)) continue;
    result = look_after(core, now_ns);
    if (result == Access::gone) break;
  }
  ++sweeps_;
  sweep_times_.add(attachment_.clock() - started);
  store_counters();
  publisher_.end_sweep();
  return result;
}

uint64_t Drain::next_due_ns() const {
  uint64_t due = ~uint64_t{0};
  for (const CoreState& core : cores_) due = std::min(due, core.due_ns);
  return due;
}

size_t Drain::lanes() const {
  size_t count = 0;
  for (const CoreState& core : cores_)
    count += static_cast<size_t>(
        std::count_if(core.lanes.begin(), core.lanes.end(), [](const LaneState& l) { return l.delivered; }));
  return count;
}

void Drain::close_account(bool card_vanished, uint64_t ended_ns) {
  if (!card_vanished)
    for (CoreState& core : cores_) {
      core.l1_kept_ns = 0;
      if (keep_l1(core, ~uint64_t{0}) != Access::ok || publish_l1_rest(core) != Access::ok) break;
    }
  for (CoreState& core : cores_)
    for (uint32_t r = 0; r < device::kMaxRiscs; ++r) {
      const LaneState& lane = core.lanes[r];
      if (!card_vanished && core.look_ns < ended_ns)
        losses_.open(where(core, r), LossCause::unreadable, lane.digest.last_time, 0);
      else if (card_vanished && (lane.delivered || core.seen_end[r] > 0))
        losses_.open(where(core, r), LossCause::card_gone, lane.digest.last_time, 0);
      else if (core.seen_end[r] > lane.cursor)
        losses_.record(where(core, r), LossCause::not_read, shm::LossPrecision::exact_words,
                       lane.digest.last_time, shm::kOpenEnd, core.seen_end[r] - lane.cursor, 0);
    }
  if (options_.recycling) options_.recycling->account.missing_runs += missing_runs();
  losses_.tell_open();
  tell_losses();
  store_counters();
}

void Drain::store_counters() {
  const card::Transactions t = transactions();
  segment_.set(Counter::sweeps, sweeps_);
  segment_.set(Counter::sweep_ns_max, sweep_times_.max());
  if (sweeps_ % 256 == 1) {  // percentiles walk the buckets: not on every sweep
    segment_.set(Counter::sweep_ns_p50, sweep_times_.percentile(50));
    segment_.set(Counter::sweep_ns_p99, sweep_times_.percentile(99));
    segment_.set(Counter::lanes, lanes());
  }
  segment_.set(Counter::round_trips, t.round_trips);
  segment_.set(Counter::window_moves, t.window_moves);
  segment_.set(Counter::card_bytes, t.bytes);
  segment_.set(Counter::programs, programs_);
  segment_.set(Counter::markers, markers_);
  segment_.set(Counter::frames, frames_);
  segment_.set(Counter::epochs, epochs_);
  segment_.set(Counter::retries, retries_);
  segment_.set(Counter::recovered_words, recovered_words_);
  segment_.set(Counter::unparsable_words, unparsable_words_);
  segment_.set(Counter::dropped_on_card_runs, dropped_runs_);
  segment_.set(Counter::lost_intervals, losses_.intervals().size());
  segment_.set(Counter::rewound_intervals, losses_.count(LossCause::rewound_before_read));
  segment_.set(Counter::card_gone_intervals, losses_.count(LossCause::card_gone));
  segment_.set(Counter::unreadable_intervals, losses_.count(LossCause::unreadable));
  segment_.heartbeat(monotonic_now_ns());
}

}  // namespace ttc::collect
