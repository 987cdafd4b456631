// Commands that came over the bus, one after another on a thread of their own. Each is logged.
#pragma once
#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

#include "tools/fleet/agent/clock_keeper.hpp"
#include "tools/fleet/agent/dumps.hpp"
#include "tools/fleet/agent/triggers.hpp"
#include "tools/fleet/bus/bus.hpp"

namespace ttc::fleet {

class Orders {
 public:
  static constexpr size_t kMostWaiting = 64;
  static constexpr uint64_t kHoldOffNs = 10'000'000'000;  // between two dumps by triggers

  struct Place {
    Identity who;
    std::string directory;  // of dumps and of the log
    std::vector<std::string> live_names;
    bool quiet = false;
  };
  // `name_of`: as Triggers has it; from the thread that calls op().
  Orders(Bus& bus, const ClockKeeper& clock, Place place, std::function<AgentState()> state,
         Triggers::NameOf name_of);
  ~Orders();

  // Called from the reader's thread.
  void op(const OpRow& row);
  std::vector<std::string> armed() const;
  uint64_t last_end_ns() const { return last_end_ns_; }
  void send_progress();

 private:
  void take(const Message& message);
  void run();
  void obey(const Message& message);
  std::string answer_to(const Command& command);
  void fired(const std::string& why);
  void log(const std::string& line) const;

  Bus& bus_;
  const ClockKeeper& clock_;
  const Place place_;
  const std::function<AgentState()> state_;
  Dumps dumps_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Message> waiting_;  // with mutex_
  bool stop_ = false;            // with mutex_
  mutable std::mutex rules_mutex_;
  Triggers triggers_;  // with rules_mutex_
  std::atomic<uint64_t> ops_{0}, last_end_ns_{0};
  uint64_t last_fired_ns_ = 0;  // with rules_mutex_
  std::thread thread_;
};

}  // namespace ttc::fleet
