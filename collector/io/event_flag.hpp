// Wake-ups between threads as a descriptor, so that an EventLoop can wait for them beside everything else.
#pragma once
#include <sys/eventfd.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <system_error>

namespace ttc::collect {

class EventFlag {
 public:
  EventFlag() : fd_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    if (fd_ < 0) throw std::system_error(errno, std::generic_category(), "eventfd");
  }
  ~EventFlag() { close(fd_); }
  EventFlag(const EventFlag&) = delete;
  EventFlag& operator=(const EventFlag&) = delete;

  int fd() const { return fd_; }  // readable while raised
  void raise() { eventfd_write(fd_, 1); }
  void lower() {
    eventfd_t ignored;  // how often it was raised; not at all is fine too
    eventfd_read(fd_, &ignored);
  }

 private:
  int fd_;
};

// Makes every device's thread end, with a reason. Once raised it stays.
class Halt {
 public:
  int fd() const { return flag_.fd(); }
  // The first reason stays. `why` must outlive the process's threads: a string literal.
  void raise(const char* why) {
    const char* none = nullptr;
    why_.compare_exchange_strong(none, why);
    flag_.raise();
  }
  const char* why() const { return why_; }  // null: not raised

 private:
  EventFlag flag_;
  std::atomic<const char*> why_{nullptr};
};

}  // namespace ttc::collect
