// Zones in, programs out, in bounded memory.
//
// A log holds a program in pieces: core after core, for every dump. Pieces are kept open in the order in
// which their programs were first seen; when the open ones take more than a budget, the oldest is closed and
// handed over. What comes for a closed program later makes an op of its own that says so (`late`); a dump of
// tt-metal (1000 programs) fits the default budget many times.
//
// Where a log does not number replays (13 columns), the same launch comes again under the same id: a piece
// that begins anew on a processor belongs to the next execution, told apart by time.
#pragma once
#include <bitset>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "tools/report/programs/device_op.hpp"

namespace ttc::report {

class OpBuilder : public Listener {
 public:
  static constexpr size_t kDefaultBudget = 64 << 20;  // bytes
  // Per core of a program that is being closed; valid during the call.
  struct CoreTime {
    uint8_t x = 0, y = 0;
    Range kernel;               // of any marker of a *-KERNEL zone
    uint64_t dm_start = ~0ull;  // first ZONE_START of BRISC-KERNEL or NCRISC-KERNEL
    uint64_t last_end = 0;      // last ZONE_END of a *-KERNEL zone
    bool firmware = false;
    uint8_t riscs = 0;    // bit LogRisc: this processor had a *-FW start; bit kRiscs: an ERISC's twin
    uint8_t kernels = 0;  // the same, had a *-KERNEL marker
  };
  using Done = std::function<void(const DeviceOp&, std::span<const CoreTime>)>;

  explicit OpBuilder(Done done, size_t budget = kDefaultBudget) : done_(std::move(done)), budget_(budget) {}

  void events(const LaneEvents& batch) override;
  void end();  // closes what is open

  uint64_t without_id() const { return without_id_; }  // markers of no program (host id 0)
  uint64_t late() const { return late_; }

 private:
  struct Piece;
  struct Open {
    DeviceOp op;
    std::vector<CoreTime> cores;
    std::bitset<256> met;        // of cores, by the low bits of their places; not set: the core is new
    std::unique_ptr<Open> next;  // execution of the same launch
    uint64_t opened_after = 0;   // what of its device was closed for want of room by then
  };
  struct Hash {
    size_t operator()(const Launch& l) const {
      uint64_t h = l.host_id * 0x9e3779b97f4a7c15ull;
      h ^= (static_cast<uint64_t>(l.trace_counter) + (static_cast<uint64_t>(l.trace_id) << 20)) *
           0xc2b2ae3d27d4eb4full;
      return static_cast<size_t>((h ^ (h >> 29)) + l.chip * 0x165667b19e3779f9ull);
    }
  };
  Open& open(const Launch& launch);
  static Open& execution_of(Open& first, const Lane& lane, const Piece& piece);
  static CoreTime& core_of(Open& o, const Lane& lane);
  void fold(const Launch& launch, const Lane& lane, const Piece& piece);
  void dispatch(const LaneEvents& batch);
  void close(Open& first);
  void close_oldest();

  Done done_;
  size_t budget_;
  size_t bytes_ = 0;
  std::unordered_map<Launch, Open, Hash> open_;
  std::deque<Launch> order_;
  std::unordered_map<uint32_t, uint64_t> closed_until_;  // by chip: latest start closed for room
  std::unordered_map<uint64_t, Launch> serving_;         // by dispatch lane
  bool ended_ = false;
  uint64_t without_id_ = 0, late_ = 0;
};

}  // namespace ttc::report
