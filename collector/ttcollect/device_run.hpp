// One device from opening to its account.
//
// attach() and collect() belong to the device's thread (one thread a card, driver_iface/card.hpp), everything
// else to the supervisor. Handing over must order memory, as a mutex does.
#pragma once
#include <memory>
#include <string>

#include "collector/attach/attach.hpp"
#include "collector/attach/zone_logs.hpp"
#include "collector/host/host_fit.hpp"
#include "collector/host/real_time.hpp"
#include "collector/inspect/device_list.hpp"
#include "collector/io/event_flag.hpp"
#include "collector/record/capture_writer.hpp"
#include "collector/sampling/clock_publisher.hpp"
#include "collector/sampling/link_probe.hpp"
#include "collector/ttcollect/run.hpp"
#include "driver_iface/pci_functions.hpp"

namespace ttc::collect {

// What a live line shows, out of the segment's counters.
struct LiveFigures {
  uint64_t cores = 0, programs = 0, markers = 0, loss_intervals = 0, sweep_p50_ns = 0, round_trips = 0;
  uint64_t card_bytes = 0, window_moves = 0, link_bytes_per_s = 0;
};

class DeviceRun {
 public:
  // Both references outlive this.
  DeviceRun(const RunOptions& options, ChosenDevice device, const Halt& halt);

  const std::string& spec() const { return device_.spec; }
  const std::string& live_name() const {
    return card_->identity().live_name;
  }  // once attached, before it goes

  // Opens the card and finds its profiler, trying until `deadline_ns` (CLOCK_MONOTONIC). Throws
  // card::OpenError, AttachError.
  void attach(uint64_t deadline_ns);

  // Makes the segment. Throws shm::SegmentError.
  void start();
  uint64_t session() const { return session_; }
  // The workload's process, 0 where it is not known.
  int workload_pid() const { return card_->identity().workload_pid; }
  // Must be called between start() and collect(). `capture` outlives this. Throws shm::SegmentError.
  void record_to(CaptureWriter& capture);
  // Undoes start().
  void withdraw();

  // Drains until it is to halt or the card goes (with `reattach`: until it is to halt), ends the segment and
  // closes the card.
  void collect();

  // Replaces the rest of collect() after it threw: the segment is left as that of a collector that did not end in order.
  void break_off(const std::string& why);
  // Valid after collect(): the run ended because the card left, not on request.
  bool card_left() const { return card_left_; }
  // Must be called after collect(): releases the segment, so that others read it as ended and a next collector may
  // have it.
  void let_go();

  LiveFigures figures() const;  // after start(), while collect() runs too; the last ones after let_go()
  DeviceResult result() const;  // after collect() and the capture's finish()

 private:
  void attach_once();
  void learn_the_link();
  void choose_place();
  void settle_thread();
  std::optional<card::PciFunction> place_of(const card::Identity& identity) const;
  // Why a stretch of collecting is over.
  enum class End { halted, leaving, gone, reloaded };
  End drain_until_halted();
  void make_drain(Carried carried);
  void limit_link_share();
  void start_recycling();
  void audit(const std::string& line) const;
  End collect_stretch();
  End take_what_is_visible(End end);  // device_end.cpp
  bool await_return();
  End await_workload();
  bool try_attach_again();
  void begin_workload(Carried carried);
  void let_workload_go();
  void let_card_go();
  void note(const std::string& text) const;    // a second line is advice, and indented
  void detail(const std::string& text) const;  // with --verbose
  void poll_names();
  void count_suspicions();
  void start_sampler();
  void count_visible(uint64_t after_ns, uint64_t bound_ns);
  std::string session_text(uint32_t first_epoch) const;
  void take_account();
  card::GuardedCard::Account suspicions() const;

  RunOptions options_;
  ChosenDevice device_;
  const Halt& halt_;
  CaptureWriter* capture_ = nullptr;
  const CaptureWriter::Track* track_ = nullptr;
  uint64_t collecting_since_ = 0;
  std::unique_ptr<card::GuardedCard> card_;
  Attachment attachment_;
  LinkProbe link_;
  double link_bytes_per_s_ = 0;
  bool link_nominal_ = false;  // by sysfs, not measured
  std::optional<card::PciFunction> place_;
  CpuChoice cpus_;
  int memory_node_ = -1;
  MemoryLock memory_lock_;             // set with --realtime
  std::optional<RealTime> real_time_;  // of the device's thread, while it collects with --realtime
  card::Transactions before_collecting_;
  std::unique_ptr<shm::SegmentWriter> segment_;
  uint64_t session_ = 0;
  std::unique_ptr<EventLoop> loop_;
  std::unique_ptr<Publisher> publisher_;
  std::unique_ptr<LogReader> logs_;
  std::unique_ptr<ZoneLogs> names_;
  struct CloseFile {
    void operator()(FILE* file) const { std::fclose(file); }
  };
  std::unique_ptr<FILE, CloseFile> audit_;
  std::unique_ptr<Recycling> recycling_;  // null: the card is only read
  RecycleAccount recycle_account_;        // of cards that were reset while collecting
  std::unique_ptr<Drain> drain_;
  std::unique_ptr<ClockSampler> sampler_;  // null: --no-sync
  std::unique_ptr<ClockPublisher> clock_;  // likewise
  DurationStats visible_after_;
  bool names_full_ = false;
  card::GuardedCard::Account earlier_suspicions_;  // of cards that were reset while collecting
  uint64_t returns_ = 0;
  uint64_t workloads_ = 1;  // that were attached to
  std::vector<card::Coord> sampled_tiles_;
  bool card_left_ = false;
  LiveFigures last_figures_;
  DeviceResult result_;
};

}  // namespace ttc::collect
