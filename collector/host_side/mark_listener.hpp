// Marks that programs set without Tracy: a datagram each, to a socket of `ttcollect run` in the abstract namespace.
//
//   NANOSECONDS PID TID KIND\nTEXT     NANOSECONDS of CLOCK_MONOTONIC_RAW; KIND m (mark), b or e (a step begins, ends),
//                                     r or s (collecting starts, stops; no message),
//                                     z (zones of Python functions, python_zones.hpp),
//                                     l (TEXT: how many such zones the process could not send)
//
// The kernel gives the sender of a datagram (SCM_CREDENTIALS): those of other users than ours and root are refused, because any
// process of the network namespace can send to the socket.
//
// They become messages of the form that tt-metal's signposts have, which reports read. A sender does not wait: what the socket's
// buffer does not take it counts in memory of ours (mark_losses.hpp). These losses become zones of the process, by which every viewer
// shows from when to when marks may be missing.
#pragma once
#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "collector/host_side/host_publisher.hpp"
#include "collector/host_side/mark_losses.hpp"

namespace ttc::collect {

inline constexpr const char* kMarksVariable = "TTCOLLECT_MARKS";  // the socket's name
inline constexpr const char* kMarksPrefix = "ttcollect-marks-";   // then the number of run's process
inline constexpr uint32_t kMarkLossThread =
    0x7fff'ffff;  // of the zones of lost marks; no thread of Linux has this number
inline constexpr size_t kMostMarkBytes = 60'000;  // a message of Tracy holds 65,535

struct Mark {
  int64_t raw_ns = 0;
  uint64_t pid = 0;
  uint32_t tid = 0;
  char kind = 'm';
  std::string_view text;
};
// No value if it is no mark.
std::optional<Mark> parse_mark(std::string_view datagram);
// The text has the form of tt-metal's signposts: back-tick, TT_SIGNPOST: text, back-tick. What would end it early is
// replaced.
std::string signpost_of(const Mark& mark);

class MarkListener {
 public:
  // `publisher`: called with the first mark; may give null. `heard`: with each mark, but for zones; from the listener's
  // thread.
  MarkListener(const std::string& name, std::function<HostPublisher*()> publisher,
               std::function<void(const Mark&)> heard);
  ~MarkListener();
  MarkListener(const MarkListener&) = delete;
  MarkListener& operator=(const MarkListener&) = delete;
  void end();                                              // takes what is there
  const std::string& failure() const { return failure_; }  // why there is no socket
  uint64_t marks() const { return marks_; }
  uint64_t refused() const { return refused_; }           // that are no marks
  uint64_t foreign() const { return foreign_; }           // of other users
  std::string loss_path() const { return lost_.path(); }  // kMarkLossVariable; empty: losses are not counted
  // Marks that were never received. After end().
  const std::vector<MarkLoss>& losses() const { return losses_; }
  // Valid after end(): for each process the number of Python zones that it could not send.
  const std::map<uint64_t, uint64_t>& zones_missing() const { return zones_missing_; }

 private:
  void listen();
  bool receive(std::vector<char>& into);
  void take(std::string_view datagram, uint64_t pid);
  bool publishes();
  void publish_losses();
  const std::function<HostPublisher*()> publisher_;
  const std::function<void(const Mark&)> heard_;
  int fd_ = -1;
  int64_t began_ns_ = 0;
  std::string failure_;
  HostBatch* batch_of(uint64_t pid);
  void publish();
  void publish_if_full(HostBatch& batch);
  std::map<uint64_t, HostBatch> batches_;  // by process
  std::map<uint64_t, uint64_t> zones_missing_;
  MarkLosses lost_;
  std::vector<MarkLoss> losses_;
  HostPublisher* to_ = nullptr;
  std::atomic<uint64_t> marks_{0}, refused_{0}, foreign_{0};
  std::atomic<bool> ending_{false};
  std::thread thread_;
};

// The names of listeners that run now, of `/proc/net/unix`.
std::vector<std::string> mark_listeners(const std::string& proc = "/proc");
// Sends one; why it could not be, empty when it was.
std::string send_mark(const std::string& name, char kind, std::string_view text);

}  // namespace ttc::collect
