#include "collector/io/event_loop.hpp"

#include <liburing.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace ttc::collect {
namespace {

timespec to_timespec(uint64_t ns) {
  return {static_cast<time_t>(ns / 1000000000u), static_cast<long>(ns % 1000000000u)};
}

// Finishes what a read brought short (signals, page boundaries of the file).
bool read_rest(const FileRead& r, size_t done) {
  auto* to = reinterpret_cast<char*>(r.out.data());
  while (done < r.out.size_bytes()) {
    const ssize_t got =
        pread(r.fd, to + done, r.out.size_bytes() - done, static_cast<off_t>(r.offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    done += static_cast<size_t>(got);
  }
  return true;
}

class PollLoop : public EventLoop {
 public:
  PollLoop(int signal_fd, int hangup_fd) : fds_{{signal_fd, POLLIN, 0}, {hangup_fd, POLLIN | POLLRDHUP, 0}} {}

  Events wait(uint64_t timeout_ns) override {
    const timespec timeout = to_timespec(timeout_ns);
    fds_[0].revents = fds_[1].revents = 0;
    if (ppoll(fds_, 2, &timeout, nullptr) <= 0) return {};
    return {fds_[0].revents != 0, fds_[1].revents != 0};
  }

  bool read_all(std::span<const FileRead> reads) override {
    for (const FileRead& r : reads)
      if (!read_rest(r, 0)) return false;
    return true;
  }

  std::string name() const override { return "poll"; }

 private:
  pollfd fds_[2];
};

class UringLoop : public EventLoop {
 public:
  static constexpr unsigned kEntries = 64;
  enum Tag : uint64_t { kSignal = 1, kHangup = 2, kRead = 16 };

  UringLoop(io_uring ring, int signal_fd, int hangup_fd) : ring_(ring), fds_{signal_fd, hangup_fd} {
    arm(kSignal);
    arm(kHangup);
    io_uring_submit(&ring_);
  }
  ~UringLoop() override { io_uring_queue_exit(&ring_); }

  Events wait(uint64_t timeout_ns) override {
    io_uring_cqe* cqe = nullptr;
    const bool seen_already = pending_.signal || pending_.hangup;  // while reads were reaped
    if (timeout_ns && !seen_already) {
      __kernel_timespec timeout{static_cast<long long>(timeout_ns / 1000000000u),
                                static_cast<long long>(timeout_ns % 1000000000u)};
      io_uring_wait_cqe_timeout(&ring_, &cqe, &timeout);  // ETIME and EINTR need no action
    }
    while (io_uring_peek_cqe(&ring_, &cqe) == 0) {
      note(cqe->user_data);
      io_uring_cqe_seen(&ring_, cqe);
    }
    const Events now = pending_;
    pending_ = {};
    rearm(now);
    return now;
  }

  bool read_all(std::span<const FileRead> reads) override {
    for (size_t first = 0; first < reads.size(); first += kEntries / 2)
      if (!read_some(reads.subspan(first, std::min<size_t>(kEntries / 2, reads.size() - first))))
        return false;
    return true;
  }

  std::string name() const override { return "io_uring"; }

 private:
  bool read_some(std::span<const FileRead> reads) {
    for (size_t i = 0; i < reads.size(); ++i) {
      io_uring_sqe* sqe = io_uring_get_sqe(&ring_);
      io_uring_prep_read(sqe, reads[i].fd, reads[i].out.data(),
                         static_cast<unsigned>(reads[i].out.size_bytes()), reads[i].offset);
      io_uring_sqe_set_data64(sqe, kRead + i);
    }
    int submitted = io_uring_submit(&ring_);
    bool ok = submitted == static_cast<int>(reads.size());
    for (int left = submitted; left > 0;) {
      io_uring_cqe* cqe = nullptr;
      if (const int error = io_uring_wait_cqe(&ring_, &cqe); error == -EINTR)
        continue;
      else if (error < 0)
        return false;
      if (cqe->user_data >= kRead) {
        ok = ok && cqe->res >= 0 && read_rest(reads[cqe->user_data - kRead], static_cast<size_t>(cqe->res));
        --left;
      } else {
        note(cqe->user_data);
      }
      io_uring_cqe_seen(&ring_, cqe);
    }
    return ok;
  }

  void note(uint64_t tag) {
    if (tag == kSignal) pending_.signal = true;
    if (tag == kHangup) pending_.hangup = true;
  }
  void arm(Tag tag) {
    const int fd = fds_[tag - 1];
    if (fd < 0) return;
    io_uring_sqe* sqe = io_uring_get_sqe(&ring_);
    io_uring_prep_poll_add(sqe, fd, POLLIN | POLLRDHUP);
    io_uring_sqe_set_data64(sqe, tag);
  }
  void rearm(const Events& fired) {
    if (fired.signal) arm(kSignal);
    if (fired.hangup) arm(kHangup);
    if (fired.signal || fired.hangup) io_uring_submit(&ring_);
  }

  io_uring ring_;
  int fds_[2];
  Events pending_;
};

}  // namespace

std::unique_ptr<EventLoop> make_event_loop(int signal_fd, int hangup_fd, bool plain,
                                           std::string& fallback_reason) {
  if (!plain) {
    io_uring ring{};
    const int error = io_uring_queue_init(UringLoop::kEntries, &ring, 0);
    if (error == 0) return std::make_unique<UringLoop>(ring, signal_fd, hangup_fd);
    fallback_reason = std::string("io_uring is not available here (") + std::strerror(-error) + ")";
  }
  return std::make_unique<PollLoop>(signal_fd, hangup_fd);
}

}  // namespace ttc::collect
