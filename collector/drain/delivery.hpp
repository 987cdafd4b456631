// Makes a published chunk of announced words: fetches them in one go, verifies them frame by frame, publishes them or leaves
// them for the next visit.
#pragma once
#include <boost/container/static_vector.hpp>
#include <optional>
#include <span>

#include "collector/core/core_part.hpp"

namespace ttc::collect {

class Delivery : CorePart {
 public:
  explicit Delivery(const CorePart& part) : CorePart(part) {}

  card::Access deliver(const ControlSample& snap, uint64_t now_ns);

 private:
  static constexpr uint32_t kHeadWords = 4;  // of a frame: sentinel, identity, host id

  // New words of one lane, in the claimed slot.
  struct Fetched {
    LaneState* lane;
    uint32_t risc;
    uint32_t lead;  // words of the canary in front
    uint32_t words;
    uint32_t ahead;        // words behind them in the same line: where the next frame will begin
    bool cut;              // the log continues behind it
    uint32_t data_offset;  // of the first new word, from the chunk's start
  };
  template <class T>
  using OfLanes = boost::container::static_vector<T, device::kMaxRiscs>;

  OfLanes<Fetched> plan(const ControlSample& snap, uint64_t& bytes) const;
  std::optional<Fetched> plan_lane(uint32_t risc, const ControlSample& snap, uint32_t most,
                                   uint64_t begin) const;
  card::Expected<bool> same_epoch(const ControlSample& snap, std::span<const Fetched> fetched,
                                  const uint64_t* slot, bool interrupted);
  void accept(const Fetched& f, const uint64_t* slot, const ControlSample& snap, uint64_t now_ns,
              const Proof& joined, OfLanes<Publisher::Span>& spans);
  bool settled(LaneState& lane, std::span<const uint32_t> words, uint64_t read_since_ns);
  void give_up(const Fetched& f, std::span<const uint32_t> words);
};

}  // namespace ttc::collect
