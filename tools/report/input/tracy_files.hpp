// tracy_ops_data.csv and tracy_ops_times.csv, as Tenstorrent's csvexport leaves them (csvexport/src/csvexport.cpp of
// tenstorrent/tracy 68c5cbd6; tt-metal tools/tracy/__init__.py), out of the chunks of the host's side.
//
//   data    MessageName;total_ns, all messages by time; of one time the later one first, as the server inserts them
//   times   name,src_file,src_line,zone_name,zone_text,ns_since_start,exec_time_ns,thread,special_parent_text: all zones
//           that took time at all, source by source, by their begin. A zone without a name, text or
//           parent's text of its own repeats that of the zone before it in its source, as csvexport does.
//
// Times are nanoseconds since the first process's start by that process's own timer; those of further processes are
// brought there by CLOCK_MONOTONIC_RAW. Memory: 48 bytes a zone and its texts. Beyond `most_zones` no further
// ones are kept, and that is said. Zones that were open where chunks are missing have no end.
#pragma once
#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "shm/chunk.hpp"
#include "ttcollect/host_events.hpp"

namespace ttc::report {

using collect::EventKind;
using collect::HostChunkHead;
using collect::HostEvent;

class TracyFiles {
 public:
  static constexpr size_t kMostZones = 8'000'000;
  // `children`: names of zones whose parent's text is wanted, beyond those that tt-metal always exports.
  explicit TracyFiles(const std::set<std::string>& children = {}, size_t most_zones = kMostZones);

  // Of a capture: its facts alone are read. Throws InputError.
  void read(const std::string& capture);
  // A chunk; all but those of the host's side are passed over.
  void push(std::span<const uint64_t> chunk);

  bool any() const { return !messages_.empty() || !zones_.empty(); }
  size_t processes() const { return processes_.size(); }
  size_t messages() const { return messages_.size(); }
  size_t zones() const { return zones_.size(); }
  // What the files hold.
  std::string data() const;
  std::string times() const;
  std::vector<std::string> remarks() const;
  // CLOCK_MONOTONIC_RAW of the messages that are signposts, in the order of data().
  std::vector<uint64_t> signposts_raw_ns() const;

 private:
  static constexpr uint32_t kNone = ~uint32_t{0};
  struct Source {
    std::string name, function, file;
    uint32_t line = 0;
    const std::string& shown() const { return name.empty() ? function : name; }
  };
  struct Zone {
    int64_t start_ns = 0, end_ns = 0;
    uint32_t source = 0;  // index of sources_by_process_
    uint32_t thread = 0, parent = kNone, text = kNone, name = kNone;
    bool ended = false;
  };
  struct Message {
    int64_t ns = 0, raw_ns = 0;
    uint64_t literal = 0;  // string of its process; 0: text
    uint32_t process = 0;
    std::string text;
  };
  struct Thread {
    uint32_t number = 0;
    std::vector<uint32_t> open;
  };
  struct Process {
    std::unordered_map<uint64_t, std::string> strings;
    std::unordered_map<uint64_t, Source> sources;
    std::unordered_map<uint32_t, Thread> threads;
  };
  std::vector<uint32_t> messages_in_order() const;
  std::string_view text_of(const Message& message) const;
  using SourceKey = std::pair<uint32_t, uint32_t>;  // process, source

  void take(const HostChunkHead& head, const HostEvent& event);
  void define(Process& process, const HostEvent& event);
  void begin_zone(const HostChunkHead& head, Thread& thread, const HostEvent& event);
  void add_text(uint32_t& slot, std::string_view text, bool append);
  void follow(const shm::ChunkHeader& header);
  int64_t ns_of(const HostChunkHead& head, int64_t time);
  Thread& thread_of(uint32_t process, uint32_t thread);
  uint32_t source_index(uint32_t process, uint64_t source);
  const Source& source_at(uint32_t index) const;
  std::string parent_text(const Zone& zone) const;
  void rows_of(uint32_t source, const std::vector<uint32_t>& zones, std::string& out) const;

  std::set<std::string> children_;
  size_t most_zones_;
  std::map<uint32_t, Process> processes_;
  std::vector<Message> messages_;
  std::vector<Zone> zones_;
  std::vector<SourceKey> sources_;
  std::map<SourceKey, uint32_t> source_indices_;
  std::deque<std::string> texts_;
  uint32_t next_thread_ = 0;
  bool based_ = false;
  uint32_t base_process_ = 0;
  int64_t base_raw_ns_ = 0;
  uint64_t damaged_ = 0, lost_ends_ = 0, gaps_ = 0;
  std::map<uint64_t, uint64_t> next_sequences_;  // by session
  bool full_ = false;
};

}  // namespace ttc::report
