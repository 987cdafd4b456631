// What any thread makes of a frame for a report, beside decoding it: its zones, checked for their partners, and what programs need of it. The owner
// numbers zones as their names come and joins the rest, so that the report is the same for every number of threads.
//
// A frame is taken without its markers if its zones all end in it, each began in it, and its lane has no zone open. That is every launch of a worker whose
// words are complete. Of any other frame the owner gets the markers.
#pragma once
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "tools/pipeline/format.hpp"
#include "tools/report/input/event_maker.hpp"
#include "tools/report/zones/zone_pairs.hpp"

namespace ttc::report {

// Of frames of consecutive chunks.
class ZoneWork : public tools::FrameWork, private Listener {
 public:
  // Of one thread, for all of its work. Zones have its own numbers, in the order in which they come; 0 is the nameless one for all threads.
  class Thread {
   public:
    explicit Thread(bool want_meta) : maker_(zones_, want_meta) {}
    void names_changed() { maker_.names_changed(); }  // while no work is under way

   private:
    friend class ZoneWork;
    uint32_t announce_zones();  // how many there are
    // The owner: the first `count` zones have its numbers then.
    void number_zones(size_t count, ZoneIndex& index);

    std::vector<Zone> zones_;
    EventMaker maker_;
    std::mutex mutex_;
    std::vector<Zone> announced_{1};    // copies of zones_, with the mutex
    size_t announced_count_ = 1;        // the thread's
    std::vector<uint32_t> numbers_{0};  // the owner's, by the thread's
  };
  using Threads = std::vector<std::unique_ptr<Thread>>;

  // `threads`: by number; they outlive this. `all_events`: else those of dispatch zones alone.
  ZoneWork(const Threads& threads, bool all_events) : threads_(threads), all_events_(all_events) {}

  void begin(unsigned thread) override;
  bool frame(const tools::FrameEvents& frame) override;
  bool is_small() const override { return !all_events_; }

  // The owner, behind the work's end, for the frames in their order.
  struct Target {
    ZoneIndex& zones;
    ZonePairs& pairs;
    Listener& listener;
  };
  // False: nothing was taken, and the frame's markers are needed.
  bool take(const tools::FrameEvents& frame, const Target& target);

 private:
  // A batch for the listener; launch and lane are the frame's, but for the host id.
  struct Part {
    uint32_t host_id = 0, left_out = 0, events_end = 0, pieces_end = 0;
    bool dispatches = false;
  };
  struct Meta {
    size_t part;  // that it comes before
    Event event;
    size_t text_end;
  };
  // The ends behind a frame.
  struct Ends {
    uint32_t parts = 0, metas = 0;
    LanePairs::Closed closed = {};
  };
  // A frame comes to the owner from another CPU's caches: little is written of it. `brief`: one whole firmware zone with one kernel zone, as
  // nearly every launch has them, and nothing else that the owner needs.
  enum class Form : uint8_t { not_alone, brief, full };
  struct Frame {
    uint64_t begin = 0;                                                    // of the firmware zone
    uint32_t firmware_took = 0, kernel_begins_after = 0, kernel_took = 0;  // cycles
    uint32_t full = 0;                                                     // of ends_
    uint32_t zones_end = 0;                                                // of the thread's
    uint16_t firmware_id = 0, markers = 0;
    Form form = Form::not_alone;
    LanePiece piece() const;
    LanePairs::Closed closed() const;
  };

  void events(const LaneEvents& batch) override;
  void meta(const Launch&, const Lane&, const Event& event, std::string_view text) override;
  // Fills in the frame if it can be brief; what was made of it begins at `before`.
  bool shorten(Frame& frame, const Ends& before, const Ends& after) const;
  void put_brief(const Frame& frame, LaneEvents batch, Listener& listener) const;
  void put(const Frame& frame, const LaneEvents& batch, Listener& listener);
  void put_meta(size_t number, const Launch& launch, const Lane& lane, Listener& listener);
  void put_part(size_t number, LaneEvents batch, Listener& listener);

  const Threads& threads_;
  const bool all_events_;
  Thread* own_ = nullptr;  // whose thread has the work
  LanePairs::Alone alone_;
  std::vector<Event> events_;
  std::vector<LanePiece> pieces_;
  std::vector<Part> parts_;
  std::vector<Meta> metas_;
  std::string texts_;       // of the metas, one behind the other
  std::vector<Ends> ends_;  // behind those of none
  std::vector<Frame> frames_;
};

}  // namespace ttc::report
