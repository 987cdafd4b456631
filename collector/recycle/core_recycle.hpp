// The states of one core's recycle (RECYCLE.md): ARM, CLEAR, SETTLE, GRACE, RESOLVE. Chunks and schedules are the drain's. The drain
// passes in the state of the lanes; a step takes a few round trips; the result has the new frames and the position of each lane. The
// only caller of CardPort::clear_indices().
#pragma once
#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "collector/attach/core_reader.hpp"
#include "collector/recycle/recycle_resolve.hpp"
#include "driver_iface/expected.hpp"

namespace ttc::collect {

// RECYCLE.md has the sources of the numbers.
struct RecycleLimits {
  uint64_t grace_ns = 1'000'000;       // a posted write has landed
  uint64_t store_within_ns = 50'000;   // of the control sample it rests on
  uint64_t patience_ns = 100'000'000;  // for words that do not fit yet
  uint64_t find_within_ns =
      50'000'000;                // the place of a core that lacks frames; the core is not drained meanwhile
  uint64_t rest_ns = 5'000'000;  // of a core after a recycle, while its log is not filled to any_moment_fill
  uint32_t keep_clear_words = 520;  // of a lane's end: the longest frame
  double least_fill = 0.25;         // of a lane, already read
  double any_moment_fill = 0.70;    // below it only where no finish is under way
  bool resolve = true;              // false: every crossing is taken for clean (tests show what that does)
};

// A lane as the drain has it when a recycle begins.
struct RecycleLane {
  markers::Lane lane;
  markers::FrameDigest digest;
  uint32_t pos = 0;              // words taken
  uint64_t frames = 0;           // taken since the host's last reset
  std::optional<int64_t> ahead;  // frames minus runs, where it is known
};

struct RecycleCore {
  AttachedCore core;
  size_t place = 0;  // of the writer's
  std::array<RecycleLane, device::kMaxRiscs> lanes;
  uint32_t capacity = 0;  // words of a lane
};

class CoreRecycle {
 public:
  enum class Step : uint8_t {
    going,     // call again
    resolved,  // outcome() has the positions of the lanes
    rewound,   // the host rewrote the vector
    surprise,  // why(); the core must not be written to until find_place() has resolved
    not_now,   // nothing was written; why() when it can never be
  };
  struct Deps {
    const CoreReader& reader;
    const Attachment& attachment;
    RecycleLimits limits;
    std::function<markers::Ceiling()> ceiling;
    std::function<void(const std::string&)> audit;  // a line a write and a line a verdict
  };

  CoreRecycle(Deps deps, const RecycleCore& core) : deps_(std::move(deps)), core_(core) {}

  // ARM and CLEAR. `baseline`: the vector's fixed words when they were last compared; filled on first use.
  card::Expected<Step> begin(std::vector<uint32_t>& baseline);
  card::Expected<Step> go_on();
  struct Result {
    std::array<LaneOutcome, device::kMaxRiscs> lanes;
    std::array<std::vector<uint32_t>, device::kMaxRiscs> old_place, front;  // what the frames point into
    std::array<uint32_t, device::kMaxRiscs> index{};
    uint32_t runs = 0;     // RUN_COUNTER then
    bool settled = false;  // so frames minus runs is exact
    uint32_t cleared = 0;  // bit r
    uint64_t read_time_ns = 0;
  };
  // RUN_COUNTER at the end of a recycle, and whether frames minus runs was exact.
  struct Counted {
    uint32_t runs = 0;
    bool settled = false;
  };
  // A lane found empty is read again, now that its index has moved. `cleared`: bit r.
  static CoreRecycle reopened(Deps deps, const RecycleCore& core, uint32_t cleared, const Counted& earlier);
  // Writes nothing. Where the lanes of a core stand whose frames could not be counted: ends resolved, with lacks_frames(), or in a
  // surprise.
  static CoreRecycle find_place(Deps deps, const RecycleCore& core);

