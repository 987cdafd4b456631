// A running profiled workload, examined from outside: one core's index and count of launches as fast as the link allows, the words
// behind every push until they have landed, and what a results read of the host does to all cores. Only reads.
//
// The core is one whose BRISC log is the first of its memory bank, because that log's place does not depend on the size of the
// logs, which no card shows. Every conclusion is from times around loads, in the order: a load that began after ... returned a word in
// one state, and a load that ended before ... in another. Loads too close to the poll deadline are left out.
#pragma once
#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "collector/selftest/card_words.hpp"
#include "collector/selftest/tally.hpp"
#include "firmware_markers/frame.hpp"

namespace ttc::collect::selftest {

struct LogFigures {
  uint64_t polls = 0, pushes = 0, resets = 0, launches = 0;
  uint64_t landing_p50_ns = 0, landing_max_ns = 0;  // latest possible, of pushes that were observed closely
  uint64_t missed_deadlines = 0;                    // polls of the watched core more than the deadline apart
  size_t logs_found = 0, logs_elsewhere = 0;        // in their memory bank, or in another one
  unsigned numbering = 0;                           // of memory, the way that was found
};

class LogWatch {
 public:
  LogWatch(card::Card& card, const Attachment& attachment, Tallies& tallies);
  // Watches for so long of this thread's CPU time: a host that is busy elsewhere prolongs it, four times at most.
  card::Access run(uint64_t for_ns);  // may be called several times
  LogFigures finish();

 private:
  struct Poll {
    uint64_t begun = 0, ended = 0;  // begun 0: none yet
    uint32_t index = 0, runs = 0;
    bool before(const Poll& later) const { return later.index >= index && later.runs >= runs; }
  };
  // Words that an index has announced.
  struct Push {
    uint32_t from, to;
    uint64_t not_before,
        announced;  // the index was still lower by a load begun then; a load that ended then had it
    std::vector<uint32_t> first, last;
    uint64_t last_differed = 0;  // when the latest read that brought other words than the last one was begun
    unsigned reads = 0;
    std::vector<uint32_t> early;  // what stood there while the index was still lower; empty: was not read
    bool joined = false;          // of several pushes: their order is not known
  };
  struct Reset {
    uint64_t not_before, seen;
    uint32_t index, runs;
    bool over = false;
  };

  const AttachedCore& core() const { return *subject_; }
  card::Access poll(const AttachedCore& core, Poll& poll);
  card::Access read_log(uint32_t bank, uint32_t word, std::vector<uint32_t>& words);
  card::Access find_logs();
  card::Access log_is_in(const AttachedCore& core, uint32_t bank, bool& is);
  card::Access choose();
  void begin(const AttachedCore& core);
  card::Access step();
  card::Access watch_push(const Poll& now);
  card::Access read_push(Push& push, uint64_t watch_ns);
  void judge_push(const Push& push, uint64_t landed_by);
  bool verify(const std::vector<uint32_t>& words, bool keep);
  static bool is_half(const std::vector<uint32_t>& seen, const std::vector<uint32_t>& final);
  card::Access after_reset(const Poll& before, const Poll& now);
  card::Access watch_vector(const Poll& before, const Poll& now);
  void judge_regained(const Poll& now);
  void judge_launches(const Poll& now);
  void forget();
  card::Access look_ahead(uint32_t index);
  card::Access look_at_front();
  card::Access compare_loads();
  card::Access look_at_vector();

  card::Card& card_;
  const Attachment& attachment_;
  const device::Format& format_;
  Tallies& tallies_;
  LogFigures figures_;
  std::vector<const AttachedCore*> first_of_bank_;
  std::map<const AttachedCore*, Poll> last_of_;  // of those, when a core was chosen
  const AttachedCore* subject_ = nullptr;
  size_t subject_at_ = 0;
  uint32_t bank_ = 0;
  Poll last_;
  uint64_t moved_ns_ = 0, chosen_ns_ = 0;
  unsigned steps_ = 0;
  markers::FrameDigest digest_;
  bool primed_ = false;  // the digest is that of the words in front of the index
  std::optional<Push> pending_;
  std::vector<uint32_t> ahead_;    // behind the index
  std::vector<uint32_t> earlier_;  // likewise, and a later poll showed that the index had not moved
  uint32_t ahead_at_ = 0;
  uint32_t front_index_ = 0;     // when it was last read
  std::vector<uint32_t> front_;  // of this epoch's log; empty: not known
  std::optional<Reset> reset_;
  std::optional<std::pair<uint32_t, uint64_t>>
      counted_from_;  // runs, launches: at a poll without a pending push
  uint64_t launches_ = 0;
  uint64_t last_start_ = 0;
  VectorWords vector_{};
  uint64_t vector_ns_ = 0;
  std::optional<uint32_t> copied_runs_;
  std::vector<uint64_t> landings_;
};

}  // namespace ttc::collect::selftest
