// What is missing in a stream of chunks that was whole when it was published: a reader was lapped, a disk was
// too slow, a part of a file is damaged. A jump of the sequence puts every lane of the session in doubt; the
// lane's next span settles it, because it says where it lies in the lane's log and how late the frame before
// it was.
//
// A lane that is still in doubt at the end gets an interval without an end: something may be missing there.
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <vector>

#include "collector/loss/loss_grain.hpp"
#include "firmware_markers/frame.hpp"

namespace ttc::collect {

class ChunkGaps {
 public:
  // `found` gets each interval, with `cause`, and again when it has grown (LossGrain); ids count from
  // kFirstId, apart from those of collectors.
  ChunkGaps(shm::LossCause cause, std::function<void(uint64_t session, const shm::LossRecord&)> found)
      : cause_(cause), found_(std::move(found)) {}

  static constexpr uint64_t kFirstId = uint64_t{1} << 48;

  // Chunks of any number of sessions, each checked, in the order of their publication. Standing chunks count
  // their sequence apart and never go missing.
  void push(std::span<const uint64_t> chunk);
  // In front of the first chunk others stood that are lost: lanes of a session that began before are in
  // doubt.
  void lost_beginning() { beginning_lost_ = true; }
  // Nothing will come. Lanes that are in doubt still get their interval.
  void finish();
  // Before finish(): the stream broke off. Every lane of a session whose end did not come is in doubt.
  void broke_off();

  uint64_t missing_chunks() const { return missing_chunks_; }
  // Published before the first one that came: a recorder that keeps the newest only, a reader that came late.
  uint64_t chunks_before() const { return chunks_before_; }

 private:
  // The latest span of a lane, as it came: when its last marker was is asked only where something is missing.
  struct Lane {
    shm::ChunkHeader header;
    shm::SpanEntry span;
    std::vector<uint32_t> words;
    bool in_doubt = false;
    bool begun = false;
  };
  struct Session {
    uint64_t next_sequence = 0;
    uint32_t device = 0;
    std::vector<shm::LossRecord> told;  // by id from kFirstId on
    bool begun = false;
    bool ended = false;
    bool gap = false;                // there ever was one: lanes not seen before are in doubt
    std::map<uint32_t, Lane> lanes;  // by core and RISC
  };

  void count(Session& s, const shm::ChunkHeader& h);
  void settle(Session& s, const shm::ChunkHeader& h, const shm::SpanEntry& span, const Lane& lane);
  shm::LossRecord record_for(const Session& s, const shm::ChunkHeader& h, uint8_t risc) const;
  void tell(uint64_t session, Session& s, shm::LossRecord record);
  static uint64_t last_time(const Lane& lane);

  shm::LossCause cause_;
  std::function<void(uint64_t, const shm::LossRecord&)> found_;
  std::map<uint64_t, Session> sessions_;
  LossGrain grain_;
  bool beginning_lost_ = false;
  uint64_t missing_chunks_ = 0;
  uint64_t chunks_before_ = 0;
};

}  // namespace ttc::collect
