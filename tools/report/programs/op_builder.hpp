// Zones in, programs out, in bounded memory.
//
// Programs are held open in the order of their first markers; when they take more than a budget, the
// oldest is put aside on disk (program_parts.hpp). At the end all are handed over, in order of chip, host id,
// trace id and trace counter: a log may bring a part of any program in its last row.
#pragma once
#include <cstdint>
#include <deque>
#include <functional>
#include <span>
#include <unordered_map>

#include "tools/report/programs/program_parts.hpp"

namespace ttc::report {

class OpBuilder : public Listener {
 public:
  static constexpr size_t kDefaultBudget = 16 << 20;  // bytes
  // The cores of an execution are valid during the call.
  using Done = std::function<void(const DeviceOp&, std::span<const CoreTime>)>;

  explicit OpBuilder(Done done, size_t budget = kDefaultBudget) : done_(std::move(done)), budget_(budget) {}

  // Throws std::runtime_error, as Spill does.
  void events(const LaneEvents& batch) override;
  bool wants_all_events() const override { return false; }
  void end();  // hands over all programs

  uint64_t without_id() const { return without_id_; }  // markers of no program (host id 0)

 private:
  struct Hash {
    size_t operator()(const Launch& l) const {
      uint64_t h = l.host_id * 0x9e3779b97f4a7c15ull;
      h ^= (static_cast<uint64_t>(l.trace_counter) + (static_cast<uint64_t>(l.trace_id) << 20)) *
           0xc2b2ae3d27d4eb4full;
      return static_cast<size_t>((h ^ (h >> 29)) + l.chip * 0x165667b19e3779f9ull);
    }
  };
  Program& open(const Launch& launch);
  void fold(const LaneEvents& batch, const LanePiece& piece);
  static void fold_times(Execution& execution, const Lane& lane, const LanePiece& piece);
  void dispatch(const LaneEvents& batch);
  void put_aside_oldest();
  void close(Execution& execution);

  Done done_;
  size_t budget_;
  size_t bytes_ = 0;
  std::unordered_map<Launch, Program, Hash> open_;
  std::pair<const Launch, Program>* latest_ =
      nullptr;  // of open_: frames of a launch come in a row; null: it may be gone
  std::deque<Launch> order_;
  ProgramParts aside_;
  std::unordered_map<uint64_t, Launch> serving_;  // by dispatch lane
  uint64_t without_id_ = 0;
};

}  // namespace ttc::report
