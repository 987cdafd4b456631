// A live segment: the file /dev/shm/ttcollect-<live name>.<user id>. This page is the ABI; every offset is pinned
// below, and docs/format-versions.md defines its version numbers.
//
//   0        SegmentHeader   identity, offsets and sizes of what follows, and the words that change
//   4096     counters        counters_count slots of 64 bytes, each with its label beside the value
//   ...      standing area   append-only chunks: session, names, clock domains. Never overwritten
//   ...      clock table     see clock_table.hpp
//   ...      loss table      see loss_table.hpp
//   ...      ring            see ring.hpp
//
// Only the header's place is fixed: a reader takes every other place from the header, which is 64-byte
// aligned there and follows the 512 bytes of the header.
//
// Writer: one process. It holds an open-file-description lock on the file, which the kernel
// releases when the process ends, however it ends. Readers: any number of processes, read-only. They take
// no lock and are not registered anywhere. A segment outlives its writer.
//
// States of a segment, each with how it is recognised and who may touch it:
//
//     create, lock, reserve every page
//                 |
//                 v
//         +--------------+  magic stored   +------------+   end()    +------------+
//         |  being made  | --------------> |    live    | ---------> |   ended    |
//         +--------------+                 +------------+            +------------+
//                 | writer exits                 | writer exits            | a new writer of the same name,
//                 v                              v                         | or `ttcollect clean`
//         +--------------+                 +------------+                  v
//         |  abandoned   |                 |  remains   |               removed
//         +--------------+                 +------------+
//                 |                              | a new writer of the same name renames the file to
//                 v                              | <live name>.remains (one is kept, the latest), or removes
//              removed                           v it where no chunk was published
//                                        renamed remains
//                                                | `ttcollect clean`, or /dev/shm has no room otherwise
//                                                v
//                                             removed
//
//   being made   magic is not kMagic, lock held. The writer writes everything; a reader must use no byte but
//                the magic, and waits.
//   live         magic is kMagic, state is live, lock held. The writer writes the words below "Writer's
//                words" in the header, the counters, both tables, the ring, and the standing area above
//                standing_tail. No other byte changes. A reader follows.
//   ended        state is ended. No byte changes any more. A reader reads to the tail and is done.
//   remains      magic is kMagic, state is live, no lock: the writer did not end in order. No byte changes any more. What was
//                published is complete and is read as from an ended segment.
//   abandoned    magic is not kMagic, no lock: the writer exited before the segment was complete. Not readable.
//
// Users. A segment belongs to the user who collects, whose number is in the file's name, so that the remains of
// one user do not block another. NAME alone addresses the live segment of that name, or else this user's; NAME.UID one user's.
// A collector refuses to start if it finds another user's live collector under the same name.
//
// A segment that was removed or renamed stays mapped, and readable, in the readers that have it mapped.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "shm/chunk.hpp"
#include "shm/clock_table.hpp"
#include "shm/loss_table.hpp"
#include "shm/ring.hpp"

namespace ttc::shm {

// One sentence: what, where, why, what to try.
struct SegmentError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

inline constexpr uint64_t kMagic = 0x3130'7463'656c'6c74;  // little-endian text "tllect01"
inline constexpr uint32_t kAbiMajor = 1;                   // a reader must refuse any other
inline constexpr uint32_t kAbiMinor =
    3;  // 1: the loss table; 2: RingControl::announced; 3: TelemetryRecord::link_share_ppm, log_fill_ppm

enum class SegmentState : uint32_t { live = 1, ended = 2 };

struct SegmentHeader {
  std::atomic<uint64_t> magic{0};
  uint32_t abi_major = kAbiMajor;
  uint32_t abi_minor = kAbiMinor;
  uint64_t total_bytes = 0;
  uint64_t counters_offset = 0;
  uint64_t counters_count = 0;
  uint64_t standing_offset = 0;
  uint64_t standing_capacity = 0;
  uint64_t ring_offset = 0;
  uint64_t ring_capacity = 0;
  uint64_t clock_offset = 0;  // of the clock table; 0, 0: there is none
  uint64_t clock_bytes = 0;
  uint64_t session = 0;
  uint64_t created_realtime_ns = 0;
  int64_t writer_pid = 0;
  char live_name[64]{};
  char device_spec[64]{};
  uint64_t loss_offset = 0;  // of the loss table; 0, 0: there is none (minor version 0)
  uint64_t loss_bytes = 0;

