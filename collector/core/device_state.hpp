// The drain's state of a device, beside its state of each core: values, and no access to the card.
#pragma once
#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "collector/attach/attach.hpp"
#include "collector/attach/region_size.hpp"
#include "collector/continuity/device_clock.hpp"
#include "collector/continuity/host_resets.hpp"
#include "collector/core/core_state.hpp"
#include "collector/recycle/recycling.hpp"

namespace ttc::collect {

struct DrainOptions {
  uint32_t bytes_per_risc = 0;                  // 0: learn
  uint64_t busy_interval_ns = 50'000;           // a core that had news is visited again after this
  uint64_t idle_interval_ns = 1'000'000;        // worst case between two visits of a Tensix core
  uint64_t ethernet_interval_ns = 100'000'000;  // an Ethernet core is never visited more often
  double lines_per_s = 0;                       // that visits may read (visit_budget.hpp); 0: no limit
  std::function<void()>
      before_publish;  // words were read and will be published: time to look for their names
  // A marker of this tile with this time was on the card before `host_ns` (by the attachment's clock).
  std::function<void(card::Coord tile, uint64_t marker_time, uint64_t host_ns)> seen;
  Recycling* recycling = nullptr;  // null: the card is only read
  std::function<void(const std::string&)>
      report;  // conditions that a user must act on: a log that fills, a refusal
};

struct DrainCounters {
  uint64_t programs = 0, markers = 0, frames = 0, epochs = 0, retries = 0, sweeps = 0;
  // Polls of Tensix cores so late after the one before that an epoch may have gone by unseen: this process, or the card, was kept
  // waiting.
  uint64_t missed_poll_deadlines = 0;
  uint64_t lines_beyond_share = 0;  // of drains before this one
  uint64_t recovered_words = 0, unparsable_words = 0, dropped_runs = 0;
};

// Facts about the card's kind.
struct CardFacts {
  uint64_t clock_mhz;    // nominal
  size_t banks;          // of DRAM
  unsigned numberings;   // of memory channels that it may have
  bool indices_may_lag;  // a core may use a cached index after a store of recycling
};

struct DeviceState {
  // `size_hints`: sizes of logs to try first.
  DeviceState(const CardFacts& the_facts, const Attachment& attached, const DrainOptions& the_options,
              std::vector<uint32_t> size_hints)
      : facts(the_facts),
        attachment(attached),
        options(the_options),
        region_size(attachment, the_options.bytes_per_risc, the_facts.numberings, std::move(size_hints)),
        clock({attached.begun_ns, attached.begun_cycles}, the_facts.clock_mhz),
        mode_known(attached.mode_given || attached.layout->format.trace_status == 0),
        firmware_checked_ns(attached.begun_ns) {}
  DeviceState(const DeviceState&) = delete;  // region_size refers to the attachment
  DeviceState& operator=(const DeviceState&) = delete;

  CardFacts facts;
  Attachment attachment;  // layout and mode may be found out later
  DrainOptions options;
  RegionSize region_size;
  DeviceClock clock;
  bool mode_known;
  bool generation_known = false;
  HostResets resets;
  std::vector<CoreState> cores;
  DrainCounters counters;
  bool firmware_changed = false;     // the firmware that was attached to is not on the card any more
  uint64_t firmware_checked_ns = 0;  // on any core
  bool ending = false;               // the last polls: nothing is recycled any more
  bool last_chance =
      false;  // likewise, and each core had one: what is unproven is decided by the evidence so far
  bool skipped_words = false;  // in the last sweep
  bool took_a_part = false;    // a visit of the last sweep, of the words that it could have taken
  uint64_t line_ns = 0;        // what a line of the log takes, of late
  uint64_t visit_lines =
      ~uint64_t{0};  // that the visit under way may take of the logs, about; 0: it is a poll alone
  uint64_t size_waits_since_ns = 0;
  bool waiting_reported = false;
  bool fill_reported = false;
  double highest_fill = 0;  // of a log, at any poll
  // For each core the epoch and BRISC's index when its log did not prove the width of ids.
  std::map<const CoreState*, std::pair<uint32_t, uint32_t>> widths_tried;
  std::map<std::string, std::set<const CoreState*>> refusals;  // why cores are not recycled

  uint32_t log_words() const { return region_size.bytes() / 4; }
  // Any frame fits up to this word of a log, overrun or not.
  uint32_t roomy_until() const { return log_words() - std::min(log_words(), 2u * device::kBufferWords); }
  // Replays are recorded on Tensix cores only.
  device::Mode mode_of(const AttachedCore& core) const {
    const bool elsewhere =
        attachment.mode == device::Mode::trace_only && core.kind != markers::CoreKind::tensix;
    return elsewhere ? device::Mode::normal : attachment.mode;
  }
};

}  // namespace ttc::collect
