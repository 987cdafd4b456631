#include "driver_iface/kmd/kmd_fault.hpp"

#include <signal.h>
#include <ucontext.h>

#include <csetjmp>
#include <cstdint>
#include <mutex>

namespace ttc::card::kmd {
namespace {

struct Net {
  sigjmp_buf back;
  uintptr_t begin, end;
};

constinit thread_local Net* current = nullptr;
struct sigaction before {};

void pass_on(int number, siginfo_t* info, void* context) {
  if (before.sa_flags & SA_SIGINFO) return before.sa_sigaction(number, info, context);
  if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN) return before.sa_handler(number);
  // The load is made again on return and ends the process as it would have without us.
  sigaction(SIGBUS, &before, nullptr);
}

void on_sigbus(int number, siginfo_t* info, void* context) {
  const auto address = reinterpret_cast<uintptr_t>(info->si_addr);
  Net* net = current;
  if (net && address >= net->begin && address < net->end) {
    // The mask as it was before the signal: a jump restores none, and saving it at every copy would cost a
    // system call each.
    pthread_sigmask(SIG_SETMASK, &static_cast<const ucontext_t*>(context)->uc_sigmask, nullptr);
    siglongjmp(net->back, 1);
  }
  pass_on(number, info, context);
}

void install() {
  struct sigaction action {};
  action.sa_sigaction = on_sigbus;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigemptyset(&action.sa_mask);
  sigaction(SIGBUS, &action, &before);
}

}  // namespace

bool caught(const volatile void* at, size_t bytes, void (*body)(void*), void* context) {
  static std::once_flag installed;
  std::call_once(installed, install);
  Net net;
  net.begin = reinterpret_cast<uintptr_t>(at);
  net.end = net.begin + bytes;
  if (sigsetjmp(net.back, 0) != 0) {
    current = nullptr;
    return false;
  }
  current = &net;
  body(context);
  current = nullptr;
  return true;
}

}  // namespace ttc::card::kmd
