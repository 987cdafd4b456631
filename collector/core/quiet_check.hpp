// A poll without news: has something come and gone since the poll before?
#pragma once
#include "collector/core/core_part.hpp"

namespace ttc::collect {

class QuietCheck : CorePart {
 public:
  explicit QuietCheck(const CorePart& part) : CorePart(part) {}

  enum class Front : uint8_t { not_read, empty, frame };
  // What a poll brought.
  struct Poll {
    uint64_t begun_ns = 0;
    bool in_doubt = false;
    Front front = Front::not_read;  // read before the sample
    ControlSample sample;
  };
  // If no frame of this epoch was delivered: reads whether a later frame is at the front of a log.
  card::Expected<Front> read_front();
  card::Access conclude(const Poll& poll);
  // Another core was reset, or this poll came late, and the core has no news.
  card::Access check_unseen_reset(Front front);

  // The state of the core's last launch, which L1 holds.
  enum class LastRun : uint8_t { delivered, undelivered, open };
  card::Expected<LastRun> read_last_run();
  // A frame that is later than what was delivered is at the front of the lane's log.
  enum class FrontKinds : uint8_t { launches, all };
  card::Expected<bool> frame_waits_at_front(uint32_t risc, FrontKinds kinds);

 private:
  card::Access check_last_run(bool& decided);
  card::Access check_never_seen(bool& decided);
};

}  // namespace ttc::collect