  // Writer's words, on cache lines apart from the cold part above. All but `wake`, which may wrap,
  // and `state` only grow.
  alignas(64) RingControl ring;
  alignas(64) std::atomic<uint64_t> standing_tail{0};  // bytes of complete chunks in the standing area
  std::atomic<uint64_t> losses{0};                     // records in the loss table
  alignas(64) std::atomic<uint32_t> wake{0};           // futex; raised at most once a sweep
  std::atomic<SegmentState> state{SegmentState::live};
  std::atomic<uint64_t> heartbeat_ns{0};  // CLOCK_MONOTONIC, time of the last sweep
};
static_assert(offsetof(SegmentHeader, magic) == 0 && offsetof(SegmentHeader, abi_major) == 8 &&
              offsetof(SegmentHeader, abi_minor) == 12 && offsetof(SegmentHeader, total_bytes) == 16 &&
              offsetof(SegmentHeader, counters_offset) == 24 &&
              offsetof(SegmentHeader, counters_count) == 32 &&
              offsetof(SegmentHeader, standing_offset) == 40 &&
              offsetof(SegmentHeader, standing_capacity) == 48 &&
              offsetof(SegmentHeader, ring_offset) == 56 && offsetof(SegmentHeader, ring_capacity) == 64 &&
              offsetof(SegmentHeader, clock_offset) == 72 && offsetof(SegmentHeader, clock_bytes) == 80 &&
              offsetof(SegmentHeader, session) == 88 && offsetof(SegmentHeader, created_realtime_ns) == 96 &&
              offsetof(SegmentHeader, writer_pid) == 104 && offsetof(SegmentHeader, live_name) == 112 &&
              offsetof(SegmentHeader, device_spec) == 176 && offsetof(SegmentHeader, loss_offset) == 240 &&
              offsetof(SegmentHeader, loss_bytes) == 248 && offsetof(SegmentHeader, ring) == 256 &&
              offsetof(SegmentHeader, standing_tail) == 384 && offsetof(SegmentHeader, losses) == 392 &&
              offsetof(SegmentHeader, wake) == 448 && offsetof(SegmentHeader, state) == 452 &&
              offsetof(SegmentHeader, heartbeat_ns) == 456 && sizeof(SegmentHeader) == 512 &&
              std::is_standard_layout_v<SegmentHeader> && std::atomic<SegmentState>::is_always_lock_free);

// Counters in shared memory: a monitor reads them without any work for the collector. The writer stores them relaxed,
// each on its own: two counters need not be of the same moment.
//
// A counter is found by its label. Its number here is the slot in which this build writes it, and is no part
// of the ABI: a reader ignores unknown labels and reads 0 for one that the segment lacks.
enum class Counter : uint32_t {
  sweeps,
  sweep_ns_p50,
  sweep_ns_p99,
  sweep_ns_max,
  round_trips,
  window_moves,
  card_bytes,
  cores,
  lanes,
  programs,
  markers,
  frames,
  chunks,
  chunk_bytes,
  epochs,
  retries,
  recovered_words,
  loss_intervals,
  dropped_on_card_launches,
  host_reset_intervals,
  unparsable_words,
  card_gone_intervals,
  unreadable_intervals,
  suspect_tiles,  // not polled for a while at least once, because they gave all-ones or were slow
  suspicions,     // times a tile was not polled for a while
  slow_reads,
  all_ones_reads,
  disk_bytes,
  disk_lapped_bytes,
  wakes,
  link_bytes_per_s,  // capacity of the link: nominal where sysfs has it, else measured at attach
  clock_samples,
  clock_steps,       // changes of frequency
  clock_violations,  // times the condition of bounds did not hold
  clock_eras,        // resets of the counter, or suspends of the host
  clock_hz,
  clock_bound_ns,         // of the latest final segment
  missed_poll_deadlines,  // polls of Tensix cores so late that an epoch may have begun and ended
                          // unnoticed
  log_words,              // of a lane's log on the card, 0 while its size is unknown
  recycles,               // times the collector set a core's indices to 0
  visibility_0_to_8_us,   // chunks by how long after its time their newest marker could be read: a histogram
  visibility_8_to_16_us,
  visibility_16_to_32_us,
  visibility_32_to_64_us,
  visibility_64_to_128_us,
  visibility_128_to_256_us,
  visibility_256_to_512_us,
  visibility_512_to_1024_us,
  visibility_1024_to_2048_us,
  visibility_2048_to_4096_us,
  visibility_4096_to_8192_us,
  visibility_8192_to_16384_us,
  visibility_16384_to_32768_us,
  visibility_32768_to_65536_us,
  visibility_65536_us_and_more,
  visibility_bound_ns,       // the largest bound of the clock among them
  visibility_without_clock,  // chunks that no final clock segment covered
  lines_beyond_share,        // read by polls whose deadline was near, on top of --link-share
  count
};
// Bucket i is of what is below visibility_below_ns(i) and in no bucket before; the last one has no upper edge.
inline constexpr size_t kVisibilityBuckets = 15;
constexpr Counter visibility_bucket(size_t i) {
  return static_cast<Counter>(static_cast<size_t>(Counter::visibility_0_to_8_us) + i);
}
constexpr uint64_t visibility_below_ns(size_t i) {
  return uint64_t{8'000} << i;
}
static_assert(visibility_bucket(kVisibilityBuckets - 1) == Counter::visibility_65536_us_and_more &&
              visibility_below_ns(kVisibilityBuckets - 2) == 65'536'000);
inline constexpr size_t kCounters = static_cast<size_t>(Counter::count);
const char* label(Counter counter);

struct CounterSlot {
  char label[56]{};  // zero-terminated, stored before the segment's magic
  std::atomic<uint64_t> value{0};
};
static_assert(offsetof(CounterSlot, label) == 0 && offsetof(CounterSlot, value) == 56 &&
              sizeof(CounterSlot) == 64 && std::is_standard_layout_v<CounterSlot>);

struct SegmentOptions {
  uint64_t ring_bytes = 32u << 20;  // rounded up to a power of two
  uint64_t standing_bytes = 2u << 20;
  uint64_t loss_records = kLossTableRecords;
  unsigned mode = 0640;
  std::string group;  // empty: the process's own
};

// The class is not thread-safe: one thread writes a segment.
class SegmentWriter {
 public:
  // Creates the segment and takes it. Throws SegmentError when another collector has it or memory is short.
  SegmentWriter(const std::string& live_name, const std::string& device_spec, uint64_t session,
                const SegmentOptions& options);
  ~SegmentWriter();  // leaves the segment behind, state as set

  RingWriter& ring() { return *ring_; }
  // Appends to the standing area and returns the chunk's header. Without a value if the area is full; it is then unchanged.
  std::optional<ChunkHeader> add_standing(ChunkKind kind, std::string_view text);
  // Puts an interval into the loss table, before the same goes into the ring. False: the table is full.
  bool report_loss(const LossRecord& record);
  void set(Counter counter, uint64_t value);
  void add(Counter counter, uint64_t value);
  uint64_t get(Counter counter) const;
  void set_clock(std::span<const uint64_t> words);  // replaces the clock table
  void heartbeat(uint64_t monotonic_ns);
  void wake_readers();  // announces what was published; at most once a sweep: costs a system call
  void end();           // an orderly end
  uint64_t session() const;

 private:
  struct Mapped;
  std::unique_ptr<Mapped> mapped_;
  std::unique_ptr<RingWriter> ring_;
};

struct SegmentInfo {
  std::string live_name;  // as this user addresses it: NAME, or NAME.UID where it is another user's
  uint32_t user = 0;
  std::string device_spec;
  uint64_t session = 0;
  int64_t writer_pid = 0;
  uint64_t bytes = 0;
  bool alive = false;   // a writer holds its lock
  bool ended = false;   // ended in order; neither alive nor ended: crash remains
  std::string refused;  // why it cannot be attached, empty when it can
};
std::vector<SegmentInfo> list_segments();
struct Removal {
  bool removed = false;
  std::string why_not;  // a sentence; empty where there was no segment of that name, or a writer holds it
  explicit operator bool() const { return removed; }
};
// Removes what no running writer holds: a segment, or a link in the place of one. `address`: as in SegmentInfo.
Removal remove_segment(const std::string& address);

}  // namespace ttc::shm
