// The workload's host side for viewers: chunks of its session in, zones, messages and plots of its threads out, and rows of
// its frames and locks.
//
// A client is queried for a name only when an event first needs it, and what a zone is about (its text, its op) comes
// within the zone. So events wait, thread by thread and in order: a begin until its zone has ended and its source is
// known, anything until its thread's name is known. Beyond kLookAhead events of a thread, and at release(true), the
// first one goes out with what is known.
//
// Times are nanoseconds of CLOCK_MONOTONIC_RAW, off by the bound of their chunk at most. Those of a thread do not go
// back. Where chunks are missing, zones that were open end at the last time of their thread, and what is held at the last
// time of its process.
#pragma once
#include <cstdint>
#include <deque>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "shm/chunk.hpp"
#include "tools/viewers/host/host_rows.hpp"
#include "tools/viewers/host/host_writer.hpp"
#include "tools/viewers/host/op_names.hpp"
#include "ttcollect/host_events.hpp"

namespace ttc::tools {

class HostTracks {
 public:
  static constexpr size_t kLookAhead = 4096;

  // A chunk; all but those of the host's side are passed over.
  void push(std::span<const uint64_t> chunk);
  // Writes the events that need not wait any more; `all`: every one.
  void release(HostWriter& to, bool all);
  // Must be called after the last chunk, before the last release: zones that are still open end with their thread.
  void end();

  OpNames& names() { return names_; }
  const OpNames& names() const { return names_; }
  // The flow from the zone of an op to the first program of this chip and host id. 0: no zone has it, or it was
  // taken.
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
    HostOp op;
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
    HostRows rows;
  };
  class Names;

  void follow(const shm::ChunkHeader& header);
  void take(Process& process, const collect::HostChunkHead& head, const collect::HostEvent& event);
  void take_row(Process& process, const collect::HostChunkHead& head, const collect::HostEvent& event);
  void cut(HostRows& rows, const char* why);
  void define(Process& process, const collect::HostEvent& event);
  Thread& thread_of(Process& process, uint32_t tid);
  HostSource& source_of(Process& process, uint64_t key);
  void message(Thread& thread, Event event);
  void put(Thread& thread, Event event);
  void end_zone(Thread& thread, uint64_t ns);
  void about_zone(Thread& thread, const collect::HostEvent& event);
  bool ready(const Process& process, const Thread& thread) const;
  static void report(HostWriter& to, Process& process);
  static void report(HostWriter& to, Process& process, Thread& thread);
  void hand_over(HostWriter& to, Process& process, Thread& thread);
  void release_rows(HostWriter& to, Process& process, bool all);
  void value(HostWriter& to, Process& process, const Event& event);

  std::map<std::pair<uint64_t, uint32_t>, Process> processes_;  // by session and number
  std::map<uint64_t, uint64_t> next_sequences_;                 // by session
  OpNames names_;
  std::unordered_map<uint64_t, bool> flows_;  // of ops that have a zone: taken
  uint32_t threads_ = 0, sources_ = 0, plots_ = 0, rows_ = 0;
  size_t held_ = 0;
  uint64_t damaged_ = 0, gaps_ = 0, lost_ends_ = 0;
};

}  // namespace ttc::tools
