// What happens to the model's cards while they are open: resets, removal, a broken link, loads that hang.
#include <signal.h>
#include <sys/mman.h>
#include <time.h>

#include <algorithm>
#include <atomic>
#include <cerrno>

#include "driver_iface/model/model_chip.hpp"
#include "driver_iface/model/model_memory.hpp"

namespace ttc::card::kmd {
namespace {

// A load that hangs: its page cannot be touched until this handler has burnt the time; or the thread has no CPU for so long.
std::atomic<uint64_t> stall_ns{0};
std::atomic<bool> stall_stolen{false};
void on_stall(int, siginfo_t* info, void*) {
  const uint64_t ns = stall_ns.exchange(0);
  auto* const at = static_cast<char*>(info->si_addr);
  void* const page = at - (reinterpret_cast<uintptr_t>(at) & 4095);
  if (ns == 0 || mprotect(page, 4096, PROT_READ) != 0) {  // no stall of ours: let it be fatal
    signal(SIGSEGV, SIG_DFL);
    return;
  }
  if (stall_stolen) {
    timespec left{static_cast<time_t>(ns / 1000000000u), static_cast<long>(ns % 1000000000u)};
    while (nanosleep(&left, &left) != 0 && errno == EINTR) {
    }
    return;
  }
  const auto cpu_ns = [] {
    timespec t{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return static_cast<uint64_t>(t.tv_sec) * 1000000000u + static_cast<uint64_t>(t.tv_nsec);
  };
  for (const uint64_t end = cpu_ns() + ns; cpu_ns() < end;) {
  }
}

}  // namespace

// Pages behind the end of a file raise SIGBUS with BUS_ADRERR, as revoked ones of the driver do.
void DriverModel::zap(Chip& c, const Descriptor* but) {
  for (Area& a : areas_) {
    const Descriptor& d = *descriptors_.at(a.fd);
    if (d.chip != &c || &d == but) continue;
    a.zapped = true;
    put(a.at, a.bytes, nothing_fd_, 0);
  }
}

void DriverModel::reset(uint32_t ordinal, int by) {
  const std::lock_guard lock(mutex_);
  Chip& c = chip(ordinal);
  Descriptor* resetter = by < 0 ? nullptr : descriptors_.at(by).get();
  c.in_reset = true;
  ++c.generation;
  if (resetter) resetter->generation = c.generation;
  if (c.at_least(7)) zap(c, resetter);
  if (c.at_least(10))
    std::erase_if(c.owner, [&](const auto& w) { return descriptors_.at(w.second).get() != resetter; });
  for (const Area& a : areas_)
    if (descriptors_.at(a.fd)->chip == &c && !a.zapped) show(a);
}

void DriverModel::post_reset(uint32_t ordinal) {
  const std::lock_guard lock(mutex_);
  Chip& c = chip(ordinal);
  c.in_reset = false;
  for (const Area& a : areas_)
    if (descriptors_.at(a.fd)->chip == &c && !a.zapped) show(a);
}

void DriverModel::hold_reset_lock(uint32_t ordinal, unsigned before) {
  const std::lock_guard lock(mutex_);
  chip(ordinal).maps_until_busy = before + 1;
}

void DriverModel::unplug(uint32_t ordinal) {
  const std::lock_guard lock(mutex_);
  Chip& c = chip(ordinal);
  c.present = false;
  zap(c, nullptr);
}

void DriverModel::break_link(uint32_t ordinal) {
  const std::lock_guard lock(mutex_);
  Chip& c = chip(ordinal);
  c.link_dead = true;
  for (const Area& a : areas_)
    if (descriptors_.at(a.fd)->chip == &c && !a.zapped) show(a);
}

void DriverModel::stall(uint32_t ordinal, uint64_t offset, uint64_t ns, Stall how) {
  const std::lock_guard lock(mutex_);
  struct sigaction action {};
  action.sa_sigaction = on_stall;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGSEGV, &action, nullptr);
  stall_stolen = how == Stall::cpu_stolen;
  stall_ns = ns;
  for (const Area& a : areas_)
    if (descriptors_.at(a.fd)->chip == &chip(ordinal) && a.window &&
        mprotect(a.at + offset, 4096, PROT_NONE) != 0)
      model_fails("stall");
}

void DriverModel::silence(uint32_t ordinal, Coord tile) {
  const std::lock_guard lock(mutex_);
  Chip& c = chip(ordinal);
  c.silent.insert(tile);
  for (const Area& a : areas_)
    if (descriptors_.at(a.fd)->chip == &c && !a.zapped) show(a);
}

void DriverModel::harvest(uint32_t ordinal, Coord tile) {
  const std::lock_guard lock(mutex_);
  chip(ordinal).off.insert(tile);
}

void DriverModel::take_windows(int fd, unsigned left) {
  const std::lock_guard lock(mutex_);
  Chip& c = *descriptors_.at(fd)->chip;
  for (const WindowClass& k : classes_of(*c.arch)) {
    if (k.bytes != kWindowBytes) continue;
    uint32_t free = 0;
    for (uint32_t id = k.first; id < k.first + k.count; ++id) free += !c.owner.count(id);
    for (uint32_t id = k.first; id < k.first + k.count && free > left; ++id)
      if (c.owner.emplace(id, fd).second) --free;
  }
}

}  // namespace ttc::card::kmd
