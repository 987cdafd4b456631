#include "segment_file.hpp"

#include <fcntl.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>

#include "shm/segment.hpp"

namespace ttc::shm {
namespace {

constexpr std::string_view kPrefix = "ttcollect-";

std::string object_of(const std::string& live_name, uid_t user) {
  return std::string(kPrefix) + live_name + "." + std::to_string(user);
}

// False: it ends in no user's number.
bool take_user(std::string& name, uid_t& user) {
  const size_t dot = name.rfind('.');
  if (dot == std::string::npos || dot == 0 || dot + 1 == name.size()) return false;
  const char* end = name.data() + name.size();
  const auto [stopped, error] = std::from_chars(name.data() + dot + 1, end, user);
  if (error != std::errc() || stopped != end) return false;
  name.resize(dot);
  return true;
}

uint64_t changed_ns(const SegmentFile& file) {
  struct stat info {};
  if (lstat(file.path().c_str(), &info) != 0) return 0;
  return static_cast<uint64_t>(info.st_mtim.tv_sec) * 1'000'000'000 +
         static_cast<uint64_t>(info.st_mtim.tv_nsec);
}

SegmentError cannot_attach(const std::string& name, const std::string& why) {
  return SegmentError("cannot attach to live:" + name + ": " + why);
}

}  // namespace

std::string segment_object(const std::string& live_name) {
  return object_of(live_name, geteuid());
}
std::string segment_path(const std::string& live_name) {
  return "/dev/shm/" + segment_object(live_name);
}

std::string SegmentFile::address() const {
  return user == geteuid() ? live_name : live_name + "." + std::to_string(user);
}

std::vector<SegmentFile> segment_files() {
  std::vector<SegmentFile> all;
  std::error_code error;
  for (std::filesystem::directory_iterator at("/dev/shm", error), end; !error && at != end;
       at.increment(error)) {
    SegmentFile file;
    file.object = at->path().filename();
    if (!std::string_view(file.object).starts_with(kPrefix)) continue;
    file.live_name = file.object.substr(kPrefix.size());
    if (!take_user(file.live_name, file.user)) {
      struct stat info {};
      if (lstat(at->path().c_str(), &info) != 0) continue;  // it went away
      file.user = info.st_uid;
    }
    all.push_back(std::move(file));
  }
  return all;
}

SegmentFile find_segment(const std::string& name) {
  std::vector<SegmentFile> alive, readable, refused;
  int refusal = 0;
  for (SegmentFile& file : segment_files()) {
    if (file.live_name != name && file.live_name + "." + std::to_string(file.user) != name) continue;
    const SegmentDescriptor opened(file.path(), O_RDONLY);
    if (opened.error() == ENOENT) continue;
    if (opened.error()) {
      refusal = opened.error();
      refused.push_back(std::move(file));
    } else {
      (writer_lock_held(opened.get()) ? alive : readable).push_back(std::move(file));
    }
  }
  const auto own_first = [](std::vector<SegmentFile>& files) {
    std::stable_sort(files.begin(), files.end(), [](const auto& a, const auto& b) {
      const bool a_own = a.user == geteuid(), b_own = b.user == geteuid();
      return a_own != b_own ? a_own : changed_ns(a) > changed_ns(b);
    });
  };
  own_first(alive), own_first(readable);
  if (alive.size() > 1 && alive.front().user != geteuid())
    throw cannot_attach(name, "several users collect under this name; add the user's number, as in live:" +
                                  alive.front().address());
  if (!alive.empty()) return alive.front();
  if (!readable.empty()) return readable.front();
  if (refused.empty())
    throw cannot_attach(name, "there is no such segment; `ttcollect list` shows the segments");
  if (refusal == ELOOP)
    throw cannot_attach(
        name, refused.front().path() + " is a symbolic link and no segment; `ttcollect clean` removes it");
  throw cannot_attach(name, "it belongs to " + user_name(refused.front().user) + " (" +
                                std::strerror(refusal) +
                                "); that user can share it with a group: ttcollect --group");
}

SegmentDescriptor::SegmentDescriptor(const std::string& path, int flags)
    : fd_(open(path.c_str(), flags | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)), error_(fd_ < 0 ? errno : 0) {}
SegmentDescriptor::~SegmentDescriptor() {
  if (fd_ >= 0) close(fd_);
}

std::string user_name(uid_t user) {
  const passwd* entry = getpwuid(user);
  return entry ? entry->pw_name : "user " + std::to_string(user);
}

namespace {
struct flock lock_of(short type, off_t start, off_t bytes) {
  struct flock lock {};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  lock.l_start = start;
  lock.l_len = bytes;
  return lock;
}
bool take(int fd, off_t start) {
  struct flock lock = lock_of(F_WRLCK, start, 0);
  return fcntl(fd, F_OFD_SETLK, &lock) == 0;
}
bool held(int fd, off_t bytes) {
  struct flock lock = lock_of(F_RDLCK, 0, bytes);
  return fcntl(fd, F_OFD_GETLK, &lock) == 0 && lock.l_type == F_WRLCK;
}
}  // namespace

bool take_writer_lock(int fd) {
  return take(fd, 0);
}
bool take_over(int fd) {
  return take(fd, 1);
}
bool writer_lock_held(int fd) {
  return held(fd, 1);
}
bool any_lock_held(int fd) {
  return held(fd, 0);
}

}  // namespace ttc::shm
