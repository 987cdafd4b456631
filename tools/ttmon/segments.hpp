// The live collectors of this machine, and a sample of each: shared memory is read, nothing else.
#pragma once
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tools/ttmon/activity/host_names.hpp"
#include "tools/ttmon/card_sample.hpp"

namespace ttc::tools {

struct LookFor {
  bool overwritten = false;      // what a reader that begins now finds overwritten
  uint64_t activity_budget = 0;  // ring bytes of all cards together; 0: no activity
};

// Stays attached from sample to sample. A collector that ended or was killed stays in the list with its last values; one that
// began under the name of another takes its place.
class Segments {
 public:
  // `names` without live:; none: every live collector, and when there is none, what earlier ones left. The host side of a
  // workload is no collector. Throws SegmentError where there is nothing.
  explicit Segments(std::vector<std::string> names);

  std::vector<CardSample> look(const LookFor& what);
  bool any_alive() const;
  void clear_activity();  // restarts the sums

 private:
  struct Losses {
    uint64_t at_ns = 0;  // CLOCK_MONOTONIC
    std::map<std::string, LossSum> sums;
  };
  struct Attached {
    explicit Attached(shm::Reader one) : reader(std::move(one)) {}
    shm::Reader reader;
    std::unique_ptr<ActivityReader> activity;
    Losses losses;
    std::optional<bool> ended;  // in order; set once no writer is running
  };
  void attach_new();
  static Writer writer_of(Attached& one);
  CardSample look_at(Attached& one, const LookFor& what);
  const std::map<std::string, LossSum>& losses_of(Attached& one, uint64_t now_ns);

  std::vector<std::string> names_;
  std::map<std::string, Attached> attached_;  // by live name
  LiveOpNames op_names_;
};

// live:NAME of every live collector; when there is none, of what earlier ones left. Throws SegmentError when there
// is nothing.
std::vector<std::string> all_collectors();

}  // namespace ttc::tools
