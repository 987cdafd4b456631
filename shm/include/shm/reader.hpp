// Attaches to a segment and follows it, live or after its writer has ended or was killed.
//
// Everything in a segment is untrusted. Attaching checks the header against the mapping and copies its
// offsets and sizes; the originals are not used again. Positions and lengths are checked at each
// use. A reader maps the segment read-only and takes no lock: it cannot disturb the writer or another reader.
//
// Opening a segment is a sequence of waits, each until the deadline: for the file, for its size, for its
// magic word (stored last by the writer), and, where the caller waits, for a collector that holds it.
//
// Errors: SegmentError, one sentence, where attaching fails; afterwards next() returns what ended the stream.
// The class is not thread-safe: one reader, one thread.
#pragma once
#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "shm/segment.hpp"

namespace ttc::shm {

enum class StartAt : uint8_t { oldest, newest };

class Reader {
 public:
  // Waits up to `wait_ms` for the segment to appear and be complete, and for a collector to hold it; a
  // segment that an earlier collector left is attached to when the time is over (at once for 0). Throws
  // SegmentError.
  Reader(const std::string& live_name, StartAt start, unsigned wait_ms = 0);
  // Reads bytes that must outlive the reader (tests, fuzzing, an in-process writer's own mapping).
  Reader(std::span<const std::byte> segment, StartAt start);
  ~Reader();
  Reader(Reader&&) noexcept;

  enum class Next : uint8_t {
    chunk,        // `chunk` holds one that passed check_chunk()
    timeout,      // no chunk came in time
    lapped,       // the writer overwrote what was not read yet; the next call continues behind it
    ended,        // the collector ended in order, and everything was delivered
    writer_died,  // the collector did not end in order; everything that it published was delivered
    damaged,  // the bytes contradict themselves: damage() has the place. Every later call returns the same
  };
  // The next chunk: standing ones first, then the loss table, then the ring; after a lap the loss table
  // again. A loss record may thus be delivered again: the last one with a given id is the one that counts.
  // Blocks up to timeout_ms: spins briefly, then sleeps on the wake word.
  Next next(std::vector<uint64_t>& chunk, unsigned timeout_ms);
  // The longest sleep of next() before it checks whether the writer is still running; 100 ms at first.
  void set_recheck(unsigned ms);

  // Positions in the ring (ring.hpp), for readers of a part of it. Records below tail() are announced, or published if
  // the writer is gone;
  // position() is where next() continues; skip_to() passes over records that end at or below a position.
  uint64_t tail() const;
  uint64_t position() const;
  void skip_to(uint64_t position);

  const SegmentInfo& info() const;
  // The counter with this label, in any slot. 0 if the segment has none.
  uint64_t counter(Counter counter) const;
  // Copies the clock table. False: there is none, or it is invalid.
  bool clock(std::vector<uint64_t>& words) const;
  uint64_t heartbeat_ns() const;
  bool writer_alive() const;
  // This reader's own account.
  uint64_t lost_bytes() const;
  uint64_t lost_chunks() const;  // by gaps in the sequence
  uint64_t laps() const;
  // What the writer had overwritten before this reader's first chunk of the ring; chunks 0 if nothing. Valid once
  // that chunk came.
  struct Overwritten {
    uint64_t chunks = 0;
    uint64_t bytes = 0;  // of the ring
    uint64_t kept_from_ns =
        0;  // CLOCK_MONOTONIC_RAW: what was read from the card before is gone; 0: not known
  };
  const Overwritten& overwritten() const;
  std::string damage() const;  // why next() returned damaged

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace ttc::shm
