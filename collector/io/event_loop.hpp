// Everything that is a file descriptor: signals, the card's hang-up, timers, batches of reads. io_uring where
// the kernel and the container allow it, ppoll and pread otherwise; both pass
// tests/unit/collector/io/event_loop_test.cpp. One thread.
#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace ttc::collect {

struct FileRead {
  int fd;
  uint64_t offset;
  std::span<uint64_t> out;
};

struct Events {
  bool signal = false;  // a signal arrived on the signal descriptor (not consumed)
  bool hangup = false;  // the card's descriptor became readable
};

class EventLoop {
 public:
  virtual ~EventLoop() = default;
  // Returns when something happened or after timeout_ns; 0 only looks.
  virtual Events wait(uint64_t timeout_ns) = 0;
  // Fills every span. False when any read failed or came short.
  virtual bool read_all(std::span<const FileRead> reads) = 0;
  virtual std::string name() const = 0;
};

// Descriptors of -1 are not watched. `plain`: do not try io_uring. If io_uring is refused (seccomp,
// memlock, old kernel), `fallback_reason` gets the reason and the plain loop is returned.
std::unique_ptr<EventLoop> make_event_loop(int signal_fd, int hangup_fd, bool plain,
                                           std::string& fallback_reason);

}  // namespace ttc::collect
