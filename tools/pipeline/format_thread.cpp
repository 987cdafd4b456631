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
class FormatThread::Batch : public Workers::Job {
 public:
  explicit Batch(FormatThread& of) : of_(of) {}
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

  void run() override {
    if (of_.failed_) return;
    of_.failed_ = true;
    for (const Call& call : calls_) std::visit([&](const auto& c) { make(of_.format_, c); }, call);
    of_.failed_ = false;
  }

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

  FormatThread& of_;
  std::vector<Call> calls_;
  std::vector<markers::Marker> markers_;
  std::vector<MarkerHostTime> times_;
  std::vector<HostSemantics> semantics_;
  size_t semantics_used_ = 0;
  std::vector<uint64_t> payloads_, words_;
};

FormatThread::FormatThread(Format& format) : format_(format), order_(format.order()) {}

FormatThread::~FormatThread() = default;

FormatThread::Batch& FormatThread::filling() {
  if (filling_ && filling_->full()) hand_over();
  if (filling_) return *filling_;
  if (spare_.empty()) spare_.push_back(std::make_unique<Batch>(*this));
  filling_ = std::move(spare_.back());
  spare_.pop_back();
  return *filling_;
}

// Where there are too many, half of them are waited for: each end of a wait takes as long as some hundred markers.
void FormatThread::hand_over() {
  if (failure_) std::rethrow_exception(failure_);
  if (!filling_ || filling_->empty()) return;
  if (under_way_.size() == kDepth) wait_for_oldest(kDepth / 2);
  under_way_.push_back(std::move(filling_));
  workers_.submit(*under_way_.back(), &in_order_);
}

void FormatThread::wait_for_oldest(size_t batches) {
  try {
    if (batches) workers_.wait(*under_way_[batches - 1]);
    for (; batches > 0; --batches) {
      workers_.wait(*under_way_.front());
      under_way_.front()->clear();
      spare_.push_back(std::move(under_way_.front()));
      under_way_.pop_front();
    }
  } catch (...) {
    failure_ = std::current_exception();
    throw;
  }
}

void FormatThread::catch_up() {
  hand_over();
  wait_for_oldest(under_way_.size());
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
