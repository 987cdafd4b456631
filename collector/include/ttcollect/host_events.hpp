// What the workload's processes reported of their host side, as chunks: one record an event, in the order in which
// a process's Tracy client sent them.
//
//   kind host_events (ring, file)   HostChunkHead, then records of events
//   kind host_names (standing, file)  HostChunkHead, then records of definitions
//
// Both are of a session of their own, which has no device, and carry kHostDevice as their device where they are in the ring.
// Identities (strings, sources, plots, locks) are numbers of one process; a record that defines one may come after
// those that use it, because it is requested from the client only then. Times are the client's own ticks. A head relates
// them to CLOCK_MONOTONIC_RAW for the records behind it; `timer_mul` and `init_begin` are the client's own idea of
// nanoseconds since its start, which files of Tracy's programs are written by.
//
// A jump of the chunks' sequence is where events are missing: zones that were open there may have ended, and others may
// have begun, so that a reader must not pair a begin in front of it with an end behind it.
//
// Everything is little-endian. A reader skips kinds of records that it does not support.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "shm/chunk.hpp"

namespace ttc::collect {

inline constexpr uint32_t kHostDevice = 0xffff'ffff;  // in ChunkHeader::device
inline constexpr uint32_t kHostChunkVersion = 2;      // written; 1 is read, too

enum class EventKind : uint8_t {
  // events                      subject      value               text
  zone_begin = 1,  //           thread       source
  zone_end = 2,    //           thread
  zone_text = 3,   //           thread                           of the innermost open zone; several are lines
  zone_name = 4,   //           thread                           its own name
  zone_value = 5,  //           thread       the value
  message = 6,     //           thread                           the message
  literal = 7,     //           thread       string              a message whose text is a defined string
  app_info = 8,    //           thread                           of the program, not at a time
  plot = 9,        //           thread       bits of a double    8 bytes: the plot's string
  frame = 10,      //           0 mark, 1 begin, 2 end           value: string, 0: the main frame
  lock_wait = 11,  //           thread       lock
  lock_obtain = 12,   //        thread       lock
  lock_release = 13,  //        thread or 0  lock
  crash = 14,         //           thread
  crash_text = 15,    //           thread       string
  thread_runs = 16,   //           thread       CPU: it has got this one
  thread_stops = 17,  //           thread       CPU, and a ThreadState << 8: why it has it no more
  thread_woken = 18,  //           thread       CPU: it waits for one from now on
  // definitions
  string = 32,       //                       string              its text
  thread_name = 33,  //          thread                           its name
  source = 34,       //          line         source              name, function, file, each ended by a zero
  lock_source = 35,  //                       lock                time: the source
  lock_name = 36,    //                       lock                its name
  process =
      37,  //                       pid                 program, its machine, and facts NAME=VALUE, each ended by a zero
};
inline bool is_definition(EventKind kind) {
  return static_cast<uint8_t>(kind) >= static_cast<uint8_t>(EventKind::string);
}

// Why a thread has no CPU.
enum class ThreadState : uint8_t {
  preempted,
  sleeps,
  blocked /* sleeps, and no signal ends that: disk, driver */,
  other
};

// Facts about a process's environment: its rank in the job, and the chips behind its own device numbers, in order.
inline constexpr std::string_view kRankFact = "rank", kChipsFact = "chips";

struct HostEvent {
  EventKind kind{};
  uint32_t subject = 0;
  int64_t time = 0;
  uint64_t value = 0;
  std::string_view text;  // valid during the call that brings it
};

struct HostChunkHead {
  uint32_t version = kHostChunkVersion;
  uint32_t process = 0;  // numbers the processes of a session from 0
  uint64_t pid = 0;
  int64_t init_begin = 0;
  double timer_mul = 1;  // the client's nanoseconds a tick, measured by it over 200 ms
  int64_t tick = 0;      // of the client's clock, at raw_ns of CLOCK_MONOTONIC_RAW
  uint64_t raw_ns = 0;   // RAW of a time t: raw_ns + (t - tick) * ns_per_tick
  double ns_per_tick = 1;
  uint32_t bound_ns = 0;  // of that, for every record of the chunk
  uint32_t protocol = 0;
};
static_assert(offsetof(HostChunkHead, pid) == 8 && offsetof(HostChunkHead, init_begin) == 16 &&
              offsetof(HostChunkHead, timer_mul) == 24 && offsetof(HostChunkHead, tick) == 32 &&
              offsetof(HostChunkHead, raw_ns) == 40 && offsetof(HostChunkHead, ns_per_tick) == 48 &&
              offsetof(HostChunkHead, bound_ns) == 56 && offsetof(HostChunkHead, protocol) == 60 &&
              sizeof(HostChunkHead) == 64);

// A record of version 1; its text follows, padded to a multiple of 8 bytes.
struct HostRecord {
  uint8_t kind = 0;
  uint8_t reserved = 0;
  uint16_t text_bytes = 0;
  uint32_t subject = 0;
  int64_t time = 0;
  uint64_t value = 0;
};
static_assert(offsetof(HostRecord, text_bytes) == 2 && offsetof(HostRecord, subject) == 4 &&
              offsetof(HostRecord, time) == 8 && offsetof(HostRecord, value) == 16 &&
              sizeof(HostRecord) == 24);

// A record of version 2: a byte of its kind, a byte of HostField bits, then the fields whose bits are set, in the order of the bits.
// Numbers are varints (7 bits a byte, lowest first, the eighth bit: more follow). A zone takes some ten bytes.
namespace host_field {
inline constexpr uint8_t kSubject =
    1;  // the subject; else that of the last record in the chunk that had one, at first 0
inline constexpr uint8_t kTime =
    2;  // zigzag (0, -1, 1, -2, ...): time less that of the last record in the chunk that had one, at first 0; else 0
inline constexpr uint8_t kValue = 4;  // else 0
inline constexpr uint8_t kWide = 8;   // the value is not a varint, but 8 bytes
inline constexpr uint8_t kText = 16;  // a varint: so many bytes, and these
}  // namespace host_field

// True if the chunk belongs to the host's session; every other chunk belongs to a device.
inline bool is_of_the_host(const shm::ChunkHeader& h) {
  return h.kind == shm::ChunkKind::host_events || h.kind == shm::ChunkKind::host_names ||
         h.device == kHostDevice;
}

// Times and factors are foreign: a difference wraps, and what no int64_t holds gives its limits, or 0 where it is no
// number.
inline double ticks_between(int64_t from, int64_t to) {
  return static_cast<double>(static_cast<int64_t>(static_cast<uint64_t>(to) - static_cast<uint64_t>(from)));
}
inline int64_t whole_ns(double ns) {
  constexpr double kLimit = 9.2233720368547748e18;  // the last double below 2^63
  return ns != ns ? 0 : static_cast<int64_t>(ns < -kLimit ? -kLimit : ns > kLimit ? kLimit : ns);
}
inline int64_t raw_ns_of(const HostChunkHead& head, int64_t time) {
  return static_cast<int64_t>(
      head.raw_ns + static_cast<uint64_t>(whole_ns(ticks_between(head.tick, time) * head.ns_per_tick)));
}

// Ticks that are nanoseconds of CLOCK_MONOTONIC_RAW. They are counted from `near`, a tick of the records behind the head: of more than
// 2^53, which are 104 days, a double holds no whole number.
inline void relate_raw_ns(HostChunkHead& head, int64_t near) {
  head.tick = near;
  head.raw_ns = static_cast<uint64_t>(near);
  head.ns_per_tick = 1;
  head.bound_ns = 0;
}

// Records of one chunk, as they are written.
class HostRecords {
 public:
  void add(const HostEvent& event);
  std::span<const std::byte> bytes() const { return std::span(bytes_).first(used_); }
  size_t size() const { return used_; }
  bool empty() const { return used_ == 0; }
  // The next record begins a chunk.
  void clear();

 private:
  std::vector<std::byte> bytes_;
  size_t used_ = 0;
  uint32_t subject_ = 0;
  int64_t time_ = 0;
};

// The body of a host_events or host_names chunk, foreign bytes. `next` gives the records one after the other.
class HostChunkReader {
 public:
  explicit HostChunkReader(std::span<const char> body);
  const std::string& why_not() const { return why_not_; }  // empty: the head is sound
  const HostChunkHead& head() const { return head_; }
  // False at the end, and where the rest is no record; in the latter case why_not() is not empty.
  bool next(HostEvent& event);

 private:
  bool next_of_version_1(HostEvent& event);
  bool cut_off();
  HostChunkHead head_;
  uint32_t subject_ = 0;
  int64_t time_ = 0;
  std::span<const char> rest_;
  std::string why_not_;
};

}  // namespace ttc::collect
