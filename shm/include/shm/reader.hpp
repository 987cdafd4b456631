// Attaching to a segment and following it: live, or what a writer left behind.
//
// Everything in a segment is foreign bytes. attach() checks the header against the mapping, takes copies, and
// never looks at the originals again; positions and lengths are checked at each use.
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
  // Waits up to `wait_ms` for the segment to appear and be complete, and for a collector to hold it; what an
  // earlier collector left is taken when the time is over (at once for 0). Throws SegmentError.
  Reader(const std::string& live_name, StartAt start, unsigned wait_ms = 0);
  // Over bytes somebody else keeps alive (tests, fuzzing, an in-process writer's own mapping).
  Reader(std::span<const std::byte> segment, StartAt start);
  ~Reader();
  Reader(Reader&&) noexcept;

  enum class Next : uint8_t { chunk, timeout, lapped, ended, writer_died, damaged };
  // The next chunk: standing ones first, then the account of losses as it stands, then the ring; after a lap
  // the account again. The same interval may thus come several times, whatever came last holds. Blocks up to
  // timeout_ms: spins briefly, then sleeps on the wake word. `ended` and `writer_died` come after everything
  // published was delivered.
  Next next(std::vector<uint64_t>& chunk, unsigned timeout_ms);
  // How long next() sleeps at most before it checks whether the writer has died; 100 ms at first.
  void set_recheck(unsigned ms);

  // Positions in the ring, for readers of a stretch of it: everything below tail() is published, next() comes
  // to position(), and what ends at or below a position can be passed over.
  uint64_t tail() const;
  uint64_t position() const;
  void skip_to(uint64_t position);

  const SegmentInfo& info() const;
  uint64_t counter(Counter counter) const;
  // The clock table as it stands. False: there is none, or it makes no sense.
  bool clock(std::vector<uint64_t>& words) const;
  uint64_t heartbeat_ns() const;
  bool writer_alive() const;
  // This reader's own account.
  uint64_t lost_bytes() const;
  uint64_t lost_chunks() const;  // by gaps in the sequence
  uint64_t laps() const;
  std::string damage() const;  // why next() said damaged

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace ttc::shm
