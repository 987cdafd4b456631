// A chip as a discrete-event simulation on its own clock: RISCs of many cores run small programs, wait for each other through
// circular buffers and semaphores, and share DRAM channels and NoC ports. Pure: programs, a shape and a seed in, steps in
// order of time out; no thread, no clock and no memory of a card.
//
// The model, in cycles of the tile clock:
//   - A transfer first occupies the DRAM channel, then the port of the core it goes to or comes from, each for bytes/rate and in the
//     order of requests, and arrives a fixed latency and some cycles a hop later. A core has a port in and one out for each of two
//     NoCs; BRISC uses the second NoC, NCRISC the first. A multicast occupies the sender's port once.
//   - A core's program waits for its transfers only at a barrier. A store to a neighbour's semaphore arrives behind the data sent
//     there before it.
//   - A circular buffer holds `capacity` blocks: its producer waits while it is full, its consumer while it is empty.
//   - A marker costs kMarkerCycles of the RISC that records it.
//   - At one time RISCs act in the order of cores, and of RISCs on a core; what arrives then is there for what they do later.
// Rates and latencies are orders of magnitude from public documents (tt-isa-documentation, tt-metal tech reports); none was
// measured on silicon by us.
//
// Every moment has one cause: the moment before it on the same RISC, the one that set it free, or the one that had the resource
// before. The chain of causes from the end to the beginning is the critical path.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace ttc::chip {

using Cycles = uint64_t;

inline constexpr Cycles kMarkerCycles =
    18;  // a zone's two markers cost 35 to 55 ns on Blackhole (tt-metal PR #55967)
inline constexpr Cycles kPollCycles = 8;           // a loop that waits for a word in L1
inline constexpr Cycles kIssueCycles = 12;         // a NoC command
inline constexpr Cycles kWatcherCheckCycles = 30;  // of a NoC command by tt-metal's watcher; a guess

struct Place {
  uint8_t x = 0, y = 0;
};

// The effect of tt-metal's watcher: every NoC command is checked first, and waits first if its core's mask has its bit set.
// Processors are RISCs as below; kinds of command are read, write (and multicast), atomic (a semaphore of one other core).
inline constexpr unsigned kCommands = 3;
struct Watched {
  Cycles check = 0;
  Cycles delay = 0;
  std::vector<std::array<uint8_t, kCommands>> masks;  // by core of the shape; empty: none waits
};

struct Shape {
  std::vector<Place> cores;  // NOC0 places; row by row of the programs' grid
  unsigned columns = 8;      // of that grid
  unsigned channels = 12;    // of DRAM, as the profiler counts banks
  double channel_bytes_a_cycle = 24;
  double port_bytes_a_cycle = 32;
  Cycles dram_latency = 350;
  Cycles hop = 9;
  Watched watched;
};
Shape wormhole_shape(std::vector<Place> cores);
Shape blackhole_shape(std::vector<Place> cores);

inline constexpr unsigned kRiscs = 5, kBuffers = 5, kSemaphores = 5, kGroups = 6;
enum Risc : uint8_t { brisc, ncrisc, unpack, math, pack };

// The next action of a RISC. The meaning of `a` and `n` depends on its kind.
enum class Do : uint8_t {
  zone_begin,  // a: zone
  zone_end,
  spin,     // n cycles, more or less by the program's jitter; a == 1: just so many
  read,     // n bytes of DRAM; the channel is the next in turn
  write,    // n bytes to DRAM
  send,     // n bytes to the cores of group a
  barrier,  // until all of that has arrived
  signal,   // semaphore `b` of the cores of group a grows by n
  await,    // until the own semaphore a holds n, which are taken
  reserve,  // room for one block in buffer a
  push,     // a block into buffer a
  front,    // a block in buffer a
  pop,      // it is free
  // Actions of programs with a mistake (Op::race, Op::hang).
  post,   // n bytes to the cores of group a, which nothing announces
  look,   // takes what was posted to this core, whether it has arrived or not
  clear,  // the own semaphore a becomes 0, whatever has arrived
  loop,   // a == 0: n times; a == 1: as often as the core's own count; 0 times skips to the end
  loop_end,
};
struct Instruction {
  Do what;
  uint8_t a = 0, b = 0;
  uint32_t n = 0;
};
using Code = std::vector<Instruction>;  // ends where it ends

