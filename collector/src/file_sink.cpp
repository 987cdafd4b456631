#include "collector/file_sink.hpp"

#include <fcntl.h>
#include <liburing.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <vector>

#include "collector/capture_reader.hpp"

namespace ttc::collect {
namespace {

constexpr size_t kBufferBytes = 256 << 10;

std::string write_error(int error) {
  return std::string("writing failed: ") + std::strerror(error);
}

class PlainSink : public FileSink {
 public:
  explicit PlainSink(int fd) : fd_(fd) { buffer_.reserve(kBufferBytes); }
  ~PlainSink() override { close(fd_); }

  void append(std::span<const std::byte> bytes) override {
    buffer_.insert(buffer_.end(), bytes.begin(), bytes.end());
    if (buffer_.size() >= kBufferBytes) flush();
  }
  void flush() override {
    size_t done = 0;
    while (done < buffer_.size() && error_.empty()) {
      const ssize_t put = write(fd_, buffer_.data() + done, buffer_.size() - done);
      if (put < 0 && errno == EINTR) continue;
      if (put < 0) error_ = write_error(errno);
      if (put > 0) done += static_cast<size_t>(put);
    }
    written_ += done;
    buffer_.clear();
  }
  uint64_t written() const override { return written_; }
  std::string error() const override { return error_; }
  std::string name() const override { return "write"; }

 private:
  int fd_;
  std::vector<std::byte> buffer_;
  uint64_t written_ = 0;
  std::string error_;
};

class UringSink : public FileSink {
 public:
  UringSink(io_uring ring, int fd) : ring_(ring), fd_(fd) {
    for (Buffer& b : buffers_) b.bytes.reserve(kBufferBytes);
  }
  ~UringSink() override {
    while (in_flight_) reap();
    io_uring_queue_exit(&ring_);
    close(fd_);
  }

  void append(std::span<const std::byte> bytes) override {
    auto& filling = buffers_[current_].bytes;
    filling.insert(filling.end(), bytes.begin(), bytes.end());
    if (filling.size() >= kBufferBytes) submit();
  }
  void flush() override {
    submit();
    while (in_flight_) reap();
  }
  uint64_t written() const override { return written_; }
  std::string error() const override { return error_; }
  std::string name() const override { return "io_uring"; }

 private:
  struct Buffer {
    std::vector<std::byte> bytes;
    uint64_t offset = 0;
    size_t done = 0;
    bool busy = false;
  };

  // Sends the current buffer and turns to the other one, waiting for it when it is still on its way.
  void submit() {
    Buffer& b = buffers_[current_];
    if (b.bytes.empty() || !error_.empty()) {
      b.bytes.clear();
      return;
    }
    b.offset = next_offset_;
    b.done = 0;
    next_offset_ += b.bytes.size();
    send(current_);
    current_ ^= 1;
    while (buffers_[current_].busy) reap();
  }
  void send(size_t index) {
    Buffer& b = buffers_[index];
    io_uring_sqe* sqe = io_uring_get_sqe(&ring_);
    io_uring_prep_write(sqe, fd_, b.bytes.data() + b.done, static_cast<unsigned>(b.bytes.size() - b.done),
                        b.offset + b.done);
    io_uring_sqe_set_data64(sqe, index);
    b.busy = true;
    ++in_flight_;
    io_uring_submit(&ring_);
  }
  void reap() {
    io_uring_cqe* cqe = nullptr;
    const int waited = io_uring_wait_cqe(&ring_, &cqe);
    if (waited == -EINTR) return;
    if (waited < 0) {
      error_ = write_error(-waited);
      in_flight_ = 0;
      for (Buffer& b : buffers_) b.busy = false;
      return;
    }
    const size_t index = cqe->user_data;
    const int result = cqe->res;
    io_uring_cqe_seen(&ring_, cqe);
    --in_flight_;
    Buffer& b = buffers_[index];
    b.busy = false;
    if (result < 0 && result != -EINTR && result != -EAGAIN) {
      error_ = write_error(-result);
      b.bytes.clear();
      return;
    }
    if (result > 0) {
      b.done += static_cast<size_t>(result);
      written_ += static_cast<uint64_t>(result);
    }
    if (b.done < b.bytes.size())
      send(index);  // short: the rest follows
    else
      b.bytes.clear();
  }

  io_uring ring_;
  int fd_;
  std::array<Buffer, 2> buffers_;
  size_t current_ = 0;
  unsigned in_flight_ = 0;
  uint64_t next_offset_ = 0;
  uint64_t written_ = 0;
  std::string error_;
};

}  // namespace

std::unique_ptr<FileSink> open_file_sink(const std::string& path, bool plain) {
  const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (fd < 0) throw CaptureError("capture " + path + " cannot be written: " + std::strerror(errno));
  io_uring ring{};
  // A pipe or terminal has no offsets; only plain writes make sense there.
  if (!plain && lseek(fd, 0, SEEK_CUR) == 0 && io_uring_queue_init(8, &ring, 0) == 0)
    return std::make_unique<UringSink>(ring, fd);
  return std::make_unique<PlainSink>(fd);
}

}  // namespace ttc::collect
