// What firmware of one mode keeps in L1, and what that shows: the strategies of a core's machine, one a mode. The defaults are those of
// firmware that keeps no markers there.
#pragma once
#include <array>
#include <optional>
#include <span>
#include <variant>
#include <vector>

#include "collector/core/core_part.hpp"

namespace ttc::collect {

class FirmwareMode : protected CorePart {
 public:
  explicit FirmwareMode(const CorePart& part) : CorePart(part) {}
  FirmwareMode(const FirmwareMode&) = default;
  FirmwareMode& operator=(const FirmwareMode&) = delete;
  virtual ~FirmwareMode() = default;

  // A host reset that no index and no count of launches shows.
  virtual bool shows_reset(const ControlSample&) const { return false; }
  // The state of buffers in L1, where no counter shows a host reset: unchanged, cleared by a reset, or changed by firmware while
  // they were read.
  enum class L1Check : uint8_t { stands, reset, moved_on };
  virtual card::Expected<L1Check> check_l1(const ControlSample&) { return L1Check::stands; }
  // What a reset caught under way may land before its epoch begins for the drain.
  virtual bool waits_until_reset_is_over() const { return true; }
  // Called at the end of a visit: a buffer that has been begun is recognised by its first marker.
  virtual card::Access note_begun_buffers() { return card::Access::ok; }
  // Copies buffers that are valid and not yet in the log, now and then: after a host reset nothing shows how much was valid.
  virtual card::Access keep_copies(uint64_t /*now_ns*/) { return card::Access::ok; }
  // Does a frame up to `until` follow what was delivered, as far as L1 shows it?
  virtual std::optional<Proof> frame_joins(uint32_t /*risc*/, std::span<const uint32_t> /*frame*/,
                                           uint64_t /*until*/) {
    return prove_l1_tail({.holds_none = true});
  }
  // The lane's first marker, which no log may hold yet, can be distinguished from words of before.
  virtual bool stored_in_l1(uint32_t /*risc*/) const { return false; }
  // No frame was pushed since the last proof: the core has not run.
  virtual card::Expected<bool> was_idle() = 0;
  // Called after a host reset: delivers what L1 holds of the epoch that has ended, behind an interval where `across` has no
  // proof.
  using Across = std::array<std::optional<Proof>, device::kMaxRiscs>;
  virtual card::Access take_at_reset(const ControlSample&, const Across&) { return card::Access::ok; }
  // Called at the end of collecting: delivers what no log holds.
  virtual card::Access take_rest() { return card::Access::ok; }
  // Does the same from the copies, if L1 belongs to other firmware by now.
  virtual void publish_copies() {}
};

class NormalMode : public FirmwareMode {
 public:
  using FirmwareMode::FirmwareMode;
  card::Expected<bool> was_idle() override;
};

// What modes share that keep markers in L1.
class L1Markers : public FirmwareMode {
 public:
  using FirmwareMode::FirmwareMode;
  card::Access note_begun_buffers() override;

 protected:
  bool holds_marker(std::span<const uint32_t> buffer) const;
  bool may_have_stored(uint32_t risc) const;
  uint64_t known_until(uint32_t risc) const;
  std::optional<Proof> joins(uint32_t risc, std::span<const uint32_t> buffer, bool may_be_first = true) const;
  void begins(uint32_t risc, std::span<const uint32_t> buffer);
  // The pause between two copies is over.
  bool copy_is_due(uint64_t now_ns);
  static bool nothing_moved(const markers::ControlVector& before, const markers::ControlVector& after);
  void publish_rest(uint32_t risc, const std::vector<uint32_t>& rest, const std::optional<Proof>& follows);

 private:
  void publish_frame_of_rest(uint32_t risc, const std::vector<uint32_t>& rest, const Proof& in_buffer);
};

// A replay's last frame stays in L1 until the next replay pushes it.
class TraceOnlyMode : public L1Markers {
 public:
  using L1Markers::L1Markers;
  card::Access note_begun_buffers() override { return card::Access::ok; }
  card::Access keep_copies(uint64_t now_ns) override;
  card::Expected<bool> was_idle() override;
  card::Access take_rest() override;
  void publish_copies() override;
};

// Launches accumulate in L1 until a buffer is nearly full. The markers of a buffer ascend in time from the first one on, and a launch
// restarts the buffer only after a push or a host reset. So the first marker is the canary of what accumulates: while it is intact, no marker
// in front of the buffer's end is missing. A copy may come to the log later all the same: readers drop what a lane's L1 chunk already
// brought.
class AccumulatingMode : public L1Markers {
 public:
  using L1Markers::L1Markers;
  bool shows_reset(const ControlSample& snap) const override;
  card::Expected<L1Check> check_l1(const ControlSample& snap) override;
  bool waits_until_reset_is_over() const override { return false; }
  card::Access keep_copies(uint64_t now_ns) override;
  std::optional<Proof> frame_joins(uint32_t risc, std::span<const uint32_t> frame, uint64_t until) override;
  bool stored_in_l1(uint32_t risc) const override { return may_have_stored(risc); }
  card::Expected<bool> was_idle() override { return false; }  // BRISC's slots hold no launch
  card::Access take_at_reset(const ControlSample& snap, const Across& across) override;
  card::Access take_rest() override;
  void publish_copies() override;

 private:
  card::Expected<L1Check> why_restarted(uint32_t risc, const ControlSample& snap);
  card::Expected<std::optional<std::vector<uint32_t>>> whole_buffer(uint32_t risc);
  bool none_pushed() const;
  bool push_zones_are_whole(std::span<const uint32_t> buffer) const;
  bool has_run(const ControlSample& since_reset) const;
  card::Expected<bool> take_tail(uint32_t risc, const ControlSample& since);
  card::Access take_tails(const ControlSample& since, uint32_t& pushed);
};

// It is not known yet whether firmware accumulates.
class UnknownMode : public L1Markers {
 public:
  using L1Markers::L1Markers;
  card::Expected<L1Check> check_l1(const ControlSample& snap) override;
  card::Expected<bool> was_idle() override { return NormalMode(*this).was_idle(); }
  card::Access take_rest() override;
};

// The strategy for a core as its mode is now.
class InMode {
 public:
  explicit InMode(const CorePart& part) : mode_(of(part)) {}
  FirmwareMode* operator->() {
    return std::visit([](auto& mode) -> FirmwareMode* { return &mode; }, mode_);
  }

 private:
  using Any = std::variant<NormalMode, TraceOnlyMode, AccumulatingMode, UnknownMode>;
  static Any of(const CorePart& part);
  Any mode_;
};

}  // namespace ttc::collect
