// State and functions shared by the parts of a core's machine. A part is made for the visit of one core and owns no object.
#pragma once
#include <cstdint>
#include <span>
#include <string>

#include "collector/attach/core_reader.hpp"
#include "collector/continuity/firmware_kind.hpp"
#include "collector/core/device_state.hpp"
#include "collector/publish/publisher.hpp"
#include "firmware_markers/frame.hpp"

namespace ttc::collect {

struct CorePart {
  DeviceState& dev;
  CoreReader& reader;
  Publisher& publisher;
  CoreState& core;

  // Ages of the last clock reading: in passing; and where a frame is doubted, or an epoch recovered.
  static constexpr uint64_t kClockEveryNs = 10'000'000, kCeilingAgeNs = 1'000'000;

  bool is_tensix() const { return core.tile.kind == markers::CoreKind::tensix; }
  device::Mode mode() const { return dev.mode_of(core.tile); }
  FirmwareKind kind() const { return kind_of(mode()); }
  // While the mode is not known, the first firmware may be accumulating firmware, whose buffers a host reset takes without a
  // trace.
  bool may_accumulate() const;

  // Reads the card's clock, where the last reading is older than that. Four round trips and a window move.
  void read_clock(uint64_t older_than_ns) const;
  uint64_t cycles_at(uint64_t host_ns) const;  // reads the clock if `host_ns` is behind the last reading
  markers::Ceiling ceiling() const { return {true, dev.clock.ceiling(reader.now_ns())}; }

  card::Expected<ControlSample> sample(std::optional<uint64_t> begun_ns = {}) const {
    return reader.sample(core.tile, may_accumulate(), begun_ns);
  }
  // Samples until what was announced at the first has landed: by loads, which take time; at most so many, in case a clock has stopped.
  card::Access wait_until_landed() const;
  // Sampled again: the log is not empty any more.
  card::Expected<bool> is_being_pushed() const;

  bool words_wait(const ControlSample& snap) const;
  bool has_news(const ControlSample& snap) const {
    return snap.run_counter != core.runs.counter || words_wait(snap);
  }
  // A push may have been dropped since, even where no index moves any more (quick push on dispatch cores).
  bool near_full(const ControlSample& snap) const;
  uint32_t longest_frame() const {
    return dev.options.recycling ? dev.options.recycling->options.limits.keep_clear_words
                                 : device::kBufferWords + 8;
  }

  // A host reset was noticed. `long_ago`: another one may have passed in front of it.
  void note_reset(bool long_ago) const;
  // Launches of which BRISC has a frame: other lanes may come later to them.
  void remember_hosts(std::span<const uint32_t> hosts) const;
  Publisher::Core chunk_core(uint32_t run_counter, uint64_t read_time_ns, uint32_t notes) const;
  void announce_names() const {
    if (dev.options.before_publish) dev.options.before_publish();
  }
  // Markers wait in the logs. Usually for a run or two; if it does not end, the user must be informed.
  void report_waiting(uint64_t& since_ns, const std::string& why) const;
  std::string place() const;
};

}  // namespace ttc::collect
