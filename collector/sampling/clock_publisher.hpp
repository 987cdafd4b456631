// When a card's clock is sampled during a run, and how readers learn of it: `clock` chunks with final
// segments twice a second, the live table with everything sixteen times a second, clock domains in the standing area,
// telemetry ten times a second. The device thread's; the models are on a thread of their own (model_thread.hpp).
#pragma once
#include <cstdint>
#include <vector>

#include "collector/publish/publisher.hpp"
#include "collector/sampling/clock_sampler.hpp"
#include "collector/sampling/model_thread.hpp"
#include "collector/sampling/visibility.hpp"

namespace ttc::collect {

class ClockPublisher {
 public:
  // All outlive this. `visible`: what becomes of published().
  ClockPublisher(
      card::Card& card, ClockSampler& sampler, Publisher& publisher, shm::SegmentWriter& segment,
      Visibility::Take visible = [](uint64_t, uint64_t) {});

  // Must be called when a chunk was published whose newest marker is of that tile and time.
  void published(card::Coord tile, uint64_t marker_time, uint64_t raw_ns) {
    visibility_.published(sampler_.place_of(tile), marker_time, raw_ns);
  }

  uint64_t next_due_ns() const { return due_ns_; }  // CLOCK_MONOTONIC
  // Samples and publishes what is due.
  card::Access poll(uint64_t now_ns);
  // A few samples more, so that markers up to now get conditional bounds, and everything as final segments. Once, and last.
  // Waits for a dozen periods when the card answers and there is time; of one that is about to go away it takes
  // one sample, and the tiles that were not compared yet: some milliseconds.
  void close(bool card_answers, bool has_time);

  uint64_t bound() const {
    return bound_;
  }  // of domain 0's latest final segment before close(); kNoBound: none

 private:
  void publish_domains();
  void give(uint64_t now_ns);
  void take(ModelThread::Made made);
  void publish_fresh();
  void write_table(const ClockModels::Segments& provisional);
  void publish_telemetry(uint64_t now_ns);
  // What reading the card takes, and how full its logs became.
  void add_own_load(shm::TelemetryRecord& record);
  void count();

  card::Card& card_;
  ClockSampler& sampler_;
  Publisher& publisher_;
  shm::SegmentWriter& segment_;
  struct Segments {
    std::vector<ClockSegment> fresh;   // final, not yet in a chunk
    std::vector<ClockSegment> recent;  // final, for the live table
  };
  std::vector<Segments> domains_;   // that the models know
  std::vector<ClockInput> inputs_;  // not yet given to the models
  ModelThread models_;
  Visibility visibility_;
  uint64_t due_ns_ = 0, telemetry_due_ns_ = 0, give_due_ns_ = 0, table_due_ns_ = 0, chunk_due_ns_ = 0;
  uint64_t bound_ = kNoBound;
  uint64_t load_known_ns_ = 0, bytes_known_ = 0;
  uint32_t reported_aiclk_mhz_ = 0;  // a hint only: no bound rests on it
};

}  // namespace ttc::collect
