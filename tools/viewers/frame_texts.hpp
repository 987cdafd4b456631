// What a viewer's format writes of frames, made by any thread (collector/include/ttcollect/workers.hpp), between what it writes at once. The owner does what is
// bound to the order of frames: it pairs zones, numbers labels, and keeps of each step what its text needs. The text of some hundred frames is then
// made by one thread, and written in order, so that the output is the same for every number of threads.
//
//   owner         begin(), add(): records into the batch. at_once(): text of its own at this place, which goes into the batch, too.
//                 ready(), add_ready(): text that another thread has made before (zones/frame_text_maker.hpp), and its place
//   any thread    the oldest batch that no thread has: its text into memory
//   owner         the oldest text to the output, as soon as it is ready, or where too many batches are under way
//
// One thread: each frame is written when it ends. Memory: kBatchesAThread of kBatchSteps steps (or one frame that has more) for each thread, and
// their text.
#pragma once
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tools/output/output.hpp"
#include "tools/output/thread_memory.hpp"
#include "tools/viewers/timeline.hpp"
#include "ttcollect/workers.hpp"

namespace ttc::tools {

// Of a step what most have not.
struct StepExtra {
  std::optional<uint32_t> host_id = {};  // instead of the frame's
  std::string name = {};                 // instead of the label's; empty: the label's
  std::string meta = {};
  std::vector<EventField> fields = {};  // in place of `meta` and values
  std::vector<uint64_t> flows = {};
  uint64_t values[2] = {};
  uint8_t value_count = 0;
};
// Nothing, where the step of a begin or a mark has none of it. In the order of steps.
inline std::optional<StepExtra> extra_of(const FrameEvents& f, const ZoneStep& step, MarkerExtras& extras) {
  const markers::Marker& m = f.markers[step.marker];
  const HostSemantics* const more = extras.semantics(step.marker);
  const EventText* const text = extras.text(step.marker);
  const bool payload = has_payload(m.type) && !text;
  if (!more && !text && !payload) return std::nullopt;
  StepExtra extra;
  if (more) {
    extra.host_id = more->host_id;
    extra.name = more->name;
    if (!text) extra.meta = more->meta;
  }
  if (text) {
    extra.name = text->name;
    extra.fields = text->fields;
    extra.flows = text->flows;
  }
  if (!payload) return extra;
  const bool wide = m.type == markers::MarkerType::ts_data_16b;
  extra.value_count = wide ? 2 : 1;
  for (uint32_t i = 0; i < extra.value_count; ++i) extra.values[i] = f.payload(m, i);
  return extra;
}
// False: no step of the frame but those with data has any of it.
inline bool has_extras(const TimelineFrame& frame) {
  return !frame.events.semantics.empty() || !frame.texts.empty();
}

// `Of` and `Label` are the format's own, for a lane and a label. What they hold for steps that were added must not change.
template <class Of, class Label>
class FrameTexts {
 public:
  struct Frame {
    const Of* of = nullptr;
    uint64_t flow = 0;
    uint32_t host_id = 0;
    uint16_t replay = 0;
  };
  struct Step {
    uint64_t ns = 0;
    uint64_t length_ns = 0;  // of a begin whose end is in its frame
    uint64_t cycles = 0;     // of the zone that begins or ends; 0: not known
    const Label* label = nullptr;
    uint32_t bound_ns = kNoDurationBound;
    uint32_t extra = kNoMarker;  // its place in the batch
    ZoneStep::Kind kind = ZoneStep::Kind::mark;
    Flaw flaw = Flaw::none;
    bool aside = false, whole = false;  // whole: begin and end are in one frame
    bool flow = false;                  // the frame's leads here
  };
  // Any thread; `extra` may be null.
  using Encode = std::function<void(const Frame&, const Step&, const StepExtra* extra, Output& to)>;

  FrameTexts(Output& out, Encode encode)
      : out_(out), memory_(out.workers() ? out.workers()->threads() : 1), encode_(std::move(encode)) {
    batch_ = fresh();
  }
  ~FrameTexts() {
    if (out_.workers()) out_.workers()->forget_all();
  }
  FrameTexts(const FrameTexts&) = delete;
  FrameTexts& operator=(const FrameTexts&) = delete;

