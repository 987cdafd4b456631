// source -> losses -> decode -> name -> meaning -> time -> filter -> format, once for every tool.
//
// Chunks of several devices may alternate: names, progress and losses are kept by session. Two devices that
// their collectors gave the same chip number are distinguished by giving the later one the next free number.
//
// The time stage hands device cycles through unless host times are requested. Then words wait until final
// clock segments cover them, 0.3 to 1.6 s by default, so that every export of them is the same.
//
// With decode_ahead() any thread decodes, filters and dates the words of a batch of chunks (decoded_batch.hpp), while the caller's takes the
// chunks before them through the format. The format's calls are the same, in the same order, for every number of threads.
#pragma once
#include <bitset>
#include <deque>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tools/pipeline/decoded_batch.hpp"
#include "tools/pipeline/filter.hpp"
#include "tools/pipeline/format.hpp"
#include "tools/pipeline/host_semantics.hpp"
#include "tools/pipeline/source.hpp"
#include "ttcollect/loss_view.hpp"

namespace ttc::tools {

class Pipeline {
 public:
  // `date`: of the workload's tt-metal, if the user gives it. `missing`: the cause of what is missing
  // between chunks (LossView); none: gaps are not looked for.
  Pipeline(const Filter& filter, bool keep_duplicates, std::optional<markers::MetalDate> date = {},
           std::optional<HostClock> host_clock = {}, std::optional<shm::LossCause> missing = {})
      : filter_(filter),
        keep_duplicates_(keep_duplicates),
        date_(date),
        host_clock_(host_clock),
        losses_(missing) {}
  ~Pipeline();  // what is decoded ahead is left out
  Pipeline(const Pipeline&) = delete;
  Pipeline& operator=(const Pipeline&) = delete;

  // From now on, for one format in all calls. The workers and the format outlive this. Words reach the format by a later call then: catch_up() and finish()
  // leave none.
  void decode_ahead(jobs::Workers& workers) {
    workers_ = &workers;
    scratch_ = std::vector<DecodedBatch::Scratch>(workers.threads());
  }

  // One chunk, already checked by its source. `memory` keeps its words; null: they are copied where they are needed later.
  void push(std::span<const uint64_t> chunk, Format& format, const std::shared_ptr<const void>& memory = {});

  // The format has had all words that do not wait for the time stage.
  void catch_up(Format& format);

  // For a pipeline that gets some chunks of device words only: what push() does, except that losses are not noted, or, where the frames
  // depend on other chunks (Apart::no), nothing.
  Apart push_apart(std::span<const uint64_t> chunk, Format& format);
  // Device words that another pipeline has counted and note_words() noted: their frames alone.
  void repeat(std::span<const uint64_t> chunk, Format& format);
  // Used by callers that decode words elsewhere: does all that push() does for a chunk of device words except decoding. False if
  // the filter excludes the chunk.
  bool note_words(std::span<const uint64_t> chunk, const std::shared_ptr<const void>& memory);
  void complain(std::string complaint) { complaint_ = std::move(complaint); }
  std::string take_complaint() { return std::exchange(complaint_, {}); }
  // Adds the counts of words of another pipeline, which had the same chunks of other kinds. The other must not be used any more.
  void absorb(const Pipeline& other);

  // Limits the markers that push() delivers of words that waited for the time stage; deliver() continues where it stopped. Without a
  // limit a chunk of the clock model delivers all that it covers at once.
  void deliver_at_most(uint64_t markers) { most_markers_ = markers; }
  // False: nothing was there. `all`: also what no clock model covers, as no further chunk will come.
  bool deliver(Format& format, bool all);

  // Losses that the source reports at its beginning (call before push()) and its end (before finish()); see LossView.
  void lost_beginning() { losses_.lost_beginning(); }
  void broke_off() { losses_.broke_off(); }

  // Must be called after the last chunk: words that wait are delivered as well as possible, then the intervals without
  // a record.
  void finish(Format& format);

  uint64_t markers() const { return delivered_; }
  markers::Anomalies anomalies() const { return anomalies_; }
  // The losses of the devices that the filter selects.
  const collect::LossView& loss_view() const { return losses_; }
  // The chips that came so far, by their numbers in the output: all of them, and the clock of one's reference tile,
  // null where it is not known.
  std::set<uint32_t> chips() const;
  const collect::ClockMap* clock_of(uint32_t chip) const;
  // The chip's tiles whose clock is not that of the reference tile.
  std::set<std::pair<uint8_t, uint8_t>> tiles_apart(uint32_t chip) const;
  // Valid after finish(): the intervals on lanes that the filter selects, first those with a record, then those found
  // missing. `device` is the number of the chip in the output.
  std::vector<shm::LossRecord> losses() const;
  // Zone ids that were delivered, and have no name, or more than one: the first is shown then.
  size_t unnamed_ids() const {
    return count_ids([](const Workload& w, uint16_t id) { return w.names.find(id) == nullptr; });
  }
  size_t ambiguous_ids() const {
    return count_ids([](const Workload& w, uint16_t id) { return w.names.ambiguous(id); });
  }
  uint64_t without_bound() const {  // markers whose host time was requested
    uint64_t count = 0;
    for (const auto& [id, s] : sessions_) count += s.without_bound;
    return count;
  }
  const std::string& complaint() const { return complaint_; }  // the last chunk that could not be decoded
  // Once at the end: chip numbers that were changed, and choices that affect the output.
  std::vector<std::string> notices() const;

