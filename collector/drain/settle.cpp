// What the card's firmware was built for, where attaching could not find it out because nothing had run yet.
#include <algorithm>
#include <utility>

#include "collector/drain/drain.hpp"
#include "collector/drain/id_width.hpp"

namespace ttc::collect {
namespace {

using card::Access;

constexpr uint64_t kModeEveryNs = 20'000'000;
constexpr uint32_t kIdWidthWords =
    4 * (device::kBufferWords + 4);  // holds four launches, whatever they record
constexpr uint32_t kLandingLoads = 512;

}  // namespace

// What the firmware was built for shows in L1 only, and once something ran. Two polls of one core must agree:
// a launch that is just being opened may have the marks of another mode. A core that nothing ran on costs one line.
Access Drain::settle_mode(CoreState& core, uint64_t now_ns, bool urgent) {
  if (mode_settled_ || (!urgent && now_ns < core.mode.due_ns) || core.core.kind != markers::CoreKind::tensix)
    return Access::ok;
  core.mode.due_ns = now_ns + kModeEveryNs;
  for (bool again : {false, true}) {
    const auto seen = look_at_mode(core);
    if (!seen) return seen.error();
    if (mode_settled_) return Access::ok;
    const std::optional<device::Mode> mode = *seen;
    if (mode == device::Mode::normal) return Access::ok;
    if (!mode) {  // reset since it was seen?
      if (core.mode.seen == device::Mode::normal) return Access::ok;
      core.mode.due_ns = 0;
      if (last_chance_) use_mode(core.mode.seen);  // no second poll will come
      return Access::ok;
    }
    if (std::exchange(core.mode.seen, *mode) == *mode) return use_mode(*mode), Access::ok;
    core.mode.due_ns = 0;
    if (again) break;
    if (const Access a = wait_until_landed(core); a != Access::ok) return a;
  }
  return Access::ok;
}

// The mode that L1 shows; nothing where firmware stores nothing now.
card::Expected<std::optional<device::Mode>> Drain::look_at_mode(const CoreState& core) {
  const auto stored = reader_.stored_by_brisc(core.core);
  if (!stored) return card::failed(stored.error());
  if (*stored == 0) return std::nullopt;
  const auto vector = reader_.vector(core.core);
  if (!vector) return card::failed(vector.error());
  const auto buffer = reader_.buffer(core.core, 0);
  if (!buffer) return card::failed(buffer.error());
  const std::optional<device::Mode> mode = markers::mode_of(*vector, *buffer);
  // A recorded launch, as normal firmware leaves it. Accumulating firmware stamps no id, and right after a
  // push its buffer differs in nothing else from a normal one.
  if (mode == device::Mode::normal)
    mode_settled_ = vector->run_counter != 0 && vector->done == 1 && (*buffer)[device::kIdHost] != 0;
  return mode;
}

// BRISC's first frame in a log shows accumulating firmware, too: L1 does not right after a push. Until that frame has landed, and until
// L1 was examined twice, nothing is delivered: frames that are read in the wrong mode cannot be taken back.
card::Expected<bool> Drain::mode_decided_by_log(const CoreState& core, const ControlSample& snap) {
  if (mode_settled_ || !may_accumulate(core)) return true;
  if (snap.host_end[0] == 0) return core.mode.seen != device::Mode::accumulate;
  if (core.lanes[0].cursor != 0) return true;
  const auto front = read_landed_front(core, snap, device::kFirstCustomWord + 2);
  if (!front) return card::failed(front.error());
  if (!front->empty() && markers::looks_accumulated(*front)) use_mode(device::Mode::accumulate);
  return !front->empty();
}

void Drain::use_mode(device::Mode mode) {
  mode_settled_ = true;
  attachment_.mode = mode;
  for (CoreState& each : cores_)
    for (LaneState& lane : each.lanes) lane.lane.mode = mode_of(each);
}

// Collecting ends, and the mode was never seen. A lane that polls came late for, and whose buffer holds what nothing shows to be
// delivered, may lack all of it.
Access Drain::account_unknown_mode(CoreState& core) {
  if (mode_settled_ || !may_accumulate(core)) return Access::ok;
  ControlSample nothing_stored;
  nothing_stored.host_end.fill(~0u);  // what firmware stored last may have been pushed
  if (const Access a = check_l1_before_mode(core, nothing_stored); a != Access::ok) return a;
  for (uint32_t r = 0; r < core.core.riscs; ++r)
    core.account.keep(r, prove_l1_tail({.nothing_before = !core.lanes[r].l1.unchecked}));
  return Access::ok;
}

// Of G1 firmware the front of a log proves how wide the ids are (id_width.hpp). Until then nothing is delivered: an id that
// was read in the wrong width cannot be taken back. The log of a core that proves nothing is read again when it has grown.
Access Drain::settle_generation(const CoreState& core, const ControlSample& snap) {
  const unsigned generation = attachment_.layout->format.generation;
  const bool one_of_two = generation == device::kG1.generation || generation == device::kG1Narrow.generation;
  if (attachment_.layout_given || !one_of_two) {
    generation_settled_ = true;
    return Access::ok;
  }
  const uint32_t words = std::min({snap.host_end[0], kIdWidthWords, log_capacity()}) & ~1u;
  const std::pair now{core.account.epoch(), snap.host_end[0]};
  const auto asked = widths_asked_.find(&core);
  if (words == 0 || (asked != widths_asked_.end() && asked->second == now && !last_chance_))
    return Access::ok;
  const auto log = read_landed_front(core, snap, words);
  if (!log) return log.error();
  if (log->empty()) return Access::ok;
  const IdEvidence evidence = id_width(*log, {&device::kG1, 0, core.core.flat_id}, words < snap.host_end[0]);
  widths_asked_[&core] = now;
  if (evidence.width != IdWidth::unproven) {
    generation_settled_ = true;
    use_generation(evidence.width == IdWidth::narrow ? device::kG1Narrow.generation : device::kG1.generation);
  } else if (last_chance_) {
    generation_settled_ = true;
    if (evidence.looks_narrow) use_generation(device::kG1Narrow.generation);
    if (options_.report)
      options_.report(
          "too few launches to prove whether this firmware's launch ids have 16 or 32 bits; shown as "
          "layout " +
          std::string(attachment_.layout->name) + ", --layout overrides it");
  }
  return Access::ok;
}

// By loads, which take time; at most so many, where a clock stands.
Access Drain::wait_until_landed(const CoreState& core) {
  const uint64_t began_ns = reader_.now_ns();
  for (uint32_t i = 0; i < kLandingLoads && reader_.now_ns() - began_ns < timing::kLandedNs; ++i)
    if (const auto again = sample(core); !again) return again.error();
  return Access::ok;
}

// Words from the front of BRISC's log that have landed and are of the epoch of `snap`. Empty: the core was reset meanwhile, or
// reading took so long that it may have been.
card::Expected<std::vector<uint32_t>> Drain::read_landed_front(const CoreState& core,
                                                               const ControlSample& snap, uint32_t words) {
  const std::vector<uint32_t> none;
  const uint64_t began_ns = reader_.now_ns();
  if (const Access a = wait_until_landed(core); a != Access::ok) return card::failed(a);
  if (reader_.now_ns() - began_ns < timing::kLandedNs) return none;
  std::vector<uint64_t> raw(words / 2);
  if (const Access a = reader_.log(core.core, 0, 0, raw); a != Access::ok) return card::failed(a);
  const auto again = sample(core);
  if (!again) return card::failed(again.error());
  const bool rewound = again->host_end[0] < snap.host_end[0] || again->run_counter < snap.run_counter;
  if (rewound || reader_.now_ns() - snap.read_time_ns > timing::kPollDeadlineNs) return none;
  const auto* from = reinterpret_cast<const uint32_t*>(raw.data());
  return std::vector<uint32_t>(from, from + words);
}

void Drain::use_generation(unsigned generation) {
  const markers::Layout& layout = *markers::layout_by_generation(generation);
  attachment_.layout = &layout;
  publisher_.set_generation(layout.format.generation);
  for (CoreState& each : cores_)
    for (uint8_t r = 0; r < device::kMaxRiscs; ++r)
      each.lanes[r].lane = {&layout.format, r, each.core.flat_id, mode_of(each)};
}

}  // namespace ttc::collect