  bool on_threads() const { return out_.workers() != nullptr; }
  // Where what is written at once comes behind the steps so far.
  Output& at_once() {
    if (out_.workers()) return batch_->at_once;
    write_batch();
    return out_;
  }
  // The steps that follow are of this frame.
  void begin(const Frame& frame) {
    frame_ = frame;
    begun_ = true;
  }
  // Text that `thread` made, which is taken out of `text`: parts of it come by add_ready(), as long as no other is taken. With other threads only.
  void ready(Output& text, unsigned thread) {
    if (batch_->ready) hand_over();
    ready_ = std::make_shared<Ready>(memory_, thread, text.take_rows({}));
  }
  // Of threads, for such texts.
  ThreadMemory& memory() { return memory_; }
  void add_ready(size_t from, size_t to) {
    if (from == to) return;
    Batch& b = *batch_;
    if (!b.ready) b.ready = ready_;
    const size_t at_once = b.at_once.bytes_in_memory();
    begun_ = true;  // steps behind it are a part of their own
    if (!b.parts.empty() && b.at_once_end == at_once) {
      Part& last = b.parts.back();
      if (last.ready_to == from && last.first_step == b.steps.size()) {
        last.ready_to = to;
        return;
      }
    }
    b.parts.push_back({frame_, at_once, b.steps.size(), from, to});
    b.at_once_end = at_once;
  }
  // Another step, to be filled in before the next call.
  Step& add() {
    Batch& b = *batch_;
    if (const size_t at_once = b.at_once.bytes_in_memory(); begun_ || b.at_once_end != at_once) {
      b.parts.push_back({frame_, at_once, b.steps.size(), 0, 0});
      b.at_once_end = at_once;
      begun_ = false;
    }
    return b.steps.emplace_back();
  }
  // Of a step that was added last.
  void add_extra(Step& step, StepExtra extra) {
    step.extra = static_cast<uint32_t>(batch_->extras.size());
    batch_->extras.push_back(std::move(extra));
  }
  void end() {
    if (!out_.workers())
      write_batch();
    else if (batch_->steps.size() >= kBatchSteps || batch_->at_once.bytes_in_memory() >= kBatchBytes)
      hand_over();
  }
  // Everything is in the output.
  void settle() {
    if (!out_.workers()) return write_batch();
    hand_over();
    while (!under_way_.empty()) write_oldest();
    while (!placed_.empty()) finish_placed();
  }

 private:
  static constexpr size_t kBatchSteps = 2048;  // stay in the caches
  static constexpr size_t kBatchBytes = 256 << 10;
  static constexpr size_t kBatchesAThread = 4;

  struct Part {  // text at once, then text that was ready, then steps
    Frame frame;
    size_t at_once_end, first_step, ready_from, ready_to;
  };
  // A text, whose memory goes back to its thread.
  class Ready {
   public:
    Ready(ThreadMemory& memory, unsigned thread, OutputMemory text)
        : memory_(memory), thread_(thread), text_(std::move(text)) {}
    ~Ready() { memory_.give(thread_, std::move(text_)); }
    Ready(const Ready&) = delete;
    Ready& operator=(const Ready&) = delete;
    unsigned thread() const { return thread_; }
    std::string_view of(size_t from, size_t to) const { return {text_.data() + from, to - from}; }

