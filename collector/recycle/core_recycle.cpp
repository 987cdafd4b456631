#include "collector/recycle/core_recycle.hpp"

#include <algorithm>
#include <utility>

namespace ttc::collect {
namespace {

using card::Access;
using card::Expected;
using card::failed;

constexpr uint32_t kSettleAgain = 16;
constexpr int kSettleTries = 4;      // in a row, for a control sample without a finish under way
constexpr uint32_t kMagicWords = 8;  // in front of the vector, where the magic word is (tt-metal dev_msgs.h)
constexpr uint32_t kLongestFrame = device::kBufferWords + 8;

std::string number(uint64_t value) {
  return std::to_string(value);
}
std::string bits(uint32_t mask) {
  std::string text;
  for (uint32_t r = 0; r < device::kMaxRiscs; ++r)
    if (mask >> r & 1) text += (text.empty() ? "" : ",") + number(r);
  return text;
}
std::string indices(const std::array<uint32_t, device::kMaxRiscs>& index) {
  std::string text;
  for (const uint32_t i : index) text += (text.empty() ? "" : ",") + number(i);
  return text;
}

}  // namespace

void CoreRecycle::report(const std::string& what) const {
  if (!deps_.audit) return;
  deps_.audit(number(deps_.reader.now_ns()) + " core " + number(core_.core.at.x) + "-" +
              number(core_.core.at.y) + " " + what);
}

CoreRecycle::Step CoreRecycle::end(Step step, std::string why) {
  why_ = std::move(why);
  if (step == Step::surprise) report("surprise: " + why_);
  if (step == Step::rewound) report("the host rewrote the vector");
  return step;
}

// The order is the protocol's.
Expected<CoreRecycle::ControlSample> CoreRecycle::sample_control() {
  ControlSample s;
  const device::Format& f = deps_.attachment.layout->format;
  s.read_ns = deps_.reader.now_ns();
  s.transport_ns = deps_.reader.transactions().transport_ns;
  const auto words = [&](uint32_t first, std::span<uint32_t> into) {
    return deps_.reader.control_words(core_.core, first, into);
  };
  Access a = words(f.run_counter, {&s.runs_before, 1});
  if (a == Access::ok) a = words(f.host_end, s.index);
  if (a == Access::ok) a = words(f.done, {&s.done, 1});
  if (a == Access::ok) a = words(f.run_counter, {&s.runs_after, 1});
  if (a == Access::ok && (s.runs_after == ~0u || s.index[0] == ~0u)) a = deps_.reader.doubt_tile(core_.core);
  if (a != Access::ok) return failed(a);
  return s;
}

// What of the vector, and of the words in front of it, no run and no recycle changes.
Expected<bool> CoreRecycle::fixed_words_hold(std::vector<uint32_t>& baseline) {
  const device::Format& f = deps_.attachment.layout->format;
  std::array<uint64_t, (80 + kMagicWords) / 2> raw;
  const std::span<uint64_t> into(raw.data(), (kMagicWords + f.control_words) / 2u);
  if (const Access a = deps_.reader.l1(core_.core, core_.core.control_address - 4 * kMagicWords, into);
      a != Access::ok)
    return failed(a);
  const auto* magic = reinterpret_cast<const uint32_t*>(raw.data());
  const uint32_t* v = magic + kMagicWords;
  const auto refuse = [&](const std::string& why) {
    why_ = why;
    return false;
  };
  if (v[f.dram_address] != deps_.attachment.dram_base || v[f.flat_id] != core_.core.flat_id ||
      v[f.core_count_per_dram] != deps_.attachment.core_count_per_dram)
    return refuse("the fixed words of its control vector are not those that were found at attaching");
  for (uint32_t w = f.risc_dram_address; w < f.risc_dram_address + uint32_t{f.risc_dram_address_count}; ++w)
    if (v[w] != 0 && v[w] != deps_.attachment.dram_base)
      return refuse("a RISC has a DRAM address of its own: debug dump");
  if (f.dispatch_core && v[f.dispatch_core] != 0) return refuse("it is a dispatch core");
  if (f.trace_status && v[f.trace_status] != 0) return refuse("it records traces only");
  std::vector<uint32_t> now{v[f.noc_x], v[f.noc_y]};
  for (uint32_t w = 0; w < kMagicWords; ++w) now.push_back(magic[w] == markers::kWorkerMagic ? magic[w] : 0);
  if (baseline.empty()) baseline = now;
  if (baseline != now) return refuse("the fixed words of its control vector have changed");
  return true;
}

Expected<CoreRecycle::Step> CoreRecycle::begin(std::vector<uint32_t>& baseline) {
  began_ns_ = deps_.reader.now_ns();
  const uint64_t trips = deps_.reader.transactions().round_trips;
  const Expected<Step> step = arm(baseline);
  trips_ += deps_.reader.transactions().round_trips - trips;
  return step;
}

Expected<CoreRecycle::Step> CoreRecycle::arm(std::vector<uint32_t>& baseline) {
  const Expected<bool> holds = fixed_words_hold(baseline);
  if (!holds) return failed(holds.error());
  if (!*holds) return Step::not_now;
  for (int i = 0; i < kSettleTries; ++i) {
    const Expected<ControlSample> sample = sample_control();
    if (!sample) return failed(sample.error());
    before_ = *sample;
    if (before_.idle()) break;
  }
  const auto most = static_cast<double>(core_.capacity) * deps_.limits.any_moment_fill;
  const bool urgent = std::any_of(before_.index.begin(), before_.index.end(),
                                  [&](uint32_t index) { return static_cast<double>(index) >= most; });
  if (!before_.idle() && !urgent) return Step::not_now;
  return clear();
}

// The time that a request to an emulated card takes is not the card's; behind a slow link everything takes longer.
uint64_t CoreRecycle::since_before() const {
  const uint64_t all = deps_.reader.now_ns() - before_.read_ns;
  return all - std::min(all, deps_.reader.transactions().transport_ns - before_.transport_ns);
}
uint64_t CoreRecycle::store_within() const {
  return std::max(deps_.limits.store_within_ns, 5 * deps_.reader.line_allowance_ns());
}

Expected<CoreRecycle::Step> CoreRecycle::clear() {
  const auto least = static_cast<uint32_t>(static_cast<double>(core_.capacity) * deps_.limits.least_fill);
  for (uint32_t r = 0; r < device::kMaxRiscs; ++r) {
    const uint32_t index = before_.index[r];
    if (index < core_.lanes[r].pos) return Step::not_now;  // a host reset: the drain deals with it
    if (may_drop(index) && !is_full(r)) {  // the frames of a lane that drops some cannot be counted
      cleared_ = 0;
      break;
    }
    if (core_.lanes[r].pos >= least && core_.lanes[r].digest.known) cleared_ |= 1u << r;
    lacks_frames_ = lacks_frames_ || may_drop(index);
  }
  lacks_frames_ = lacks_frames_ && cleared_ != 0;
  if (lacks_frames_) {
    why_ = "its log was full";
    lost_place_ns_ = before_.read_ns;
  }
  if (cleared_ == 0) return Step::not_now;
  if (since_before() > store_within()) {
    cleared_ = 0;
    lacks_frames_ = false;
    why_.clear();
    return Step::not_now;  // held up: from the beginning
  }
  const Access a = deps_.reader.clear_indices(core_.place, cleared_);
  if (a != Access::ok) {
    if (a != Access::refused) return failed(a);
    why_ = "the card refused the store";
    return Step::not_now;
  }
  const uint64_t took = since_before();
  slow_ = took > store_within();
  report("clear lanes " + bits(cleared_) + " indices " + indices(before_.index) + " runs " +
         number(before_.runs_after) + (before_.idle() ? " settled" : " unsettled") + " store after " +
         number(took) + " ns" + (slow_ ? " SLOW" : ""));
  last_runs_ = before_.runs_after;
  phase_ = Phase::settle;
  return Step::going;
}

// The longest frame that still fits is the one that firmware writes of a launch it has no room for. Where not even that fits, and no
// finish is under way, the next one leaves the index as it is, or finds our zero: its frame is at the front then.
bool CoreRecycle::is_full(uint32_t r) const {
  return before_.idle() && core_.lanes[r].pos == before_.index[r] &&
         before_.index[r] + device::kFirstCustomWord > core_.capacity;
}

CoreRecycle CoreRecycle::reopened(Deps deps, const RecycleCore& core, uint32_t cleared,
                                  const Counted& earlier) {
  CoreRecycle r(std::move(deps), core);
  r.began_ns_ = r.deps_.reader.now_ns();
  r.cleared_ = cleared;
  r.before_.runs_before = r.before_.runs_after = r.last_runs_ = earlier.runs;
  r.before_.done = earlier.settled;
  for (uint32_t i = 0; i < device::kMaxRiscs; ++i) r.before_.index[i] = r.core_.lanes[i].pos;
  r.report("looks again at provisional lanes " + bits(cleared));
  return r;
}

// The host's reset is the only thing that takes RUN_COUNTER back.
bool CoreRecycle::gone_back(const ControlSample& s) {
  const bool back = s.runs_before < last_runs_ || s.runs_after < s.runs_before;
  last_runs_ = s.runs_after;
  for (uint32_t r = 0; r < device::kMaxRiscs; ++r)
    if (cleared_ >> r & 1) highest_seen_[r] = std::max(highest_seen_[r], s.index[r]);
  return back;
}

Expected<CoreRecycle::Step> CoreRecycle::go_on() {
  const uint64_t trips = deps_.reader.transactions().round_trips;
  const Expected<Step> step = step_on();
  trips_ += deps_.reader.transactions().round_trips - trips;
  return step;
}

Expected<CoreRecycle::Step> CoreRecycle::step_on() {
  switch (phase_) {
    case Phase::settle:
      return settle();
    case Phase::grace: {
      const Expected<ControlSample> s = sample_control();
      if (!s) return failed(s.error());
      if (gone_back(*s)) return end(Step::rewound, {});
      if (s->read_ns < counts_ns_ + deps_.limits.grace_ns) return Step::going;
      resolve_since_ns_ = s->read_ns;
      phase_ = lacks_frames_ ? Phase::find : Phase::resolve;
      if (!lacks_frames_) return resolve();
      find_risc_ = 0;
      for (uint32_t r = 0; r < device::kMaxRiscs; ++r) result_.front[r].clear(), result_.old_place[r].clear();
      return look_for_place();
    }
    case Phase::resolve:
      return resolve();
    case Phase::find:
      return look_for_place();
  }
  return Step::going;
}

Expected<CoreRecycle::Step> CoreRecycle::settle() {
  const Expected<ControlSample> s = sample_control();
  if (!s) return failed(s.error());
  if (gone_back(*s)) return end(Step::rewound, {});
  if (!first_runs_) first_runs_ = s->runs_before;
  if (lacks_frames_ && !s->idle())
    return not_found();  // else a lane's last frame may be of either of two runs
  if (!s->idle() && s->runs_before == *first_runs_) return Step::going;
  counts_ = *s;
  counts_ns_ = deps_.reader.now_ns();
  phase_ = Phase::grace;
  return Step::going;
}

// New frames of the lane at counts_, by its own constant.
FrameRange CoreRecycle::allowed(uint32_t r) const {
  const RecycleLane& lane = core_.lanes[r];
  if (!lane.ahead) return {0, INT64_MAX};
  const int64_t taken = static_cast<int64_t>(lane.frames) - *lane.ahead;
  return {counts_.runs_before - taken, counts_.most() - taken};
}
// The number of these frames that came after before_.
FrameRange CoreRecycle::crossing() const {
  return {counts_.runs_before - before_.most(), counts_.most() - before_.runs_before};
}

Access CoreRecycle::read_places() {
  for (uint32_t r = 0; r < device::kMaxRiscs; ++r) {
    const RecycleLane& lane = core_.lanes[r];
    const bool cleared = cleared_ >> r & 1;
    const uint32_t runs = counts_.runs_after + 1 - before_.runs_before;
    const uint64_t crossing = uint64_t{runs + 1} * kLongestFrame;
    uint64_t until = cleared ? std::max<uint64_t>(before_.index[r], lane.pos) + crossing : 0;
    until = std::min<uint64_t>(std::max<uint64_t>(until, counts_.index[r]), core_.capacity) & ~1u;
    const auto read = [&](uint32_t from, uint64_t to, std::vector<uint32_t>& words) {
      words.clear();
      if (to <= from) return Access::ok;
      std::vector<uint64_t> raw((to - from + 1) / 2);
      const Access a = deps_.reader.log(core_.core, r, from, raw);
      const auto* begin = reinterpret_cast<const uint32_t*>(raw.data());
      words.assign(begin, begin + (to - from));
      return a;
    };
    // The old place first: the new lap grows towards it.
    if (const Access a = read(lane.pos, until, result_.old_place[r]); a != Access::ok) return a;
    if (!cleared) continue;
    const uint64_t torn = counts_.index[r] > lane.pos ? kLongestFrame : 0;
    const uint64_t lap = std::min<uint64_t>(std::max<uint64_t>(counts_.index[r], torn), core_.capacity);
    if (const Access a = read(0, counts_.index[r] == 0 ? 0 : lap, result_.front[r]); a != Access::ok)
      return a;
  }
  return Access::ok;
}

// BRISC's frame of a run and that of another RISC carry one launch id, and after before_ there are as many of
// one as of the other. Finish goes from BRISC on: where one was under way, a lane may lack its frame, at
// before_ or at counts_.
bool CoreRecycle::agrees_with_brisc(uint32_t r, const LaneOutcome& brisc, const LaneOutcome& other) const {
  const auto launch = [](const LaneOutcome& o, size_t from_end) {
    return o.frames[o.frames.size() - from_end].host_id;
  };
  const auto agree = [&](size_t less) {
    if (brisc.frames.size() < less) return false;
    const size_t runs = brisc.frames.size() - brisc.announced, mine = other.frames.size() - other.announced;
    const bool counted = mine + less == runs || (!before_.idle() && mine + less == runs + 1);
    if (!counted && core_.lanes[r].frames != 0) return false;
    for (size_t i = 1; i <= std::min(brisc.frames.size() - less, other.frames.size()); ++i)
      if (launch(brisc, less + i) != launch(other, i)) return false;
    return true;
  };
  return agree(0) || (!counts_.idle() && agree(1));
}

std::vector<LaneOutcome> CoreRecycle::readings(uint32_t r) const {
  const RecycleLane& lane = core_.lanes[r];
  const bool cleared = cleared_ >> r & 1;
  if (!cleared && counts_.index[r] == lane.pos) {  // a lane that is not used, or nothing new
    LaneOutcome same;
    same.digest = lane.digest;
    same.cursor = same.old_end = lane.pos;
    return {same};
  }
  LaneCase one{lane.lane,        deps_.ceiling(),  lane.digest,      cleared,
               lane.pos,         before_.index[r], counts_.index[r], result_.old_place[r],
               result_.front[r], allowed(r),       crossing()};
  if (cleared && !deps_.limits.resolve) {
    one.index_after = 0;
    one.old_place = one.old_place.first(std::min<size_t>(one.old_place.size(), one.index_before - one.pos));
    one.allowed = {0, INT64_MAX};
    one.crossing = {0, 0};
  }
  return possible_outcomes(one);
}

std::string CoreRecycle::nothing_fits(uint32_t r) const {
  return "RISC " + number(r) + ": nothing fits index " + number(counts_.index[r]) + " after " +
         number(before_.index[r]) + " with words taken to " + number(core_.lanes[r].pos) +
         "; by the runs counted, " + std::to_string(crossing().least) + " to " +
         std::to_string(crossing().most) + " frames came since";
}

CoreRecycle::Step CoreRecycle::choose() {
  std::array<std::vector<LaneOutcome>, device::kMaxRiscs> found;
  std::string missing;
  for (uint32_t r = 0; r < core_.core.riscs && missing.empty(); ++r) {
    found[r] = readings(r);
    if (found[r].empty()) missing = nothing_fits(r);
    if (r == 0 || !missing.empty()) continue;
    // A RISC that sat out ends in frames without a time. Those with the launch ids of BRISC's were written by
    // these runs, so the reading that has most of them is the true one.
    const bool unused =
        !(cleared_ >> r & 1) && counts_.index[r] == core_.lanes[r].pos && core_.lanes[r].frames == 0;
    if (unused) continue;
    std::erase_if(found[r], [&](const LaneOutcome& o) { return !agrees_with_brisc(r, found[0].front(), o); });
    if (found[r].empty()) missing = "RISC " + number(r) + ": its launches are not BRISC's";
    const auto most = std::max_element(found[r].begin(), found[r].end(), [](const auto& a, const auto& b) {
      return a.frames.size() < b.frames.size();
    });
    const bool sat_out = most != found[r].end() && !most->frames.empty() && most->frames.back().sat_out;
    if (found[r].size() > 1 && sat_out) found[r] = {LaneOutcome(*most)};
  }
  if (missing.empty()) {
    for (uint32_t r = 0; r < core_.core.riscs; ++r) {
      if (found[r].size() > 1) {
        why_ = "RISC " + number(r) + ": " + number(found[r].size()) + " readings fit (" +
               to_string(found[r][0].verdict) + ", " + to_string(found[r][1].verdict) + ")";
        return Step::surprise;
      }
      result_.lanes[r] = std::move(found[r].front());
    }
    return Step::resolved;
  }
  if (deps_.reader.now_ns() - resolve_since_ns_ < deps_.limits.patience_ns) return Step::going;
  why_ = missing;
  return Step::surprise;
}

// A core that acted on a cached index has come back to the old place since counts_.
bool CoreRecycle::moved_back(const ControlSample& after) const {
  for (uint32_t r = 0; r < core_.core.riscs; ++r)
    if (cleared_ >> r & 1 && counts_.index[r] < core_.lanes[r].pos && after.index[r] > before_.index[r])
      return true;
  return false;
}

// The lane whose old place holds words that are still to be read, and that the new lap has reached.
std::optional<uint32_t> CoreRecycle::overtaken(const ControlSample& after) const {
  for (uint32_t r = 0; r < core_.core.riscs; ++r) {
    const uint32_t pos = core_.lanes[r].pos;
    if (!(cleared_ >> r & 1) || counts_.index[r] >= pos || after.index[r] <= pos) continue;
    if (std::max(before_.index[r], result_.lanes[r].old_end) > pos) return r;
  }
  return std::nullopt;
}

Expected<CoreRecycle::Step> CoreRecycle::resolve() {
  result_.lanes = {};
  if (const Access a = read_places(); a != Access::ok) return failed(a);
  const Expected<ControlSample> after = sample_control();
  if (!after) return failed(after.error());
  bool back = gone_back(*after);
  for (uint32_t r = 0; r < core_.core.riscs; ++r) back = back || after->index[r] < counts_.index[r];
  if (back) return end(Step::rewound, {});
  if (moved_back(*after)) {
    phase_ = Phase::settle;
    first_runs_.reset();
    if (++settled_again_ > kSettleAgain) return lose_place("its indices do not settle");
    return Step::going;
  }
  const auto reached = [&](uint32_t risc) {
    return lose_place("RISC " + number(risc) + ": the new lap reached words that were still to be read");
  };
  if (const auto risc = overtaken(*after)) return reached(*risc);
  const Step step = choose();
  if (step == Step::surprise) return lose_place(why_);
  if (step != Step::resolved) return step;
  if (const auto risc = overtaken(*after)) return reached(*risc);  // now by the reading that was chosen
  return take();
}

CoreRecycle::Step CoreRecycle::take() {
  for (uint32_t r = 0; r < core_.core.riscs; ++r) {
    if (!(cleared_ >> r & 1) && !lacks_frames_) continue;
    const LaneOutcome& o = result_.lanes[r];
    crossed_ = crossed_ || (o.verdict != Verdict::clean && o.verdict != Verdict::front);
    report("risc " + number(r) + " " + to_string(o.verdict) + ", " + number(o.frames.size()) +
           " frames, index " + number(counts_.index[r]));
  }
  result_.index = counts_.index;
  result_.runs = counts_.runs_before;
  result_.settled = counts_.idle();
  result_.cleared = cleared_;
  result_.read_time_ns = counts_.read_ns;
  return Step::resolved;
}

}  // namespace ttc::collect
