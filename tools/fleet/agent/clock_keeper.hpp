// Keeps a host's clock related to that of rank 0's host, by questions over the bus, on a thread of its own. Rank 0 answers them.
#pragma once
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

#include "tools/fleet/agent/publisher.hpp"
#include "tools/fleet/bus/bus.hpp"
#include "tools/fleet/clock/common_clock.hpp"
#include "tools/fleet/clock/host_clock.hpp"
#include "tools/fleet/wire/identity.hpp"
#include "tools/ranks/clock_points.hpp"

namespace ttc::fleet {

class ClockKeeper {
 public:
  ClockKeeper(Bus& bus, Publisher& publisher, const Identity& who);
  ~ClockKeeper();
  void stop();  // no row comes any more

  ClockOffset now() const;
  // RAW of this host at an instant of the common time.
  std::optional<uint64_t> raw_at(uint64_t common_ns) const;
  // How it was from `from_raw_ns` to `to_raw_ns`, at most `most` points, the ends among them.
  tools::RankClock during(uint64_t from_raw_ns, uint64_t to_raw_ns, size_t most) const;

 private:
  void run();
  void ask();
  void publish_offset();

  Bus& bus_;
  Publisher& publisher_;
  const Identity who_;
  const uint64_t number_;
  HostClockDiscipline discipline_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  CommonClock clock_;           // with mutex_
  tools::ClockPoints history_;  // with mutex_: a point a second
  uint64_t history_of_ = 0;     // with mutex_: reference
  bool stop_ = false;           // with mutex_
  std::thread thread_;
};

// One question, on any connection. `clock` takes the answer; false: none came.
bool ask_common_time(Bus& bus, const std::string& subject, uint64_t own_number, const Discipline& own,
                     CommonClock& clock);

}  // namespace ttc::fleet
