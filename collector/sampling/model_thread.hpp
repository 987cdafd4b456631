// The clock models of a card, on a thread of their own: segments take up to ten milliseconds, and the polls of the device's thread have a
// deadline of 2.5 (timing::kPollDeadlineNs).
//
//   device's thread: reads -> give() ------> models ------> take() -> segments, what is known
//
// The thread runs on the CPUs of the process, not on those that the device's thread is kept to, without its priority (SCHED_RESET_ON_FORK), and at
// nice 10. Where it cannot keep up, the device's thread must read no more (behind()).
#pragma once
#include <condition_variable>
#include <exception>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "collector/clock/clock_models.hpp"

namespace ttc::collect {

class ModelThread {
 public:
  static constexpr size_t kMostWaiting = 4096;  // inputs: some seconds of them

  struct Made {
    ClockModels::Known known;
    ClockModels::Segments final;                       // since what was made before
    std::optional<ClockModels::Segments> provisional;  // those behind the final ones, if requested
    size_t inputs = 0;                                 // that it was made of
  };

  // Throws std::system_error where there can be no further thread.
  explicit ModelThread(uint32_t first_era) : models_(first_era), thread_([this] { work(); }) {}
  ~ModelThread() { stop(); }
  ModelThread(const ModelThread&) = delete;
  ModelThread& operator=(const ModelThread&) = delete;

  // All of these are the device's thread's. `inputs` is empty afterwards. `domains`: that the card has now.
  void give(std::vector<ClockInput>& inputs, size_t domains, bool provisional);
  // What was made since the last call; nothing: nothing yet. Nothing more is made before it is taken. Throws what the thread threw.
  std::optional<Made> take();
  // kMostWaiting inputs or more were given that nothing was made of yet.
  bool behind() const { return waiting_ >= kMostWaiting; }
  // Ends the thread. The caller's thread does the rest: all segments are final, but for those behind the last two samples. Once, and nothing else
  // is called afterwards.
  Made finish();

 private:
  struct Given {
    std::vector<ClockInput> inputs;
    size_t domains = 0;
    bool provisional = false;
    bool empty() const { return inputs.empty() && !provisional; }
  };

  static void make(ClockModels& models, const Given& given, Made& made);
  void stop();
  void work() noexcept;

  size_t waiting_ = 0;  // the device's thread's
  std::mutex mutex_;
  std::condition_variable changed_;
  Given given_;
  std::optional<Made> made_;
  std::exception_ptr failure_;
  bool stop_ = false;
  ClockModels models_;  // the thread's, while there is one
  std::thread thread_;  // last: it uses all of these
};

}  // namespace ttc::collect