  // How long the next step may wait.
  uint64_t pause_ns(uint64_t busy_ns) const {
    const bool at_once = phase_ == Phase::settle || phase_ == Phase::find;
    return at_once ? busy_ns : std::max(busy_ns, deps_.limits.grace_ns / 4);
  }
  const Result& result() const { return result_; }
  const std::string& why() const { return why_; }
  uint32_t cleared() const { return cleared_; }
  uint64_t began_ns() const { return began_ns_; }
  uint64_t round_trips() const { return trips_; }
  const std::array<uint32_t, device::kMaxRiscs>& highest_seen() const { return highest_seen_; }
  bool crossed() const { return crossed_; }
  bool slow() const { return slow_; }
  // Frames may be missing in front of those of each lane whose verdict is found_again; why().
  bool lacks_frames() const { return lacks_frames_; }
  bool only_finds_place() const { return only_finds_place_; }

 private:
  struct ControlSample {
    uint32_t runs_before = 0, runs_after = 0;
    std::array<uint32_t, device::kMaxRiscs> index{};
    uint32_t done = 0;
    uint64_t read_ns = 0;       // before the first load
    uint64_t transport_ns = 0;  // likewise: the card's account of it
    bool idle() const { return runs_before == runs_after && done == 1; }
    // Runs whose frames an index can show at most.
    int64_t most() const { return int64_t{runs_after} + (idle() ? 0 : 1); }
  };
  card::Expected<ControlSample> sample_control();
  card::Expected<bool> fixed_words_hold(std::vector<uint32_t>& baseline);  // false: why_ names the difference
  card::Expected<Step> clear();
  card::Expected<Step> arm(std::vector<uint32_t>& baseline);
  card::Expected<Step> step_on();
  card::Expected<Step> settle();
  card::Expected<Step> resolve();
  card::Access read_places();
  card::Expected<Step> lose_place(std::string why);
  card::Expected<bool> read_on();  // false: there is more
  card::Expected<Step> look_for_place();
  bool find_lanes();
  bool ends_with_brisc(uint32_t risc) const;
  bool may_drop(uint32_t index) const { return index + deps_.limits.keep_clear_words > core_.capacity; }
  bool is_full(uint32_t risc) const;
  FrameRange allowed(uint32_t risc) const;
  FrameRange crossing() const;
  Step choose();  // resolved: result_ holds the one reading that fits; going: words have yet to land
  bool moved_back(const ControlSample& after) const;
  std::optional<uint32_t> overtaken(const ControlSample& after) const;
  Step take();
  card::Expected<Step> not_found();
  std::vector<LaneOutcome> readings(uint32_t risc) const;
  std::string nothing_fits(uint32_t risc) const;
  bool agrees_with_brisc(uint32_t risc, const LaneOutcome& brisc, const LaneOutcome& other) const;
  bool gone_back(const ControlSample& s);
  uint64_t since_before() const;
  uint64_t store_within() const;
  void report(const std::string& what) const;
  Step end(Step step, std::string why);

  Deps deps_;
  RecycleCore core_;
  enum class Phase : uint8_t { settle, grace, resolve, find } phase_ = Phase::settle;
  uint32_t cleared_ = 0;
  ControlSample before_;                                    // the store rests on it
  ControlSample counts_;                                    // that counts
  std::array<uint32_t, device::kMaxRiscs> highest_seen_{};  // in the new lap
  std::optional<uint32_t> first_runs_;                      // in the first control sample after the store
  uint32_t last_runs_ = 0;
  uint32_t settled_again_ = 0;
  uint64_t counts_ns_ = 0, resolve_since_ns_ = 0, began_ns_ = 0, trips_ = 0;
  bool slow_ = false, crossed_ = false;
  bool lacks_frames_ = false;      // counts and places do not fit: each lane's place is looked for
  bool only_finds_place_ = false;  // nothing was cleared
  uint64_t lost_place_ns_ = 0;
  uint32_t find_risc_ = 0;  // the lane that is being read
  Result result_;
  std::string why_;
};

}  // namespace ttc::collect
