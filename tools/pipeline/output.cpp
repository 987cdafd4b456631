#include "pipeline/output.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>

namespace ttc::tools {
namespace {
constexpr size_t kBufferBytes = 1 << 20;
}

Output::Output(const std::string& path, bool growing) : path_(path), buffer_(kBufferBytes) {
  if (path == "-") {
    fd_ = dup(STDOUT_FILENO);
    return;
  }
  struct stat there {};
  const bool special = stat(path.c_str(), &there) == 0 && !S_ISREG(there.st_mode);  // /dev/null, a pipe
  if (!growing && !special) temporary_ = path + ".part-" + std::to_string(getpid());
  const std::string& name = temporary_.empty() ? path_ : temporary_;
  fd_ = open(name.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (fd_ < 0) throw OutputError("output " + path + " cannot be written: " + std::strerror(errno));
}

Output::~Output() {
  if (fd_ >= 0) close(fd_);
  if (!temporary_.empty()) unlink(temporary_.c_str());
}

void Output::flush() {
  for (size_t done = 0; done < used_;) {
    const ssize_t put = write(fd_, buffer_.data() + done, used_ - done);
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) throw OutputError("output " + path_ + " cannot be written: " + std::strerror(errno));
    done += static_cast<size_t>(put);
  }
  used_ = 0;
}

void Output::make_room(size_t bytes) {
  flush();
  if (buffer_.size() < bytes) buffer_.resize(bytes);
}

void Output::commit() {
  flush();
  const bool closed = close(fd_) == 0;
  fd_ = -1;
  if (!closed) throw OutputError("output " + path_ + " cannot be written: " + std::strerror(errno));
  if (temporary_.empty()) return;
  if (std::rename(temporary_.c_str(), path_.c_str()) != 0)
    throw OutputError("output " + path_ + " cannot be put in place: " + std::strerror(errno));
  temporary_.clear();
}

}  // namespace ttc::tools
