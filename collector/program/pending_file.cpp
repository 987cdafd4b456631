#include "collector/program/pending_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>

namespace ttc::program {

PendingFile::PendingFile(const std::string& path, Until until)
    : path_(path), temporary_(path + ".part-" + std::to_string(getpid())) {
  const auto parent = std::filesystem::path(path).parent_path();
  if (until == Until::unnamed_if_possible)
    fd_ = open(parent.empty() ? "." : parent.c_str(), O_RDWR | O_TMPFILE | O_CLOEXEC, 0644);
  name_ = "/proc/self/fd/" + std::to_string(fd_);
  if (fd_ >= 0 && access(name_.c_str(), F_OK) == 0) return;
  if (fd_ >= 0) close(fd_);  // without /proc it could not get a name
  name_ = temporary_;
  unlink(temporary_.c_str());  // a file there was left by a process of the same number, or is a trap
  fd_ = open(temporary_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_EXCL | O_NOFOLLOW, 0644);
  named_ = fd_ >= 0;
  if (!named_) error_ = errno;
}

PendingFile::~PendingFile() {
  if (fd_ >= 0) close(fd_);
  if (named_) unlink(temporary_.c_str());
}

int PendingFile::written() const {
  const int copy = dup(fd_);
  return copy >= 0 && close(copy) == 0 ? 0 : errno;
}

// A link replaces no file, a rename does: the file gets the temporary name for the time between the two.
int PendingFile::put_in_place() {
  if (error_) return error_;
  if (!named_) {
    unlink(temporary_.c_str());
    if (linkat(AT_FDCWD, name_.c_str(), AT_FDCWD, temporary_.c_str(), AT_SYMLINK_FOLLOW) != 0) return errno;
    named_ = true;
  }
  if (std::rename(temporary_.c_str(), path_.c_str()) != 0) return errno;
  named_ = false;
  return 0;
}

int PendingFile::put_where_nothing_is() {
  if (error_) return error_;
  return linkat(AT_FDCWD, name_.c_str(), AT_FDCWD, path_.c_str(), AT_SYMLINK_FOLLOW) == 0 ? 0 : errno;
}

}  // namespace ttc::program
