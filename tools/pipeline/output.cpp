#include "tools/pipeline/output.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>

#include "collector/program/pending_file.hpp"
#include "collector/program/printable.hpp"

namespace ttc::tools {
namespace {
constexpr size_t kOutputBytes = 1 << 20;
}

class Output::Gzip {
 public:
  Gzip() {
    constexpr int kFast = 3, kGzipHeader = 16 + MAX_WBITS, kMemory = 8;
    if (deflateInit2(&stream_, kFast, Z_DEFLATED, kGzipHeader, kMemory, Z_DEFAULT_STRATEGY) != Z_OK)
      throw OutputError("the gzip stream cannot be set up: no memory");
  }
  ~Gzip() { deflateEnd(&stream_); }
  Gzip(const Gzip&) = delete;
  Gzip& operator=(const Gzip&) = delete;

  // Z_FINISH ends the member, and what comes next begins another one. Valid until the next call.
  std::string_view compress(std::string_view bytes, int flush) {
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
    stream_.avail_in = static_cast<uInt>(bytes.size());
    size_t made = 0;
    do {
      out_.resize(made + kOutputBytes);
      stream_.next_out = reinterpret_cast<Bytef*>(out_.data() + made);
      stream_.avail_out = kOutputBytes;
      deflate(&stream_, flush);
      made += kOutputBytes - stream_.avail_out;
    } while (stream_.avail_out == 0);
    if (flush == Z_FINISH) deflateReset(&stream_);
    return {out_.data(), made};
  }

 private:
  z_stream stream_{};
  std::vector<char> out_;
};

// Writes one buffer while the next one is filled.
class Output::Thread {
 public:
  explicit Thread(Output& output) : output_(output), buffer_(kOutputBytes), thread_([this] { work(); }) {}
  ~Thread() {
    {
      const std::lock_guard lock(mutex_);
      stop_ = true;
      changed_.notify_all();
    }
    thread_.join();
  }
  Thread(const Thread&) = delete;
  Thread& operator=(const Thread&) = delete;

  // Its first `used` bytes; leaves another buffer.
  void take(std::vector<char>& buffer, size_t used, std::string_view tail) {
    wait();
    const std::lock_guard lock(mutex_);
    std::swap(buffer, buffer_);
    used_ = used;
    tail_ = tail;
    busy_ = true;
    changed_.notify_all();
  }
  // Waits until everything is written.
  void wait() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return !busy_; });
    if (failure_) std::rethrow_exception(failure_);
  }

 private:
  void work() noexcept {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [this] { return stop_ || busy_; });
      if (!busy_) return;
      lock.unlock();
      std::exception_ptr failure;
      try {
        output_.write_out({buffer_.data(), used_}, tail_);
      } catch (...) {
        failure = std::current_exception();
      }
      lock.lock();
      failure_ = failure;
      busy_ = false;
      changed_.notify_all();
    }
  }

  Output& output_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<char> buffer_;
  size_t used_ = 0;
  std::string tail_;
  bool busy_ = false, stop_ = false;
  std::exception_ptr failure_;
  std::thread thread_;
};

Output::Output(const std::string& path, bool growing, bool gzip, bool threaded)
    : path_(path), buffer_(kOutputBytes) {
  if (gzip) gzip_ = std::make_unique<Gzip>();
  open_path(growing);
  terminal_ = fd_ >= 0 && isatty(fd_);
  if (terminal_ && gzip)
    throw OutputError(
        "output " + path_ +
        " is a terminal, and a gzip stream is not for one; name a file (-o) or leave the gzip out");
  if (threaded) thread_ = std::make_unique<Thread>(*this);
}

Output::Output() : memory_(true), buffer_(kOutputBytes / 16) {}

std::vector<char> Output::take_rows(std::vector<char> memory) {
  std::swap(memory, buffer_);
  if (buffer_.empty()) buffer_.resize(kOutputBytes / 16);
  used_ = 0;
  return memory;
}

void Output::append_rows(std::string_view rows) {
  constexpr size_t kMany = 64 << 10;
  if (rows.size() < kMany || gzip_) return append(rows);  // a thread compresses
  flush();
  if (thread_) thread_->wait();
  write_out(rows, tail_);
}

void Output::open_path(bool growing) {
  if (path_ == "-") {
    fd_ = dup(STDOUT_FILENO);
    return;
  }
  struct stat there {};
  const bool special = stat(path_.c_str(), &there) == 0 && !S_ISREG(there.st_mode);  // /dev/null, a pipe
  rewritable_ = growing && !special && !gzip_;
  if (!growing && !special) {
    pending_ = std::make_unique<program::PendingFile>(path_);
    fd_ = pending_->fd();
    errno = pending_->error();
  } else {
    fd_ = open(path_.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_TRUNC, 0644);
  }
  if (fd_ < 0) fail("written");
}

Output::~Output() {
  thread_.reset();
  if (fd_ >= 0 && !pending_) close(fd_);
}

void Output::fail(const char* what) const {
  throw OutputError("output " + path_ + " cannot be " + what + ": " + std::strerror(errno));
}

void Output::put(std::string_view bytes, std::string_view tail) {
  if (!terminal_) return write_all(bytes, tail);
  write_all(program::printable_lines(bytes), program::printable_lines(tail));
}

// Bytes and tail in one call, so that the file has its tail at every instant.
void Output::write_all(std::string_view bytes, std::string_view tail) {
  const size_t all = bytes.size() + tail.size();
  for (size_t done = 0; done < all;) {
    const std::string_view rest = bytes.substr(std::min(done, bytes.size()));
    const std::string_view rest_of_tail = tail.substr(done - std::min(done, bytes.size()));
    const iovec parts[] = {{const_cast<char*>(rest.data()), rest.size()},
                           {const_cast<char*>(rest_of_tail.data()), rest_of_tail.size()}};
    const ssize_t wrote =
        rewritable_ ? pwritev(fd_, parts, 2, static_cast<off_t>(written_ + done)) : writev(fd_, parts, 2);
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0) fail("written");
    done += static_cast<size_t>(wrote);
  }
  written_ += bytes.size();
}

void Output::flush() {
  if (used_ == 0) return;
  if (thread_)
    thread_->take(buffer_, used_, tail_);
  else
    write_out({buffer_.data(), used_}, tail_);
  used_ = 0;
}

void Output::write_out(std::string_view bytes, std::string_view tail) {
  if (!gzip_)
    put(bytes, rewritable_ ? tail : std::string_view());
  else if (!pending_)
    put(gzip_->compress(bytes, Z_FINISH), {});
  else
    put(gzip_->compress(bytes, Z_NO_FLUSH), {});
}

void Output::make_room(size_t bytes) {
  if (memory_) return buffer_.resize(std::max(2 * buffer_.size(), used_ + bytes));
  flush();
  if (buffer_.size() < bytes) buffer_.resize(bytes);
}

void Output::finish() {
  if (fd_ < 0) return;
  if (!rewritable_) append(tail_);
  flush();
  if (thread_) thread_->wait();
  if (gzip_ && (pending_ || written_ == 0)) put(gzip_->compress({}, Z_FINISH), {});
  errno = pending_ ? pending_->written() : close(fd_) == 0 ? 0 : errno;
  fd_ = -1;
  if (errno) fail("written");
}

void Output::commit() {
  finish();
  if (!pending_) return;
  errno = pending_->put_in_place();
  if (errno) fail("put in place");
  pending_.reset();
}

}  // namespace ttc::tools