// One core's part of a program.
struct CoreProgram {
  uint16_t core = 0;  // of Shape::cores
  std::array<int16_t, kRiscs> code{-1, -1, -1, -1,
                                   -1};              // of ChipProgram::codes; -1: that RISC is not enabled
  uint32_t count = 1;                                // of Do::loop with a == 1
  std::array<std::vector<uint16_t>, kGroups> group;  // other cores, of Shape::cores
};
struct ChipProgram {
  std::vector<Code> codes;
  std::vector<CoreProgram> cores;
  std::array<uint32_t, kBuffers> capacity{2, 2, 2, 2, 2};  // in blocks
  double jitter = 0.05;                                    // of spins
};

// An action of a RISC that its firmware records or that changes its core's state.
enum class Act : uint8_t { launch, fw_start, kernel_start, zone_begin, zone_end, kernel_end, fw_end, finish };
struct Step {
  Cycles at;
  uint16_t core;
  uint8_t risc;
  Act act;
  uint8_t zone = 0;
};

enum class Why : uint8_t { begin, go, work, channel, port, latency, buffer, semaphore, riscs, done, delay };
std::string_view to_string(Why why);
inline constexpr uint32_t kNoCause = std::numeric_limits<uint32_t>::max();
inline constexpr uint16_t kNoCore = 0xffff;
// A moment, and the one it follows from: the time between the two is of kind `why`, on that core and RISC.
struct Moment {
  Cycles at;
  uint32_t cause;
  uint16_t core;
  uint8_t risc;
  Why why;
  uint8_t what = 0;  // channel, NoC, buffer or semaphore
};

// Tests get every change of a circular buffer.
struct BufferChange {
  Cycles at;
  uint16_t core;
  uint8_t buffer;
  int8_t by;  // 1: a block was pushed; -1: popped
};

// Commands of one kind that waited on a core because of its mask.
struct Delayed {
  uint16_t core;
  uint8_t command;
  uint32_t times;
};

// Two cores whose order nothing enforces: what `from` sends, and what `to` does with it. Lost: it came too late for a `look`, or
// too early for a `clear`.
struct Race {
  enum Kind : uint8_t { data, wake_up };
  static constexpr Cycles kNever = std::numeric_limits<Cycles>::max();
  Kind kind = data;
  uint16_t from = kNoCore, to = kNoCore;
  Cycles arrived = kNever, taken = kNever;  // taken: looked for, or cleared
  bool lost = false;
  // How much later the one that must be first could have been; below 0 where it was lost. Both must have happened.
  int64_t margin() const {
    const auto by = static_cast<int64_t>(taken - arrived);
    return kind == data ? by : -by;
  }
};

// The state of a RISC of a program that never ends.
struct Standing {
  // All but `done`: what it waits for, a block in a buffer, room in one, a semaphore, the core's other RISCs.
  enum At : uint8_t { done, block, room, semaphore, riscs };
  uint16_t core;
  uint8_t risc;
  At at;
};

struct Timeline {
  std::vector<Step> steps;  // in order of time
  std::vector<Delayed> delayed;
  std::vector<Race> races;
  std::vector<Moment> moments;
  uint32_t last = kNoCause;  // of moments: the dispatcher has been notified that every core is done
  std::vector<BufferChange> buffers;
  std::vector<Standing> standing;  // of a deadlock: all RISCs of the program
  Cycles end() const { return moments[last].at; }
};

// RISCs that wait for each other without end; the text names the first that waits, and for what.
struct Deadlock : std::logic_error {
  Deadlock(const std::string& what, Timeline all_until)
      : std::logic_error(what), until(std::move(all_until)) {}
  Timeline until;  // `last` is the latest moment of all
};

// Room to reserve for a timeline; 0: an ordinary program's.
struct Sizes {
  size_t moments = 0, steps = 0;
};
// Runs `program` from `go` on, when the dispatcher's go message leaves. `note_buffers`: fills Timeline::buffers.
// Throws Deadlock.
Timeline run(const Shape& shape, const ChipProgram& program, Cycles go, uint64_t seed,
             bool note_buffers = false, Sizes expected = {});

// Parts of the path that leads to `timeline.last`, in order of time: each begins where the one before ended.
struct PathPart {
  Cycles begin, end;
  uint16_t core;
  uint8_t risc;
  Why why;
  uint8_t what;
};
std::vector<PathPart> critical_path(const Timeline& timeline);

}  // namespace ttc::chip
