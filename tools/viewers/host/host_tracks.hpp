// The workload's host side for viewers: chunks of its session in, zones, messages and plots of its threads out.
//
// A client is queried for a name only when an event first needs it, and what a zone is about (its text, its op) comes
// within the zone. So events wait, thread by thread and in order: a begin until its zone has ended and its source is
// known, anything until its thread's name is known. Beyond kLookAhead events of a thread, and at release(true), the
// first one goes out with what is known.
//
// Times are nanoseconds of CLOCK_MONOTONIC_RAW, off by the bound of their chunk at most. Those of a thread do not go
// back. Where chunks are missing, zones that were open end at the last time of their thread.
#pragma once
#include <cstdint>
#include <deque>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "shm/chunk.hpp"
#include "tools/viewers/host/op_names.hpp"
#include "ttcollect/host_events.hpp"

namespace ttc::tools {

struct HostProcess {
  uint32_t number = 0;  // from 0, without gaps
  uint64_t pid = 0;     // as the process had it; two of other name spaces may have one
  std::string name;
};
struct HostThread {
  uint32_t number = 0;  // from 0, without gaps, over all processes
  uint32_t process = 0, tid = 0;
  std::string name;
};
struct HostPlot {
  uint32_t number = 0;  // from 0, without gaps, over all processes
  uint32_t process = 0;
  std::string name;
};
// What viewers that name an event show of a message: its first line, at most 120 bytes, without back-ticks around it and the arrow
// in front of an op's JSON.
std::string_view title_of(std::string_view message);

// Where a zone stands in the source.
struct HostSource {
  uint32_t number = 0;  // from 0, without gaps, over all processes
  std::string name, function, file;
  uint32_t line = 0;
};
struct HostZoneBegin {
  uint64_t ns = 0;
  const HostSource& source;
  std::string_view name;  // its own, instead of the source's; or empty
  std::string_view text;
  uint64_t flow = 0;  // to the launches of the op that the zone is; 0: none
};

// Numbers under which viewers that go by them show processes: their own, or one beyond all real ones where it is
// taken, or is one of the lowest `reserved`.
class HostPids {
 public:
  explicit HostPids(uint64_t reserved) : reserved_(reserved) {}
  uint64_t of(const HostProcess& process);

 private:
  static constexpr uint64_t kBeyond = 1 << 22;  // the kernel's greatest
  uint64_t reserved_;
  std::unordered_set<uint64_t> taken_;
  uint64_t next_ = kBeyond + 1;
};

class HostWriter {
 public:
  virtual ~HostWriter() = default;
  // Each once, before the first that refers to it.
  virtual void host_process(const HostProcess&) {}
  virtual void host_thread(const HostThread&) {}
  virtual void host_plot(const HostPlot&) {}

  virtual void host_begin(const HostThread&, const HostZoneBegin&) {}
  // `text`: what came about the zone after its begin was handed over.
  virtual void host_end(const HostThread&, uint64_t /*ns*/, std::string_view /*text*/) {}
  virtual void host_message(const HostThread&, uint64_t /*ns*/, std::string_view /*text*/) {}
  virtual void host_value(const HostPlot&, uint64_t /*ns*/, double /*value*/) {}
};

class HostTracks {
 public:
  static constexpr size_t kLookAhead = 4096;

  // A chunk; all but those of the host's side are passed over.
  void push(std::span<const uint64_t> chunk);
  // What need not wait. `all`: everything.
  void release(HostWriter& to, bool all);
  // No chunk will come: zones that are still open end with their thread. Before the last release.
  void end();

  OpNames& names() { return names_; }
  // From the zone of an op to the first program of this chip and host id. 0: no zone has it, or it was taken.
  uint64_t take_flow(uint32_t chip, uint32_t host_id);
  size_t held() const { return held_; }  // events that wait
  std::vector<std::string> remarks() const;

 private:
  enum class Is : uint8_t { begin, end, message, literal, value };
  struct Event {
    Is is{};
    bool ended = false;  // of a begin: its end is known
    uint64_t ns = 0;
    uint64_t key = 0;  // of a begin its source, of a literal its string, of a value its plot
    uint64_t flow = 0;
    double number = 0;
    std::string name, text;
  };
  struct OpenZone {
    uint64_t at = 0;   // of its begin, as Thread::first counts
    std::string text;  // that came after the begin was handed over
  };
  struct Thread {
    HostThread shown;
    bool reported = false, named = false;
    uint64_t last_ns = 0;
    uint64_t first = 0;  // events handed over
    std::deque<Event> events;
    std::vector<OpenZone> open;
    Event* begin_of(const OpenZone& zone) {
      return zone.at < first ? nullptr : &events[static_cast<size_t>(zone.at - first)];
    }
  };
  struct Process {
    HostProcess shown;
    bool reported = false;
    bool marks = false;  // of `ttcollect mark` and its libraries, which name no threads
    std::unordered_map<uint64_t, std::string> strings;
    std::unordered_map<uint64_t, HostSource> sources;
    std::map<uint64_t, HostPlot> plots;  // by string
    std::map<uint32_t, Thread> threads;
  };

  void follow(const shm::ChunkHeader& header);
  void take(Process& process, const collect::HostChunkHead& head, const collect::HostEvent& event);
  void define(Process& process, const collect::HostEvent& event);
  Thread& thread_of(Process& process, uint32_t tid);
  HostSource& source_of(Process& process, uint64_t key);
  void message(Thread& thread, Event event);
  void put(Thread& thread, Event event);
  void end_zone(Thread& thread, uint64_t ns);
  void about_zone(Thread& thread, const collect::HostEvent& event);
  bool ready(const Process& process, const Thread& thread) const;
  void hand_over(HostWriter& to, Process& process, Thread& thread);
  void value(HostWriter& to, Process& process, const Event& event);

  std::map<std::pair<uint64_t, uint32_t>, Process> processes_;  // by session and number
  std::map<uint64_t, uint64_t> next_sequences_;                 // by session
  OpNames names_;
  std::unordered_map<uint64_t, bool> flows_;  // of ops that have a zone: taken
  uint32_t threads_ = 0, sources_ = 0, plots_ = 0;
  size_t held_ = 0;
  uint64_t damaged_ = 0, gaps_ = 0, lost_ends_ = 0;
};

}  // namespace ttc::tools
