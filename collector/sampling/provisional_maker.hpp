// Provisional segments, made by a thread of its own from copies of the models: that takes up to ten milliseconds, and the polls of the device's
// thread have a deadline of 2.5 (timing::kPollDeadlineNs). A copy takes 0.1 ms.
//
// The thread runs on the CPUs of the process, not on those that the device's thread is kept to, without its priority (SCHED_RESET_ON_FORK), and at
// nice 10.
#pragma once
#include <condition_variable>
#include <exception>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "collector/clock/clock_estimator.hpp"

namespace ttc::collect {

class ProvisionalMaker {
 public:
  using Segments = std::vector<std::vector<ClockSegment>>;  // by domain

  // Throws std::system_error where there can be no further thread.
  ProvisionalMaker() : thread_([this] { work(); }) {}
  ~ProvisionalMaker();
  ProvisionalMaker(const ProvisionalMaker&) = delete;
  ProvisionalMaker& operator=(const ProvisionalMaker&) = delete;

  // The device's thread:
  bool idle() const { return !under_way_; }  // nothing is made, and nothing waits to be taken
  // Only where it is idle.
  void begin(std::vector<ClockEstimator> models);
  // What was made of the models given last, once; nothing: not yet. Throws what the thread threw.
  std::optional<Segments> take();

 private:
  void work() noexcept;

  bool under_way_ = false;  // the device's thread's
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<ClockEstimator> models_;  // not empty: given
  std::optional<Segments> made_;
  std::exception_ptr failure_;
  bool stop_ = false;
  std::thread thread_;  // last: it uses all of these
};

}  // namespace ttc::collect
