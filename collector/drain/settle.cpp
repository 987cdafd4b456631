// What the card's firmware was built for, where attaching could not tell because nothing had run yet.
#include <utility>

#include "collector/drain/drain.hpp"

namespace ttc::collect {
namespace {

using card::Access;

constexpr uint64_t kModeEveryNs = 20'000'000;
constexpr uint32_t kGenerationTries = 64;

}  // namespace

// What the firmware was built for shows in L1 only, and once something ran. Two looks at one core must agree:
// a launch that is just being opened may look like another mode. A core that nothing ran on costs one line.
Access Drain::settle_mode(CoreState& core, uint64_t now_ns, bool news) {
  if (mode_settled_ || (!news && now_ns < core.mode_due_ns) || core.core.kind != markers::CoreKind::tensix)
    return Access::ok;
  core.mode_due_ns = now_ns + kModeEveryNs;
  std::array<uint32_t, 68> words{};
  const uint32_t stored = attachment_.layout->format.device_end;
  if (const Access a = read_part(core, {stored & ~1u, 2}, words.data()); a != Access::ok) return a;
  if (words[stored] == 0) {  // reset since it was seen?
    if (core.mode_seen != device::Mode::normal) core.mode_due_ns = 0;
    return Access::ok;
  }
  markers::ControlVector v;
  std::vector<uint32_t> buffer;
  Access a = read_vector(core, v);
  if (a == Access::ok) a = read_buffer(core, 0, buffer);
  if (a != Access::ok) return a;
  const device::Mode mode = markers::mode_of(v, buffer);
  if (mode == device::Mode::normal) {
    // A recorded launch, as normal firmware leaves it. Accumulating firmware stamps no id, and right after a
    // push nothing else tells its buffer from a normal one.
    mode_settled_ = v.run_counter != 0 && v.done == 1 && buffer[device::kIdHost] != 0;
    return Access::ok;
  }
  if (std::exchange(core.mode_seen, mode) != mode) {
    core.mode_due_ns = 0;
    return Access::ok;
  }
  mode_settled_ = true;
  attachment_.mode = mode;
  for (CoreState& each : cores_)
    for (LaneState& lane : each.lanes) lane.lane.mode = mode_of(each);
  return Access::ok;
}

// Before the first run nothing tells G1 with 16-bit ids from G1; with the region's size known, something ran.
// An id with the count of runs under it shows twice on any core, or once on one that holds still; 32-bit ids
// only there, or on many that do not.
Access Drain::settle_generation(const CoreState& core) {
  if (attachment_.layout_given || attachment_.layout->format.generation != device::kG1.generation) {
    generation_settled_ = true;
    return Access::ok;
  }
  markers::ControlVector before, after;
  std::vector<uint32_t> buffer;
  Access a = read_vector(core, before);
  if (a == Access::ok) a = read_buffer(core, 0, buffer);
  if (a == Access::ok) a = read_vector(core, after);
  if (a != Access::ok) return a;
  const bool still = before.run_counter == after.run_counter && before.done == 1 && after.done == 1 &&
                     before.run_counter != 0;
  const bool looks_narrow = markers::has_narrow_ids(before, buffer) || markers::has_narrow_ids(after, buffer);
  const bool again = looks_narrow && narrow_at_run_ != 0 && narrow_at_run_ != after.run_counter;
  if (looks_narrow) narrow_at_run_ = after.run_counter;
  generation_settled_ = again || still || ++generation_tries_ >= kGenerationTries;
  if (!generation_settled_ || !(still ? looks_narrow : again)) return Access::ok;
  const markers::Layout& narrow = *markers::layout_by_generation(device::kG1Narrow.generation);
  attachment_.layout = &narrow;
  publisher_.set_generation(narrow.format.generation);
  for (CoreState& each : cores_)
    for (uint8_t r = 0; r < device::kMaxRiscs; ++r)
      each.lanes[r].lane = {&narrow.format, r, each.core.flat_id, mode_of(each)};
  return Access::ok;
}

}  // namespace ttc::collect
