#include "collector/record/capture_disk.hpp"

#include <fcntl.h>
#include <liburing.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <utility>

#include "collector/capture/capture_file.hpp"

namespace ttc::collect {
namespace {

class File {
 public:
  // Throws CaptureError.
  explicit File(const std::string& path) : path_(path) {
    fd_ = open(path.c_str(), kFlags | O_DIRECT, 0644);
    direct_ = fd_ >= 0;
    if (fd_ < 0 && errno == EINVAL) fd_ = open(path.c_str(), kFlags, 0644);
    if (fd_ < 0) throw CaptureError("capture " + path + " cannot be written: " + std::strerror(errno));
    had_name_ = links() > 0;
  }
  ~File() {
    if (fd_ >= 0) close(fd_);
  }
  File(File&& other) noexcept
      : path_(std::move(other.path_)),
        fd_(std::exchange(other.fd_, -1)),
        direct_(other.direct_),
        had_name_(other.had_name_) {}

  int fd() const { return fd_; }
  // Some file systems take the flag and refuse the write. True when it may be tried again.
  bool leave_direct(int error) {
    if (error != EINVAL || !direct_) return false;
    direct_ = false;
    return fcntl(fd_, F_SETFL, 0) == 0;
  }
  int sync() const { return fdatasync(fd_) == 0 || errno == EINVAL || errno == EROFS ? 0 : errno; }
  int cut_at(uint64_t bytes) const { return ftruncate(fd_, static_cast<off_t>(bytes)) == 0 ? 0 : errno; }
  bool removed() const { return had_name_ && links() == 0; }  // a pending file has none yet
  int rename(const std::string& path, bool lastingly) {
    if (std::rename(path_.c_str(), path.c_str()) != 0) return errno;
    path_ = path;
    return lastingly ? sync_directory() : 0;
  }
  void discard() const {
    struct stat info {};
    if (fstat(fd_, &info) == 0 && S_ISREG(info.st_mode)) unlink(path_.c_str());
  }
  std::string how() const {
    return direct_ ? "O_DIRECT" : "the page cache (no O_DIRECT on this file system)";
  }

 private:
  static constexpr int kFlags = O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC;

  uint64_t links() const {
    struct stat info {};
    return fstat(fd_, &info) == 0 ? info.st_nlink : 1;
  }

  // A name lasts only when the directory that holds it was synced. File systems without such syncing refuse it.
  int sync_directory() const {
    const auto parent = std::filesystem::path(path_).parent_path();
    const int fd = open(parent.empty() ? "." : parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) return errno;
    const int error = fsync(fd) == 0 || errno == EINVAL || errno == EROFS ? 0 : errno;
    close(fd);
    return error;
  }

  std::string path_;
  int fd_ = -1;
  bool direct_ = false;
  bool had_name_ = false;
};

class PlainDisk : public CaptureDisk {
 public:
  PlainDisk(File file, std::string why) : file_(std::move(file)), why_(std::move(why)) {}

  void write(uint64_t offset, std::span<const std::byte> bytes, uint64_t tag) override {
    size_t written = 0;
    int error = 0;
    while (written < bytes.size() && error == 0) {
      const ssize_t put = pwrite(file_.fd(), bytes.data() + written, bytes.size() - written,
                                 static_cast<off_t>(offset + written));
      if (put > 0) written += static_cast<size_t>(put);
      if (put == 0) error = ENOSPC;
      if (put < 0 && errno != EINTR && !file_.leave_direct(errno)) error = errno;
    }
    done_.push_back({tag, error});
  }
  std::vector<Done> done(bool) override { return std::exchange(done_, {}); }
  unsigned under_way() const override { return static_cast<unsigned>(done_.size()); }
  int sync() override { return file_.sync(); }
  int cut_at(uint64_t bytes) override { return file_.cut_at(bytes); }
  bool removed() const override { return file_.removed(); }
  int rename(const std::string& path, bool lastingly) override { return file_.rename(path, lastingly); }
  void discard() override { file_.discard(); }
  std::string how() const override { return "pwrite" + why_ + ", " + file_.how(); }

