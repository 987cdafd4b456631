#include "driver_iface/kmd/reset_notice.hpp"

#include <dirent.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

namespace ttc::card {
namespace {

constexpr unsigned char kBefore = 1, kAfter = 2;

uint64_t now_ns() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<uint64_t>(t.tv_sec) * 1000000000u + static_cast<uint64_t>(t.tv_nsec);
}

bool address_of(const std::string& path, sockaddr_un& address) {
  address = {};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) return false;
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  return true;
}

bool listened_on(const std::string& path) {
  sockaddr_un address;
  const Fd probe(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!probe || !address_of(path, address)) return true;
  if (connect(probe.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) return true;
  return errno != ECONNREFUSED;
}

}  // namespace

// Both must hold: a process of another pid namespace that shares the directory looks dead from here.
void remove_stale_notices(const std::string& directory) {
  DIR* d = opendir(directory.c_str());
  if (!d) return;
  while (const dirent* e = readdir(d)) {
    int pid = 0, end = 0;
    if (std::sscanf(e->d_name, "client_%d.sock%n", &pid, &end) != 1 || end == 0 || e->d_name[end] || pid <= 0)
      continue;
    const std::string path = directory + "/" + e->d_name;
    if (kill(pid, 0) != 0 && errno == ESRCH && !listened_on(path)) unlink(path.c_str());
  }
  closedir(d);
}

std::shared_ptr<ResetNotice> ResetNotice::listen(const std::string& directory, std::string& why) {
  static std::mutex mutex;
  static std::weak_ptr<ResetNotice> existing;
  const std::lock_guard lock(mutex);
  const std::string path = directory + "/client_" + std::to_string(getpid()) + ".sock";
  if (auto notice = existing.lock(); notice && notice->path_ == path) return notice;
  // Everybody's, as the one UMD makes: the first process must not lock the others out.
  if (mkdir(directory.c_str(), 01777) == 0) chmod(directory.c_str(), 01777);
  remove_stale_notices(directory);
  sockaddr_un address;
  Fd fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!listened_on(path)) unlink(path.c_str());  // of an earlier process with our pid
  if (!fd || !address_of(path, address) ||
      bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      ::listen(fd.get(), 8) != 0) {
    why = "no advance notice of resets: listening on " + path + " failed: " + std::strerror(errno);
    return nullptr;
  }
  chmod(path.c_str(), 0666);  // the process that resets the card may be another user's
  std::shared_ptr<ResetNotice> notice(new ResetNotice(std::move(fd), path));
  existing = notice;
  return notice;
}

ResetNotice::~ResetNotice() {
  unlink(path_.c_str());
}

uint64_t ResetNotice::announced() {
  const std::lock_guard lock(mutex_);
  hear();
  return announced_;
}

bool ResetNotice::under_way() {
  const std::lock_guard lock(mutex_);
  hear();
  return under_way_ && now_ns() - announced_ns_ < kLongestResetNs;
}

// The caller must hold the mutex.
void ResetNotice::hear() {
  for (;;) {
    Fd sender(accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!sender) break;
    senders_.push_back(std::move(sender));
  }
  std::erase_if(senders_, [&](const Fd& sender) {
    unsigned char message = 0;
    const ssize_t got = recv(sender.get(), &message, 1, MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return false;
    if (got == 1 && message == kBefore) ++announced_, under_way_ = true, announced_ns_ = now_ns();
    if (got == 1 && message == kAfter) under_way_ = false;
    return got <= 0;
  });
}

}  // namespace ttc::card