 private:
  // Firmware that was loaded while a collector stayed: zone ids are hashes, and another workload's names are its own.
  struct Workload {
    explicit Workload(std::optional<markers::MetalDate> date) : semantics(names, date) {}
    Workload(const Workload&) = delete;
    Workload& operator=(const Workload&) = delete;
    markers::ZoneNames names;
    HostSemanticsStage semantics;
    std::bitset<0x10000> zone_ids;  // delivered
  };
  // State of one collector's run on one device.
  struct SessionState {
    explicit SessionState(std::optional<markers::MetalDate> date) { workloads.try_emplace(0, date); }
    SessionState(const SessionState&) = delete;
    SessionState& operator=(const SessionState&) = delete;
    Workload& workload_of(uint32_t epoch) { return std::prev(workloads.upper_bound(epoch))->second; }
    uint32_t chip = 0;
    bool wanted = true;
    bool described = false;                  // its session chunk came
    bool clock_model = true;                 // false: the collector makes none, so words do not wait for it
    std::map<uint32_t, Workload> workloads;  // by first epoch; one of epoch 0 is always there
    Workload* named =
        nullptr;  // whose session chunk came last: names that come now are its own; null: the first
    HostTimes times;
    uint64_t without_bound = 0;  // markers whose host time was requested
    bool words_came = false;
    std::unordered_map<uint32_t, uint64_t> until;  // by lane: latest time delivered, where L1 is read too
  };

  template <class Which>
  size_t count_ids(Which which) const {
    size_t count = 0;
    for (const auto& [session, s] : sessions_)
      for (const auto& [first_epoch, w] : s.workloads)
        for (size_t id = 0; id < w.zone_ids.size(); ++id)
          count += w.zone_ids[id] && which(w, static_cast<uint16_t>(id));
    return count;
  }
  SessionState& state_of(const shm::ChunkHeader& h);
  uint32_t free_chip(uint32_t wanted, const std::string& device);
  void session(const shm::ChunkHeader& h, std::span<const char> text, Format& format);
  DecodedChunk::Rules rules_for(const shm::ChunkHeader& h, SessionState& s, const Format& format) const;
  void words(std::span<const uint64_t> chunk, std::shared_ptr<const void> memory, SessionState& s,
             Format& format);
  void words_at_once(std::span<const uint64_t> chunk, SessionState& s, Format& format);
  // A chunk without words. Copied: its words stay behind those that are decoded ahead.
  struct Beside {
    std::vector<uint64_t> chunk;
    SessionState* session;                // null: of the host
    std::optional<shm::LossRecord> loss;  // that is new or has grown
  };
  bool can_wait(shm::ChunkKind kind) const;
  void beside(std::span<const uint64_t> chunk, SessionState* session, const shm::LossRecord* loss,
              Format& format);
  void put(std::span<const uint64_t> chunk, SessionState* session, const shm::LossRecord* loss,
           Format& format);
  void hand_over();
  size_t most_ahead() const;
  void take_oldest(Format& format);
  void release(SessionState& s, Format& format, bool all);
  struct Ahead;
  // Of a chunk's frames: what is known without them. `work`, null: none; its frames' numbers follow.
  struct Place {
    const shm::ChunkHeader& header;
    SessionState& session;
    Workload& workload;
    FrameWork* work = nullptr;
    bool means_nothing = false;
  };
  // What the thread that decoded the frame found it to mean holds.
  static bool is_alone(Apart apart, const Place& place, const FrameEvents& events) {
    return apart == Apart::yes ||
           (apart == Apart::unless_dispatch && !place.workload.semantics.dispatches(events));
  }
  FrameEvents events_of(const Place& place, const markers::Batch& batch) const;
  void emit(DecodedChunk& chunk, const Place& place, Format& format);
  void emit(const DecodedChunk& chunk, const DecodedChunk::Frame& frame, const Place& place,
            FrameEvents& events, Format& format);
  void emit_alone(const DecodedBatch& batch, const DecodedBatch::Chunk& chunk,
                  std::span<const DecodedBatch::Alone> frames, const Place& place, Format& format);

  Filter filter_;
  bool keep_duplicates_;
  std::optional<markers::MetalDate> date_;
  std::optional<HostClock> host_clock_;  // none: device times only
  std::map<uint64_t, SessionState> sessions_;
  std::map<uint32_t, std::string> chips_;  // taken: number -> device
  markers::Anomalies anomalies_;
  collect::LossView losses_;
  uint64_t delivered_ = 0;
  uint64_t most_markers_ = ~uint64_t{0};
  std::string complaint_;
  std::vector<std::string> remarks_;

  static constexpr size_t kBatchWords = 4 << 10;  // 64-bit
  // Batches a thread: with fewer the threads wait for each other, most of all while one unpacks a block. Few where they take much memory.
  static constexpr size_t kFewAhead = 4, kManyAhead = 16;
  struct Ahead {
    Ahead(const Format& format, std::span<DecodedBatch::Scratch> scratch,
          std::optional<markers::MetalDate> date)
        : batch(format.frame_work(), scratch, date) {}
    DecodedBatch batch;
    std::vector<SessionState*> sessions;  // by chunk
    std::vector<bool> mean_nothing;       // by group
    std::vector<Beside> behind;
  };
  static constexpr size_t kMostWaiting = 1 << 20;  // bytes of chunks without words, and a chunk
  jobs::Workers* workers_ = nullptr;               // null: one thread
  std::vector<DecodedBatch::Scratch> scratch_;
  // Chunks that are not kept are decoded again where their frames' markers are needed all the same: after such a one, all are kept for a while.
  static constexpr unsigned kBatchesKept = 4;
  unsigned keep_batches_ = 0;
  std::unique_ptr<Ahead> filling_;            // null: none
  std::deque<std::unique_ptr<Ahead>> ahead_;  // oldest first
  size_t waiting_bytes_ = 0;                  // behind them
  std::vector<std::unique_ptr<Ahead>> spare_;
  DecodedChunk at_once_;
};

}  // namespace ttc::tools
