// Rows of spans of one process of the host's side: its frames, its locks with their holders, and what its threads waited for.
//
// A span waits, in order, until the client has sent the names that it shows (HostTracks has how long at most).
#pragma once
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tools/viewers/host/host_locks.hpp"
#include "tools/viewers/host/host_writer.hpp"
#include "tools/viewers/host/rows.hpp"
#include "ttcollect/host_events.hpp"

namespace ttc::tools {

// The names that a process has sent so far.
class HostNames {
 public:
  virtual ~HostNames() = default;
  virtual const std::string* string(uint64_t key) = 0;          // null: not yet
  virtual const HostSource* source(uint64_t key) = 0;           // likewise
  virtual const HostThread* named_thread(uint32_t tid) = 0;     // likewise
  virtual const HostThread& reported_thread(uint32_t tid) = 0;  // the writer has it
};

class HostRows {
 public:
  static bool takes(collect::EventKind kind);
  // An event of a kind that it takes; definitions have no time.
  void take(const collect::HostEvent& event, uint64_t ns);
  // Events are missing from here on, or there are no more: what is open ends here.
  void cut(const char* why);

  bool ready(HostNames& names) const;  // the first span
  size_t held() const { return spans_.size(); }
  void hand_over(HostWriter& to, HostNames& names, uint32_t process, uint32_t& next_row);
  uint64_t left_out() const { return left_out_; }  // more lie over each other than rows keep apart

 private:
  struct Span {  // of a lock, or else of a frame
    bool is_frame = false;
    uint64_t frame_set = 0, frame = 0;
    LockSpan is;
  };
  struct FrameSet {
    uint64_t marked_ns = 0, begun_ns = 0;  // 0: not
    uint64_t count = 0;
  };
  struct Rows {
    RowPacker places;
    std::vector<std::unique_ptr<HostRow>> rows;
  };
  void frame(uint32_t what, uint64_t set, uint64_t ns);
  void end_frame(uint64_t set, uint64_t begin_ns, uint64_t end_ns);
  void add(const std::vector<LockSpan>& spans);
  std::string lock_name(HostNames& names, uint64_t lock) const;
  std::string thread_name(HostNames& names, uint32_t tid) const;
  HostSpan shown(HostNames& names, const Span& span) const;
  std::string row_name(HostNames& names, const Span& span);

  HostLocks locks_;
  std::unordered_map<uint64_t, uint64_t> lock_sources_;  // by lock
  std::unordered_map<uint64_t, std::string> lock_names_;
  std::map<uint64_t, FrameSet> frames_;  // by string; 0: the main one
  uint64_t last_ns_ = 0;
  std::deque<Span> spans_;                                 // that wait
  std::map<std::pair<HostRowKind, uint64_t>, Rows> rows_;  // by frame set, lock, or thread
  std::map<std::string, uint32_t> names_used_;             // of locks
  uint64_t left_out_ = 0;
};

}  // namespace ttc::tools
