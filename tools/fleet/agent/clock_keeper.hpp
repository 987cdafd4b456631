// Keeps a host's clock related to that of rank 0's host, by questions over the bus, on a thread of its own. Rank 0 answers them.
#pragma once
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>

#include "tools/fleet/agent/publisher.hpp"
#include "tools/fleet/bus/bus.hpp"
#include "tools/fleet/clock/common_clock.hpp"
#include "tools/fleet/wire/identity.hpp"

namespace ttc::fleet {

class ClockKeeper {
 public:
  ClockKeeper(Bus& bus, Publisher& publisher, const Identity& who);
  ~ClockKeeper();
  void stop();  // no row comes any more

  ClockOffset now() const;
  // RAW of this host at an instant of the common time.
  std::optional<uint64_t> raw_at(uint64_t common_ns) const;

 private:
  void run();
  void ask();

  Bus& bus_;
  Publisher& publisher_;
  const Identity who_;
  const uint64_t boot_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  CommonClock clock_;  // with mutex_
  bool stop_ = false;  // with mutex_
  std::thread thread_;
};

// One question, on any connection. `clock` takes the answer; false: none came.
bool ask_common_time(Bus& bus, const std::string& subject, uint64_t own_boot, CommonClock& clock);

}  // namespace ttc::fleet
