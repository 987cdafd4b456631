// Keeps the last part of every ring ready and writes it on request, by a signal or a trigger. No data goes to
// the disk before. Reads the rings as one more reader on a thread of its own.
//
// The rings are sized so that what is kept is not overwritten while it is written: twice the flight size, so
// that as much again may come meanwhile.
#pragma once
#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "collector/record/process_end.hpp"
#include "collector/record/snapshot.hpp"
#include "collector/record/triggers.hpp"
#include "shm/reader.hpp"

namespace ttc::collect {

struct FlightOptions {
  uint64_t bytes = 0;  // of each ring that a recording holds; 0: no flight recorder
  TriggerRules rules;
  uint64_t pre_ns = 0;                 // before the trigger; 0: as much as `bytes` holds
  uint64_t post_ns = 0;                // after it
  uint64_t every_ns = 10'000'000'000;  // at most one recording in so long; what triggers sooner is counted
  std::string path;  // run.ttc: recordings are run.0001.ttc, ..., behind those that are there
  bool plain = false;
  bool redact = false;
  HostClock clock = raw_now_ns;  // chunks are dated in it
};

struct FlightRecording {
  std::string why;
  SnapshotResult file;
  std::string error;  // it could not be written
};

class FlightRecorder {
 public:
  // The callback is called from the recorder's thread for each recording.
  FlightRecorder(const FlightOptions& options, std::function<void(const FlightRecording&)> reported);
  ~FlightRecorder();

  // `workload_pid`: 0: not known, then no trigger fires at its exit. Throws shm::SegmentError.
  void add(const std::string& live_name, int workload_pid);
  void ask(const std::string& why);  // from any thread; bound by no rate
  // Must be called after every segment was ended: writes a recording that is due. If the exit of workloads triggers
  // one, it is waited for that long: a card may be gone before the process that it belongs to.
  void finish(uint64_t await_exit_ns = 0);

  const std::vector<FlightRecording>& recordings() const { return recordings_; }  // after finish()
  uint64_t held_back() const { return held_back_; }                               // triggers, by the rate

 private:
  struct Track {
    Track(const std::string& name, const TriggerRules& rules, int pid)
        : reader(name, shm::StartAt::oldest), watch(rules), workload(pid) {}
    shm::Reader reader;
    TriggerWatch watch;
    ProcessEnd workload;
    bool over = false;
    bool reported_exit = false;
  };

  void run();
  void watch_all();
  bool follow(Track& track);
  void poll_track(Track& track);
  void poll_workload(Track& track);
  bool exit_may_come(const std::vector<Track*>& all) const;
  void trigger(const std::string& why);
  void due_for(const std::string& why, uint64_t now_ns);
  void record();

  const FlightOptions options_;
  const std::function<void(const FlightRecording&)> reported_;
  const size_t earlier_;  // the number of the last recording of a run before this one, which stays
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::unique_ptr<Track>> tracks_;  // with mutex_; never removed
  std::optional<std::string> asked_;            // with mutex_
  bool finishing_ = false;                      // with mutex_
  uint64_t exit_until_ns_ = 0;                  // with mutex_; of CLOCK_MONOTONIC

  // The thread's own.
  std::string why_;       // of the recording that is due
  uint64_t why_ns_ = 0;   // when the reason came up
  uint64_t due_ns_ = 0;   // of options_.clock, as the others; 0: none is
  uint64_t last_ns_ = 0;  // when the latest was triggered
  std::vector<FlightRecording> recordings_;
  uint64_t held_back_ = 0;
  std::thread thread_;
};

}  // namespace ttc::collect