   private:
    ThreadMemory& memory_;
    const unsigned thread_;
    OutputMemory text_;
  };
  class Batch : public jobs::Workers::Job {
   public:
    explicit Batch(const Encode& encode) : encode_(encode) {}
    void put(Output& to) const {
      const std::string_view written = at_once.in_memory_so_far();
      size_t done = 0;
      for (size_t i = 0; i < parts.size(); ++i) {
        const Part& part = parts[i];
        to.append(written.substr(done, part.at_once_end - done));
        if (part.ready_to > part.ready_from) to.append(ready->of(part.ready_from, part.ready_to));
        const size_t end = i + 1 < parts.size() ? parts[i + 1].first_step : steps.size();
        for (size_t step = part.first_step; step < end; ++step) {
          const Step& s = steps[step];
          encode_(part.frame, s, s.extra == kNoMarker ? nullptr : &extras[s.extra], to);
        }
        done = part.at_once_end;
      }
      to.append(written.substr(done));
    }
    void clear() {
      parts.clear(), steps.clear(), extras.clear();
      at_once.forget();
      at_once_end = 0;
      ready.reset(), placed.reset();
    }
    std::shared_ptr<const Ready> ready;    // null: no part has any; the owner alone shares it
    std::unique_ptr<Output::Rows> placed;  // what writes it without a copy; null: `text` is made and written
    std::vector<Part> parts;
    std::vector<Step> steps;
    std::vector<StepExtra> extras;
    size_t at_once_end = 0;  // of the last part
    Output at_once = Output::in_memory(), text = Output::in_memory();

   private:
    void run() override { put(text); }
    const Encode& encode_;
  };

  std::unique_ptr<Batch> fresh() {
    if (spare_.empty()) return std::make_unique<Batch>(encode_);
    std::unique_ptr<Batch> batch = std::move(spare_.back());
    spare_.pop_back();
    return batch;
  }
  void write_batch() {
    if (batch_->steps.empty()) return;
    batch_->put(out_);
    batch_->clear();
    begun_ = true;
  }
  size_t most_batches() const { return kBatchesAThread * out_.workers()->threads(); }
  void hand_over() {
    jobs::Workers& workers = *out_.workers();
    while (under_way_.size() >= most_batches() ||
           (!under_way_.empty() && (under_way_.front()->placed || workers.done(*under_way_.front()))))
      write_oldest();
    under_way_.push_back(std::exchange(batch_, fresh()));
    begun_ = true;
    Batch& batch = *under_way_.back();
    if (batch.ready && batch.steps.empty() && out_.has_places())
      batch.placed = std::make_unique<Output::Rows>(out_);
    else if (batch.ready)
      workers.submit_to(batch.ready->thread(), batch);
    else
      workers.submit(batch);
  }
  void write_oldest() {
    std::unique_ptr<Batch> oldest = std::move(under_way_.front());
    under_way_.pop_front();
    if (oldest->placed) return place(std::move(oldest));
    out_.workers()->wait(*oldest);
    out_.append_rows_of(oldest->text, oldest->done_by());
    unused(std::move(oldest));
  }
  // As it lies there, by the thread that made it.
  void place(std::unique_ptr<Batch> batch) {
    Batch& b = *batch;
    const auto place_some = [&](std::string_view bytes) {
      if (!bytes.empty()) out_.place(*b.placed, bytes);
    };
    const std::string_view written = b.at_once.in_memory_so_far();
    size_t done = 0;
    for (const Part& part : b.parts) {
      place_some(written.substr(done, part.at_once_end - done));
      place_some(b.ready->of(part.ready_from, part.ready_to));
      done = part.at_once_end;
    }
    place_some(written.substr(done));
    out_.write(*b.placed, b.ready->thread());
    placed_.push_back(std::move(batch));
    while (placed_.size() > most_batches() ||
           (!placed_.empty() && out_.workers()->done(*placed_.front()->placed)))
      finish_placed();
  }
  void finish_placed() {
    out_.workers()->wait(*placed_.front()->placed);
    unused(std::move(placed_.front()));
    placed_.pop_front();
  }
  void unused(std::unique_ptr<Batch> batch) {
    batch->clear();
    spare_.push_back(std::move(batch));
  }

  Output& out_;
  ThreadMemory memory_;  // outlives what is below
  const Encode encode_;
  Frame frame_;
  bool begun_ = false;
  std::unique_ptr<Batch> batch_;                  // filling
  std::deque<std::unique_ptr<Batch>> under_way_;  // oldest first
  std::deque<std::unique_ptr<Batch>> placed_;     // those before, which are being written
  std::vector<std::unique_ptr<Batch>> spare_;
  std::shared_ptr<const Ready> ready_;  // what was taken last
};

}  // namespace ttc::tools
