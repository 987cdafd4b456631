// Whether a results read of the host resets all cores: counts of launches of some cores, again and again in one order. What is concluded
// rests on the order of loads; a round that took longer than the poll deadline ends what was being followed, so that a busy host costs
// observations and turns none round.
#pragma once
#include <cstdint>
#include <vector>

#include "collector/selftest/card_words.hpp"
#include "collector/selftest/tally.hpp"

namespace ttc::collect::selftest {

// Pure. One core is the anchor, which is examined before the others of every round.
//   for it: another core's count fell, and the anchor's, which fell too, is still 0 in a later load: no program ran in between.
//   against it: the anchor's count fell and has risen again, and another core's count is what it was before, though no program ran
//   often enough for it to be back there.
class ResetOrder {
 public:
  explicit ResetOrder(Tallies& tallies) : tallies_(tallies) {}

  struct Round {
    uint64_t begun = 0, ended = 0;  // ns, around all of its loads
    uint32_t anchor = 0;
    std::vector<uint32_t> others;
  };
  void add(Round round);
  void forget();  // other cores come, or time has passed

 private:
  struct Other {
    uint32_t had = 0;  // before the anchor's count fell; 0: it is not followed
    bool fell = false;
    bool along = false;  // and the anchor had not run again
  };
  void begin(const Round& now);
  void follow(const Round& now);

  Tallies& tallies_;
  Round before_, last_;  // begun 0: none
  bool following_ = false;
  std::vector<Other> others_;
};

class ResetWatch {
 public:
  ResetWatch(card::Card& card, const Attachment& attachment, Tallies& tallies);
  card::Access run(uint64_t until_ns);  // may be called several times, each time with further cores

 private:
  card::Access choose(uint64_t until_ns);
  card::Access load(const AttachedCore& core, uint32_t& runs);

  card::Card& card_;
  const Attachment& attachment_;
  ResetOrder order_;
  std::vector<const AttachedCore*> tensix_, chosen_;  // of those chosen the first is the anchor
  size_t turn_ = 0;
};

}  // namespace ttc::collect::selftest
