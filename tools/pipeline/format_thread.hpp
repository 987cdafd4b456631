// A format in a thread of its own: what the pipeline calls is kept, in order, in batches, and the format gets the same calls in the same
// order, so that its output is the same byte for byte.
//
//   pipeline's thread             batches                     format's thread
//   frame, loss, telemetry, host  -> kept, at most kDepth ->  the same calls, a batch after the other. The pipeline's thread makes them
//                                                             where it would wait
//   catch_up, begin, clock,         waits until all of them     idle meanwhile: the call is made on the pipeline's
//   names_changed, end            are done                    thread
//
// Names and clock models are the pipeline's and change in place: it calls catch_up() before it changes them. Memory: kDepth batches of
// kBatchMarkers markers, or of one frame or chunk that is larger. What the format throws is thrown again by the next call.
#pragma once
#include <cstdint>
#include <deque>
#include <exception>
#include <memory>
#include <string>
#include <vector>

#include "tools/jobs/workers.hpp"
#include "tools/pipeline/format.hpp"

namespace ttc::tools {

class FormatThread : public Format {
 public:
  explicit FormatThread(Format& format);
  ~FormatThread() override;  // what is not done yet is left out
  FormatThread(const FormatThread&) = delete;
  FormatThread& operator=(const FormatThread&) = delete;

  Order order() const override { return order_; }
  void begin(const Session& session) override;
  void frame(const FrameEvents& frame) override;
  void loss(const shm::LossRecord& record) override;
  void names_changed() override;
  void clock(uint32_t chip, const collect::ClockMap& map) override;
  void telemetry(uint32_t chip, const shm::TelemetryRecord& record) override;
  void host(std::span<const uint64_t> chunk) override;
  void catch_up() override;
  void end() override;
  std::string losses_beside(std::span<const shm::LossRecord> losses) const override {
    return format_.losses_beside(losses);
  }
  std::vector<std::string> remarks() const override { return format_.remarks(); }

 private:
  static constexpr size_t kDepth = 4;
  static constexpr size_t kBatchMarkers = 2048;     // those of all batches stay in the caches
  static constexpr size_t kBatchWords = 128 << 10;  // of host chunks

  class Batch;
  Batch& filling();
  void hand_over();
  void wait_for_oldest(size_t batches);

  Format& format_;
  const Order order_;
  std::unique_ptr<Batch> filling_;
  std::deque<std::unique_ptr<Batch>> under_way_;  // oldest first
  std::vector<std::unique_ptr<Batch>> spare_;
  std::exception_ptr failure_;  // that was thrown
  bool failed_ = false;         // a batch; those behind it are left out
  Workers::Row in_order_;
  Workers workers_{2};  // last: it ends before what its jobs use
};

}  // namespace ttc::tools