 private:
  File file_;
  std::string why_;
  std::vector<Done> done_;
};

class UringDisk : public CaptureDisk {
 public:
  UringDisk(io_uring ring, File file) : ring_(ring), file_(std::move(file)) {}
  ~UringDisk() override {
    while (under_way_) done(true);
    io_uring_queue_exit(&ring_);
  }

  void write(uint64_t offset, std::span<const std::byte> bytes, uint64_t tag) override {
    size_t slot = 0;
    while (slots_[slot].busy) ++slot;  // under_way() < kDiskDepth
    slots_[slot] = {bytes, offset, 0, tag, true};
    ++under_way_;
    send(slot);
  }

  std::vector<Done> done(bool wait) override {
    std::vector<Done> all;
    while (under_way_) {
      io_uring_cqe* cqe = nullptr;
      const int got = wait && all.empty() ? wait_for(&cqe) : io_uring_peek_cqe(&ring_, &cqe);
      if (got == -EINTR) continue;
      if (got < 0) break;
      const size_t slot = cqe->user_data;
      const int result = cqe->res;
      io_uring_cqe_seen(&ring_, cqe);
      if (went_on(slot, result)) continue;
      Slot& s = slots_[slot];
      all.push_back({s.tag, s.written == s.bytes.size() ? 0 : result < 0 ? -result : ENOSPC});
      s.busy = false;
      --under_way_;
    }
    return all;
  }
  unsigned under_way() const override { return under_way_; }
  int sync() override { return file_.sync(); }
  int cut_at(uint64_t bytes) override { return file_.cut_at(bytes); }
  bool removed() const override { return file_.removed(); }
  int rename(const std::string& path, bool lastingly) override { return file_.rename(path, lastingly); }
  void discard() override { file_.discard(); }
  std::string how() const override { return "io_uring, " + file_.how(); }

 private:
  struct Slot {
    std::span<const std::byte> bytes;
    uint64_t offset = 0;
    size_t written = 0;
    uint64_t tag = 0;
    bool busy = false;
  };

  int wait_for(io_uring_cqe** cqe) {
    const int submitted = io_uring_submit_and_wait(&ring_, 1);
    return submitted < 0 ? submitted : io_uring_peek_cqe(&ring_, cqe);
  }

  // A short or interrupted write is continued.
  bool went_on(size_t slot, int result) {
    Slot& s = slots_[slot];
    if (result > 0) s.written += static_cast<size_t>(result);
    const bool again = result > 0 || result == -EINTR || result == -EAGAIN || file_.leave_direct(-result);
    if (!again || s.written == s.bytes.size()) return false;
    send(slot);
    return true;
  }
  void send(size_t slot) {
    const Slot& s = slots_[slot];
    io_uring_sqe* sqe = io_uring_get_sqe(&ring_);  // there are more entries than slots
    io_uring_prep_write(sqe, file_.fd(), s.bytes.data() + s.written,
                        static_cast<unsigned>(s.bytes.size() - s.written), s.offset + s.written);
    io_uring_sqe_set_data64(sqe, slot);
    io_uring_submit(&ring_);  // what the kernel does not take now is submitted by waiting for it
  }

  io_uring ring_;
  File file_;
  std::array<Slot, kDiskDepth> slots_;
  unsigned under_way_ = 0;
};

}  // namespace

std::unique_ptr<CaptureDisk> open_capture_disk(const std::string& path, bool plain) {
  File file(path);
  if (plain) return std::make_unique<PlainDisk>(std::move(file), "");
  io_uring ring{};
  const int refused = io_uring_queue_init(2 * kDiskDepth, &ring, 0);
  if (refused == 0) return std::make_unique<UringDisk>(ring, std::move(file));
  return std::make_unique<PlainDisk>(
      std::move(file), std::string(" (io_uring is refused here: ") + std::strerror(-refused) + ")");
}

}  // namespace ttc::collect
