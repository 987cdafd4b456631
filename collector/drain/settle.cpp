// What the card's firmware was built for, where attaching could not tell because nothing had run yet.
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

// What the firmware was built for shows in L1 only, and once something ran. Two looks at one core must agree:
// a launch that is just being opened may look like another mode. A core that nothing ran on costs one line.
Access Drain::settle_mode(CoreState& core, uint64_t now_ns, bool urgent) {
  if (mode_settled_ || (!urgent && now_ns < core.mode_due_ns) || core.core.kind != markers::CoreKind::tensix)
    return Access::ok;
  core.mode_due_ns = now_ns + kModeEveryNs;
  for (bool again : {false, true}) {
    std::optional<device::Mode> mode;
    if (const Access a = look_at_mode(core, mode); a != Access::ok || mode_settled_) return a;
    if (mode == device::Mode::normal) return Access::ok;
    if (!mode) {  // reset since it was seen?
      if (core.mode_seen == device::Mode::normal) return Access::ok;
      core.mode_due_ns = 0;
      if (last_chance_) use_mode(core.mode_seen);  // no second look will come
      return Access::ok;
    }
    if (std::exchange(core.mode_seen, *mode) == *mode) return use_mode(*mode), Access::ok;
    core.mode_due_ns = 0;
    if (again) break;
    if (const Access a = wait_until_landed(core); a != Access::ok) return a;
  }
  return Access::ok;
}

// What L1 looks like; nothing where firmware stores nothing now.
Access Drain::look_at_mode(const CoreState& core, std::optional<device::Mode>& mode) {
  std::array<uint32_t, 68> words{};
  const uint32_t stored = attachment_.layout->format.device_end;
  if (const Access a = read_part(core, {stored & ~1u, 2}, words.data()); a != Access::ok) return a;
  if (words[stored] == 0) return Access::ok;
  markers::ControlVector v;
  std::vector<uint32_t> buffer;
  Access a = read_vector(core, v);
  if (a == Access::ok) a = read_buffer(core, 0, buffer);
  if (a != Access::ok) return a;
  mode = markers::mode_of(v, buffer);
  // A recorded launch, as normal firmware leaves it. Accumulating firmware stamps no id, and right after a
  // push its buffer differs in nothing else from a normal one.
  if (mode == device::Mode::normal)
    mode_settled_ = v.run_counter != 0 && v.done == 1 && buffer[device::kIdHost] != 0;
  return Access::ok;
}

// BRISC's first frame in a log shows accumulating firmware, too: L1 does not right after a push. Until that frame has landed, and until
// L1 was looked at twice, nothing is delivered: frames that are read in the wrong mode cannot be taken back.
Access Drain::settle_mode_by_log(const CoreState& core, const Snapshot& snap, bool& decided) {
  decided = mode_settled_ || !may_accumulate(core);
  if (decided) return Access::ok;
  if (snap.host_end[0] == 0) return decided = core.mode_seen != device::Mode::accumulate, Access::ok;
  if (core.lanes[0].cursor != 0) return decided = true, Access::ok;
  std::vector<uint32_t> front;
  if (const Access a = read_landed_front(core, snap, device::kFirstCustomWord + 2, front); a != Access::ok)
    return a;
  decided = !front.empty();
  if (decided && markers::looks_accumulated(front)) use_mode(device::Mode::accumulate);
  return Access::ok;
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
  Snapshot nothing_stored;
  nothing_stored.host_end.fill(~0u);  // what firmware stored last may have been pushed
  if (const Access a = check_l1_before_mode(core, nothing_stored); a != Access::ok) return a;
  for (uint32_t r = 0; r < core.core.riscs; ++r)
    if (core.lanes[r].l1_unchecked) core.account.break_off(r);
  return Access::ok;
}

// Of G1 firmware the front of a log proves how wide the ids are (id_width.hpp). Until then nothing is delivered: an id that
// was read in the wrong width cannot be taken back. A core whose log proves nothing is asked again when it has more.
Access Drain::settle_generation(const CoreState& core, const Snapshot& snap) {
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
  std::vector<uint32_t> log;
  if (const Access a = read_landed_front(core, snap, words, log); a != Access::ok || log.empty()) return a;
  const IdEvidence evidence = id_width(log, {&device::kG1, 0, core.core.flat_id}, words < snap.host_end[0]);
  widths_asked_[&core] = now;
  if (evidence.width != IdWidth::unproven) {
    generation_settled_ = true;
    use_generation(evidence.width == IdWidth::narrow ? device::kG1Narrow.generation : device::kG1.generation);
  } else if (last_chance_) {
    generation_settled_ = true;
    if (evidence.looks_narrow) use_generation(device::kG1Narrow.generation);
    if (options_.tell)
      options_.tell(
          "too few launches to prove whether this firmware's launch ids have 16 or 32 bits; shown as "
          "layout " +
          std::string(attachment_.layout->name) + ", --layout overrides it");
  }
  return Access::ok;
}

// By loads, which take time; at most so many, where a clock stands.
Access Drain::wait_until_landed(const CoreState& core) {
  Snapshot again;
  const uint64_t began_ns = attachment_.clock();
  for (uint32_t i = 0; i < kLandingLoads && attachment_.clock() - began_ns < timing::kLandedNs; ++i)
    if (const Access a = read_snapshot(core, again); a != Access::ok) return a;
  return Access::ok;
}

// Words from the front of BRISC's log that have landed and are of the epoch of `snap`. Empty: the core was reset meanwhile, or
// reading took so long that it may have been.
Access Drain::read_landed_front(const CoreState& core, const Snapshot& snap, uint32_t words,
                                std::vector<uint32_t>& front) {
  front.clear();
  Snapshot again;
  const uint64_t began_ns = attachment_.clock();
  if (const Access a = wait_until_landed(core); a != Access::ok) return a;
  if (attachment_.clock() - began_ns < timing::kLandedNs) return Access::ok;
  std::vector<uint64_t> raw(words / 2);
  const LogRead read{core.core.bank, log_address(core, 0, 0), raw};
  if (const Access a = logs_.read({&read, 1}); a != Access::ok) return a;
  if (const Access a = read_snapshot(core, again); a != Access::ok) return a;
  const bool rewound = again.host_end[0] < snap.host_end[0] || again.run_counter < snap.run_counter;
  if (rewound || attachment_.clock() - snap.read_time_ns > timing::kPollDeadlineNs) return Access::ok;
  const auto* from = reinterpret_cast<const uint32_t*>(raw.data());
  front.assign(from, from + words);
  return Access::ok;
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
