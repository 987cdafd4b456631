#include "tools/pipeline/format_thread.hpp"

#include <algorithm>
#include <utility>
#include <variant>

namespace ttc::tools {

namespace {

// The first word of a marker's payload and how many there are.
uint32_t payload_words(const markers::Marker& m) {
  using markers::MarkerType;
  if (m.type == MarkerType::ts_data_16b) return 2;
  return m.type == MarkerType::zone_total || m.type == MarkerType::ts_data ? 1 : 0;
}

}  // namespace

// Calls, and what they refer to, in memory that is used again.
class FormatThread::Batch {
 public:
  bool empty() const { return calls_.empty(); }
  bool full() const { return markers_.size() >= kBatchMarkers || words_.size() >= kBatchWords; }

  void frame(const FrameEvents& f) {
    Frame kept{f, markers_.size(), times_.size(), semantics_used_, payloads_.size()};
    markers_.insert(markers_.end(), f.markers.begin(), f.markers.end());
    for (auto m = markers_.end() - static_cast<ptrdiff_t>(f.markers.size()); m != markers_.end(); ++m)
      if (const uint32_t words = payload_words(*m)) keep_payload(f, *m, words, kept.payloads_from);
    times_.insert(times_.end(), f.host_times.begin(), f.host_times.end());
    for (const HostSemantics& s : f.semantics) {
      if (semantics_used_ == semantics_.size()) semantics_.emplace_back();
      semantics_[semantics_used_++] = s;  // keeps the strings' memory
    }
    calls_.emplace_back(kept);
  }
  void loss(const shm::LossRecord& record) { calls_.emplace_back(record); }
  void telemetry(uint32_t chip, const shm::TelemetryRecord& record) {
    calls_.emplace_back(Telemetry{chip, record});
  }
  void host(std::span<const uint64_t> chunk) {
    calls_.emplace_back(Host{words_.size(), chunk.size()});
    words_.insert(words_.end(), chunk.begin(), chunk.end());
  }

  void make_calls(Format& format) const {
    for (const Call& call : calls_) std::visit([&](const auto& c) { make(format, c); }, call);
  }
  void clear() {
    calls_.clear(), markers_.clear(), times_.clear(), payloads_.clear(), words_.clear();
    semantics_used_ = 0;
  }

 private:
  struct Frame {
    FrameEvents events;  // its spans are of the caller, those below count
    size_t markers_from, times_from, semantics_from, payloads_from;
  };
  struct Telemetry {
    uint32_t chip;
    shm::TelemetryRecord record;
  };
  struct Host {
    size_t from, words;
  };
  using Call = std::variant<Frame, shm::LossRecord, Telemetry, Host>;

  void keep_payload(const FrameEvents& f, markers::Marker& m, uint32_t words, size_t from) {
    const auto at = static_cast<uint32_t>(payloads_.size() - from);
    for (uint32_t word = 0; word < words; ++word) payloads_.push_back(f.payload(m, word));
    m.payload = at;
  }

  void make(Format& format, const Frame& kept) const {
    FrameEvents f = kept.events;
    f.markers = std::span(markers_).subspan(kept.markers_from, f.markers.size());
    f.host_times = std::span(times_).subspan(kept.times_from, f.host_times.size());
    f.semantics = std::span(semantics_).subspan(kept.semantics_from, f.semantics.size());
    f.payloads = std::span(payloads_).subspan(kept.payloads_from);
    format.frame(f);
  }
  void make(Format& format, const shm::LossRecord& record) const { format.loss(record); }
  void make(Format& format, const Telemetry& t) const { format.telemetry(t.chip, t.record); }
  void make(Format& format, const Host& h) const { format.host(std::span(words_).subspan(h.from, h.words)); }

  std::vector<Call> calls_;
  std::vector<markers::Marker> markers_;
  std::vector<MarkerHostTime> times_;
  std::vector<HostSemantics> semantics_;
  size_t semantics_used_ = 0;
  std::vector<uint64_t> payloads_, words_;
};

FormatThread::FormatThread(Format& format)
    : format_(format), order_(format.order()), thread_([this] { work(); }) {}

FormatThread::~FormatThread() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
    changed_.notify_all();
  }
  thread_.join();
}

FormatThread::Batch& FormatThread::filling() {
  if (filling_ && filling_->full()) hand_over();
  if (!filling_) {
    const std::lock_guard lock(mutex_);
    if (!spare_.empty()) {
      filling_ = std::move(spare_.back());
      spare_.pop_back();
    }
  }
  if (!filling_) filling_ = std::make_unique<Batch>();
  return *filling_;
}

void FormatThread::hand_over() {
  if (!filling_ || filling_->empty()) return;
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return failure_ || ready_.size() < kDepth; });
  if (failure_) std::rethrow_exception(failure_);
  ready_.push_back(std::move(filling_));
  changed_.notify_all();
}

void FormatThread::catch_up() {
  hand_over();
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return failure_ || ready_.empty(); });
  if (failure_) std::rethrow_exception(failure_);
}

void FormatThread::work() noexcept {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return stop_ || (!ready_.empty() && !failure_); });
    if (stop_) return;
    Batch& batch = *ready_.front();
    lock.unlock();
    std::exception_ptr failure;
    try {
      batch.make_calls(format_);
    } catch (...) {
      failure = std::current_exception();
    }
    lock.lock();
    failure_ = failure;
    batch.clear();
    spare_.push_back(std::move(ready_.front()));
    ready_.erase(ready_.begin());
    changed_.notify_all();
  }
}

void FormatThread::frame(const FrameEvents& frame) {
  filling().frame(frame);
}
void FormatThread::loss(const shm::LossRecord& record) {
  filling().loss(record);
}
void FormatThread::telemetry(uint32_t chip, const shm::TelemetryRecord& record) {
  filling().telemetry(chip, record);
}
void FormatThread::host(std::span<const uint64_t> chunk) {
  filling().host(chunk);
}

void FormatThread::begin(const Session& session) {
  catch_up();
  format_.begin(session);
}
void FormatThread::names_changed() {
  catch_up();
  format_.names_changed();
}
void FormatThread::clock(uint32_t chip, const collect::ClockMap& map) {
  catch_up();
  format_.clock(chip, map);
}
void FormatThread::end() {
  catch_up();
  format_.end();
}

}  // namespace ttc::tools
