#include "collector/host_side/mark_losses.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <array>

namespace ttc::collect {
namespace {

// Senders have the same layout: tools/mark/ttcollect_mark.h, tools/python/ttcollect.
struct Slot {
  uint64_t count, first_ns, last_ns, reserved;
};
static_assert(sizeof(Slot) == 32);
constexpr uint64_t kProcesses = 1u << 22;  // PID_MAX_LIMIT of 64-bit Linux
constexpr size_t kPage = 4096;             // of the file, which has pages only where a slot was written

}  // namespace

MarkLosses::MarkLosses() : fd_(memfd_create("ttcollect-marks-lost", MFD_CLOEXEC)) {
  if (fd_ < 0) return;
  const Slot head{kMarkLossMagic, 0, 0, 0};
  if (ftruncate(fd_, kProcesses * sizeof(Slot)) == 0 && pwrite(fd_, &head, sizeof head, 0) == sizeof head)
    return;
  close(fd_);
  fd_ = -1;
}

MarkLosses::~MarkLosses() {
  if (fd_ >= 0) close(fd_);
}

std::string MarkLosses::path() const {
  if (fd_ < 0) return {};
  return "/proc/" + std::to_string(getpid()) + "/fd/" + std::to_string(fd_);
}

std::vector<MarkLoss> MarkLosses::read() const {
  std::vector<MarkLoss> all;
  std::array<Slot, kPage / sizeof(Slot)> slots;
  for (off_t at = lseek(fd_, 0, SEEK_DATA); at >= 0; at = lseek(fd_, at, SEEK_DATA)) {
    at -= at % static_cast<off_t>(kPage);
    if (pread(fd_, slots.data(), kPage, at) != static_cast<ssize_t>(kPage)) break;
    for (size_t i = 0; i < slots.size(); ++i) {
      const uint64_t pid = static_cast<uint64_t>(at) / sizeof(Slot) + i;
      const Slot& s = slots[i];
      if (pid != 0 && s.count != 0)
        all.push_back({pid, s.count, static_cast<int64_t>(s.first_ns), static_cast<int64_t>(s.last_ns)});
    }
    at += static_cast<off_t>(kPage);
  }
  return all;
}

}  // namespace ttc::collect
