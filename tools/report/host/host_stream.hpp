// The workload's host side: chunks in, whole zones and messages out, those of a process in the order in which they ended.
//
// A client is queried for the name of a source or the text of a string when an event first needs it, so that an event may come before what it
// refers to. Events of a process from such a one on wait in a spill until the definition is there, or until end(): what goes out needs
// nothing that comes later. Memory holds the zones that are open, and of an op's zone the named zones within it.
//
// Times are nanoseconds since the first process's start by that process's own timer; those of further processes are brought
// there by CLOCK_MONOTONIC_RAW and may be negative. Zones that were open where chunks are missing have no end and are left out.
#pragma once
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "shm/chunk.hpp"
#include "tools/report/text/spill.hpp"
#include "ttcollect/host_events.hpp"

namespace ttc::report {

struct HostMessage {
  uint32_t process = 0;
  uint64_t number = 0;  // counts the messages
  int64_t ns = 0, raw_ns = 0;
  std::string_view text;  // valid during the call
};

struct ZoneSource {
  uint32_t number = 0;  // by first use, from 0, over all processes
  std::string name, function, file;
  uint32_t line = 0;
  bool op = false, special = false;  // its name has TT_; its name is one of HostStream's children
  const std::string& shown() const { return name.empty() ? function : name; }
};

struct HostZone {
  uint32_t process = 0;
  // Numbered as Tracy's server numbers threads, over all processes: by their first message or zone that took time, from 1; and their order by
  // first use.
  uint32_t thread = 0, thread_order = 0;
  const ZoneSource* source = nullptr;
  uint64_t number = 0;  // counts the zones as they began
  int64_t start_ns = 0, end_ns = 0, start_raw_ns = 0;
  // Its own name and text, and of a special one the text of the nearest zone around it that is an op's; none: it has none.
  std::optional<std::string> name, text, parent_text;
};

class HostListener {
 public:
  virtual ~HostListener() = default;
  virtual void message(const HostMessage&) {}
  virtual void zone(const HostZone&) {}
};

// What is known of a process, as the first of its chunks or its definition has it.
struct HostProcess {
  uint64_t pid = 0;
  std::string program;
  std::optional<uint32_t> rank;
  std::vector<uint32_t> chips;  // by its own numbers of devices; empty: these are the chips' own
  std::string label() const;    // of its rows: PID PROGRAM [rank N]
};
// Reads a record of EventKind::process.
HostProcess process_of(const collect::HostEvent& event);

class HostStream {
 public:
  // `children`: names of zones whose parent's text is exported, beyond those that tt-metal always exports.
  explicit HostStream(HostListener& to, const std::set<std::string>& children = {});

  // All chunks but those of the host's side are passed over.
  void push(std::span<const uint64_t> chunk);
  // Must be called after the last chunk: events that wait for a definition are delivered without it.
  void end();

  const std::map<uint32_t, HostProcess>& processes() const { return described_; }
  std::vector<std::string> remarks() const;

 private:
  struct OpenZone {
    HostZone zone;
    std::vector<HostZone> inside;  // special ones that have ended and wait for the text of this one, an op's
  };
  struct Thread {
    uint32_t number = 0, order = 0;  // 0: none yet
    std::vector<OpenZone> open;
  };
  // The data that events of a process wait for, from some moment on.
  struct Wait {
    collect::EventKind kind{};
    uint64_t key = 0;
  };
  struct Process {
    std::unordered_map<uint64_t, std::string> strings;
    std::unordered_map<uint64_t, ZoneSource> sources;
    std::map<uint32_t, Thread> threads;
    std::optional<Wait> waiting;
    std::string front;  // body of a chunk: what was not taken of the one that began to wait
    std::unique_ptr<Spill>
        held;  // those behind it, each with its length in front; a length of 0: chunks are missing here
    uint64_t held_at = 0;  // what was taken of it
  };

  void follow(const shm::ChunkHeader& header);
  void define(uint32_t number, Process& process, const collect::HostEvent& event);
  std::string take_body(uint32_t number, Process& process, std::span<const char> body);
  static void hold(Process& process, std::span<const char> body);
  void resume(uint32_t number, Process& process);
  std::optional<Wait> needs(const Process& process, const collect::HostEvent& event) const;
  void take(uint32_t number, Process& process, const collect::HostChunkHead& head,
            const collect::HostEvent& event);
  void begin_zone(uint32_t number, Process& process, const collect::HostChunkHead& head,
                  const collect::HostEvent& event);
  void end_zone(Thread& thread, int64_t ns);
  void number(Thread& thread);
  void give(HostZone zone, std::vector<OpenZone>& around);
  static void about_zone(Thread& thread, uint32_t protocol, const collect::HostEvent& event);
  void leave_open_zones(Process& process);
  void message(uint32_t number, const collect::HostChunkHead& head, int64_t time, std::string_view text);
  int64_t ns_of(const collect::HostChunkHead& head, int64_t time) const;
  Thread& thread_of(Process& process, uint32_t thread);
  ZoneSource& source_of(Process& process, uint64_t key);

  HostListener& to_;
  std::set<std::string> children_;
  std::map<uint32_t, Process> processes_;
  std::map<uint32_t, HostProcess> described_;
  uint32_t threads_ = 0, orders_ = 0, sources_ = 0;
  uint64_t messages_ = 0, zones_ = 0;
  std::optional<uint32_t> base_process_;
  int64_t base_raw_ns_ = 0;
  bool ending_ = false;
  uint64_t damaged_ = 0, lost_ends_ = 0, gaps_ = 0, early_texts_ = 0;
  std::map<uint64_t, uint64_t> next_sequences_;  // by session
};

}  // namespace ttc::report
