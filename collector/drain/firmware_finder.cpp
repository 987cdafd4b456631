#include "collector/drain/firmware_finder.hpp"

#include <algorithm>
#include <utility>

#include "collector/continuity/id_width.hpp"

namespace ttc::collect {
namespace {

using card::Access;

constexpr uint64_t kModeEveryNs = 20'000'000;
constexpr uint32_t kIdWidthWords =
    4 * (device::kBufferWords + 4);  // holds four launches, whatever they record

}  // namespace

// Finds where logs are, how large they are and how their words are to be read. Until all of it is known no word is
// delivered.
card::Expected<bool> FirmwareFinder::layout_known(const ControlSample& snap) {
  if (!dev.region_size.known()) {
    if (const Access a =
            dev.region_size.learn(reader, core.tile,
                                  {snap.host_end, core.landing.landed(), snap.run_counter, snap.read_time_ns,
                                   dev.attachment.mode, dev.mode_known, may_accumulate()});
        a != Access::ok)
      return card::failed(a);
    reader.use_log_bytes(dev.region_size.bytes());
    if (!dev.region_size.known()) {
      report_waiting(
          dev.size_waits_since_ns,
          "how many bytes each log has was not found out yet; a program that ends on a core whose log "
          "has room shows it, or --region-bytes gives it: 48 or 64 times the program support count");
      return false;
    }
  }
  if (!dev.generation_known)
    if (const Access a = settle_generation(snap); a != Access::ok) return card::failed(a);
  if (!dev.generation_known) return false;
  const auto mode = mode_decided_by_log(snap);
  if (mode && !*mode)
    report_waiting(
        core.mode.waits_since_ns,
        "how the firmware was built was not found out yet, since no first frame has landed in BRISC's "
        "log of " +
            place() + " although an index announces one; a launch that ends shows it, or --mode gives it");
  else
    core.mode.waits_since_ns = 0;
  return mode;
}

// What the firmware was built for shows in L1 only, and once something ran. Two polls of one core must agree:
// a launch that is just being opened may have the marks of another mode. A core that nothing ran on costs one line.
Access FirmwareFinder::settle_mode(uint64_t now_ns, bool urgent) {
  if (dev.mode_known || (!urgent && now_ns < core.mode.due_ns) || !is_tensix()) return Access::ok;
  core.mode.due_ns = now_ns + kModeEveryNs;
  for (bool again : {false, true}) {
    const auto seen = read_mode();
    if (!seen) {
      core.mode.due_ns = 0;
      return seen.error();
    }
    if (dev.mode_known) return Access::ok;
    const std::optional<device::Mode> mode = *seen;
    if (mode == device::Mode::normal) return Access::ok;
    if (!mode) {  // reset since it was read?
      if (core.mode.seen == device::Mode::normal) return Access::ok;
      core.mode.due_ns = 0;
      if (dev.last_chance) use_mode(core.mode.seen);  // no second poll will come
      return Access::ok;
    }
    if (std::exchange(core.mode.seen, *mode) == *mode) return use_mode(*mode), Access::ok;
    core.mode.due_ns = 0;
    if (again) break;
    if (const Access a = wait_until_landed(); a != Access::ok) return a;
  }
  return Access::ok;
}

// The mode that L1 shows; no value if firmware stores no marker now.
card::Expected<std::optional<device::Mode>> FirmwareFinder::read_mode() {
  const auto stored = reader.stored_by_brisc(core.tile);
  if (!stored) return card::failed(stored.error());
  if (*stored == 0) return std::nullopt;
  const auto vector = reader.vector(core.tile);
  if (!vector) return card::failed(vector.error());
  const auto buffer = reader.buffer(core.tile, 0);
  if (!buffer) return card::failed(buffer.error());
  const std::optional<device::Mode> mode = markers::mode_of(*vector, *buffer);
  // A recorded launch, as normal firmware leaves it. Accumulating firmware stamps no id, and right after a
  // push its buffer is otherwise the same as a normal one.
  if (mode == device::Mode::normal)
    dev.mode_known = vector->run_counter != 0 && vector->done == 1 && (*buffer)[device::kIdHost] != 0;
  return mode;
}

// BRISC's first frame in a log shows accumulating firmware, too: L1 does not right after a push. Until that frame has landed, and until
// L1 was examined twice, no word is delivered: frames that are read in the wrong mode cannot be withdrawn.
card::Expected<bool> FirmwareFinder::mode_decided_by_log(const ControlSample& snap) {
  if (dev.mode_known || !may_accumulate()) return true;
  if (snap.host_end[0] == 0) return core.mode.seen != device::Mode::accumulate;
  if (core.lanes[0].cursor != 0) return true;
  const auto front = read_landed_front(snap, device::kFirstCustomWord + 2);
  if (!front) return card::failed(front.error());
  if (!front->empty() && markers::looks_accumulated(*front)) use_mode(device::Mode::accumulate);
  return !front->empty();
}

void FirmwareFinder::use_mode(device::Mode mode) {
  dev.mode_known = true;
  dev.attachment.mode = mode;
  for (CoreState& each : dev.cores)
    for (LaneState& lane : each.lanes) lane.lane.mode = dev.mode_of(each.tile);
}

// The front of a G1 log proves how wide the ids are (id_width.hpp). Until then no word is delivered: an id that was read in
// the wrong width cannot be withdrawn. The log of a core without a proof is read again when it has grown.
Access FirmwareFinder::settle_generation(const ControlSample& snap) {
  const unsigned generation = dev.attachment.layout->format.generation;
  const bool one_of_two = generation == device::kG1.generation || generation == device::kG1Narrow.generation;
  if (dev.attachment.layout_given || !one_of_two) {
    dev.generation_known = true;
    return Access::ok;
  }
  const uint32_t words = std::min({snap.host_end[0], kIdWidthWords, dev.log_words()}) & ~1u;
  const std::pair now{core.account.epoch(), snap.host_end[0]};
  const auto tried = dev.widths_tried.find(&core);
  if (words == 0 || (tried != dev.widths_tried.end() && tried->second == now && !dev.last_chance))
    return Access::ok;
  const auto log = read_landed_front(snap, words);
  if (!log) return log.error();
  if (log->empty()) return Access::ok;
  const IdEvidence evidence = id_width(*log, {&device::kG1, 0, core.tile.flat_id}, words < snap.host_end[0]);
  dev.widths_tried[&core] = now;
  if (evidence.width != IdWidth::unproven) {
    dev.generation_known = true;
    use_generation(evidence.width == IdWidth::narrow ? device::kG1Narrow.generation : device::kG1.generation);
  } else if (dev.last_chance) {
    dev.generation_known = true;
    if (evidence.looks_narrow) use_generation(device::kG1Narrow.generation);
    if (dev.options.report)
      dev.options.report(
          "too few launches to prove whether this firmware's launch ids have 16 or 32 bits; shown as "
          "layout " +
          std::string(dev.attachment.layout->name) + ", --layout overrides it");
  }
  return Access::ok;
}

// Words from the front of BRISC's log that have landed and are of the epoch of `snap`. Empty: the core was reset meanwhile, or
// reading took so long that it may have been.
card::Expected<std::vector<uint32_t>> FirmwareFinder::read_landed_front(const ControlSample& snap,
                                                                        uint32_t words) {
  const std::vector<uint32_t> none;
  const uint64_t began_ns = reader.now_ns();
  if (const Access a = wait_until_landed(); a != Access::ok) return card::failed(a);
  if (reader.now_ns() - began_ns < timing::kLandedNs) return none;
  std::vector<uint64_t> raw(words / 2);
  if (const Access a = reader.log(core.tile, 0, 0, raw); a != Access::ok) return card::failed(a);
  const auto again = sample();
  if (!again) return card::failed(again.error());
  const bool back = again->host_end[0] < snap.host_end[0] || again->run_counter < snap.run_counter;
  if (back || reader.now_ns() - snap.read_time_ns > timing::kPollDeadlineNs) return none;
  const auto* from = reinterpret_cast<const uint32_t*>(raw.data());
  return std::vector<uint32_t>(from, from + words);
}

void FirmwareFinder::use_generation(unsigned generation) {
  const markers::Layout& layout = *markers::layout_by_generation(generation);
  dev.attachment.layout = &layout;
  publisher.set_generation(layout.format.generation);
  for (CoreState& each : dev.cores)
    for (uint8_t r = 0; r < device::kMaxRiscs; ++r)
      each.lanes[r].lane = {&layout.format, r, each.tile.flat_id, dev.mode_of(each.tile)};
}

}  // namespace ttc::collect
