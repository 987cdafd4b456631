#include "tools/output/output.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "collector/program/pending_file.hpp"
#include "collector/program/printable.hpp"
#include "tools/output/gzip_blocks.hpp"

namespace ttc::tools {
namespace {
constexpr size_t kOutputBytes = 1 << 20;
constexpr size_t kWritesUnderWay = 2;
}  // namespace

// A buffer on its way to the file.
class Output::Write : public jobs::Workers::Job {
 public:
  explicit Write(Output& output) : output_(output), buffer_(kOutputBytes) {}
  // Its first `used` bytes; leaves another buffer.
  void take(OutputMemory& buffer, size_t used, std::string_view tail) {
    std::swap(buffer, buffer_);
    used_ = used;
    tail_ = tail;
    if (output_.has_places_) place_ = output_.next_place(used);
  }

 private:
  void run() override {
    output_.unless_failed([this] {
      const std::string_view bytes(buffer_.data(), used_);
      if (output_.has_places_)
        output_.write_at(place_, bytes);
      else
        output_.write_out(bytes, tail_);
    });
  }

  Output& output_;
  OutputMemory buffer_;
  size_t used_ = 0;
  size_t place_ = 0;
  std::string tail_;
};

// Behind a write that failed nothing is written.
template <class Do>
void Output::unless_failed(Do write) {
  if (failed_) return;
  try {
    write();
  } catch (...) {
    if (!failed_.exchange(true)) failure_ = std::current_exception();
    throw;
  }
}

void Output::Rows::run() {
  output_.unless_failed([this] {
    for (size_t done = 0; done < pieces_.size();)
      done += output_.write_some(std::span(pieces_).subspan(done));
  });
  pieces_.clear();
}

Output::Output(const std::string& path, bool growing, bool gzip, jobs::Workers* workers)
    : path_(path), buffer_(kOutputBytes), workers_(workers), in_gzip_(gzip) {
  open_path(growing);
  terminal_ = fd_ >= 0 && isatty(fd_);
  if (terminal_ && gzip)
    throw OutputError(
        "output " + path_ +
        " is a terminal, and a gzip stream is not for one; name a file (-o) or leave the gzip out");
  if (gzip)
    gzip_ = std::make_unique<GzipBlocks>(workers,
                                         pending_  ? GzipBlocks::Members::one
                                         : growing ? GzipBlocks::Members::of_appends
                                                   : GzipBlocks::Members::of_blocks,
                                         [this](std::string_view bytes) { put(bytes, {}); });
  else if (workers)
    for (size_t i = 0; i < kWritesUnderWay; ++i) writes_.push_back(std::make_unique<Write>(*this));
  has_places_ = pending_ && !writes_.empty() && workers->threads() > 1;
}

Output::Output() : memory_(true), buffer_(kOutputBytes / 16) {}

OutputMemory Output::take_rows(OutputMemory memory) {
  std::swap(memory, buffer_);
  used_ = 0;
  return memory;
}

void Output::append_rows(std::string_view rows) {
  constexpr size_t kMany = 64 << 10;
  if (rows.size() < kMany) return append(rows);
  pass_on();
  if (has_places_) return write_at(next_place(rows.size()), rows);
  wait_for_writes();
  write_out(rows, tail_);
}

void Output::place(Rows& rows, std::string_view bytes) {
  pass_on();
  rows.pieces_.push_back({next_place(bytes.size()), bytes});
}

void Output::write(Rows& rows, unsigned thread) {
  workers_->submit_to(thread, rows, &one_by_one_);
}

size_t Output::next_place(size_t bytes) {
  written_ += bytes;
  return written_ - bytes;
}

// The first of the pieces, and those behind it as far as they lie one behind the other in the file. Returns how many.
size_t Output::write_some(std::span<const Piece> pieces) {
  constexpr size_t kMost = 256;  // the kernel takes 1024
  iovec parts[kMost];
  size_t count = 0, bytes = 0;
  for (const Piece& piece : pieces.first(std::min(pieces.size(), kMost))) {
    if (piece.place != pieces[0].place + bytes) break;
    parts[count++] = {const_cast<char*>(piece.bytes.data()), piece.bytes.size()};
    bytes += piece.bytes.size();
  }
  ssize_t wrote;
  do wrote = pwritev(fd_, parts, static_cast<int>(count), static_cast<off_t>(pieces[0].place));
  while (wrote < 0 && errno == EINTR);
  if (wrote < 0) fail("written");
  // A signal or a full disk cuts it at any byte.
  auto written = static_cast<size_t>(wrote);
  for (const Piece& piece : pieces.first(count)) {
    const size_t of_it = std::min(written, piece.bytes.size());
    write_at(piece.place + of_it, piece.bytes.substr(of_it));
    written -= of_it;
  }
  return count;
}

void Output::write_at(size_t place, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t wrote = pwrite(fd_, bytes.data(), bytes.size(), static_cast<off_t>(place));
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0) fail("written");
    place += static_cast<size_t>(wrote);
    bytes.remove_prefix(static_cast<size_t>(wrote));
  }
}

void Output::open_path(bool growing) {
  if (path_ == "-") {
    fd_ = dup(STDOUT_FILENO);
    return;
  }
  struct stat there {};
  const bool special = stat(path_.c_str(), &there) == 0 && !S_ISREG(there.st_mode);  // /dev/null, a pipe
  rewritable_ = growing && !special && !in_gzip_;
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
  if (!writes_.empty()) workers_->forget_all();
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

void Output::append_rows_of(Output& rows, unsigned thread) {
  pass_on();
  if (rows.used_) pass_on(rows.buffer_, rows.used_, thread);
  rows.used_ = 0;
}

void Output::pass_on() {
  if (used_) pass_on(buffer_, used_);
  used_ = 0;
}

// Leaves other memory in `buffer`.
void Output::pass_on(OutputMemory& buffer, size_t used, unsigned thread) {
  if (writes_.empty()) return write_out({buffer.data(), used}, tail_);
  Write& write = *writes_[next_write_];
  workers_->wait(write);
  write.take(buffer, used, tail_);
  if (has_places_)
    workers_->submit_to(thread, write, &one_by_one_);
  else
    workers_->submit(write, &one_by_one_);
  next_write_ = (next_write_ + 1) % writes_.size();
}

void Output::wait_for_writes() {
  for (size_t i = 0; i < writes_.size(); ++i) workers_->wait(*writes_[(next_write_ + i) % writes_.size()]);
}

void Output::flush() {
  pass_on();
  if (gzip_) gzip_->flush();
}

void Output::write_out(std::string_view bytes, std::string_view tail) {
  if (gzip_)
    gzip_->append(bytes);
  else
    put(bytes, rewritable_ ? tail : std::string_view());
}

void Output::make_room(size_t bytes) {
  if (memory_) return buffer_.grow(std::max(2 * buffer_.size(), used_ + bytes));
  pass_on();
  buffer_.grow(bytes);
}

void Output::finish() {
  if (fd_ < 0) return;
  if (!rewritable_) append(tail_);
  pass_on();
  wait_for_writes();
  if (failed_)
    std::rethrow_exception(failure_);  // also where the rows that were not written were not waited for
  if (gzip_) gzip_->finish();
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
