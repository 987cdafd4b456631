// A second stack for code that must be stopped in the middle: emulated firmware, between any two of its
// memory accesses. One thread; the sanitizers are notified of every change of stacks.
#pragma once
#include <ucontext.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <utility>

#if defined(__SANITIZE_ADDRESS__)
#define TTC_FIBER_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define TTC_FIBER_ASAN 1
#endif
#endif
#if defined(__SANITIZE_THREAD__)
#define TTC_FIBER_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define TTC_FIBER_TSAN 1
#endif
#endif
#ifdef TTC_FIBER_ASAN
#include <sanitizer/common_interface_defs.h>
#endif
#ifdef TTC_FIBER_TSAN
#include <sanitizer/tsan_interface.h>
#endif

namespace ttc::sim {

class Fiber {
 public:
  // `body` must not return and must not throw: it is left where it last yielded. It must own nothing that
  // needs a destructor then.
  explicit Fiber(std::function<void()> body) : body_(std::move(body)), stack_(new char[kStackBytes]) {
    getcontext(&own_);
    own_.uc_stack.ss_sp = stack_.get();
    own_.uc_stack.ss_size = kStackBytes;
    own_.uc_link = nullptr;
    makecontext(&own_, reinterpret_cast<void (*)()>(&Fiber::enter), 0);
#ifdef TTC_FIBER_TSAN
    tsan_own_ = __tsan_create_fiber(0);
    tsan_caller_ = __tsan_get_current_fiber();
#endif
  }
  ~Fiber() {
#ifdef TTC_FIBER_TSAN
    __tsan_destroy_fiber(tsan_own_);
#endif
  }
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  void resume() {
    entering() = this;
#ifdef TTC_FIBER_ASAN
    void* fake = nullptr;
    __sanitizer_start_switch_fiber(&fake, stack_.get(), kStackBytes);
#endif
#ifdef TTC_FIBER_TSAN
    __tsan_switch_to_fiber(tsan_own_, 0);
#endif
    swapcontext(&caller_, &own_);
#ifdef TTC_FIBER_ASAN
    __sanitizer_finish_switch_fiber(fake, nullptr, nullptr);
#endif
  }
  // Must be called from inside the fiber.
  void yield() {
#ifdef TTC_FIBER_ASAN
    void* fake = nullptr;
    __sanitizer_start_switch_fiber(&fake, caller_stack_, caller_bytes_);
#endif
#ifdef TTC_FIBER_TSAN
    __tsan_switch_to_fiber(tsan_caller_, 0);
#endif
    swapcontext(&own_, &caller_);
#ifdef TTC_FIBER_ASAN
    __sanitizer_finish_switch_fiber(fake, &caller_stack_, &caller_bytes_);
#endif
  }

 private:
  static constexpr size_t kStackBytes = 64 << 10;
  static Fiber*& entering() {
    static Fiber* fiber = nullptr;
    return fiber;
  }
  static void enter() {
    Fiber* self = entering();
#ifdef TTC_FIBER_ASAN
    __sanitizer_finish_switch_fiber(nullptr, &self->caller_stack_, &self->caller_bytes_);
#endif
    self->body_();
  }

  std::function<void()> body_;
  std::unique_ptr<char[]> stack_;
  ucontext_t own_{}, caller_{};
#ifdef TTC_FIBER_ASAN
  const void* caller_stack_ = nullptr;
  size_t caller_bytes_ = 0;
#endif
#ifdef TTC_FIBER_TSAN
  void* tsan_own_ = nullptr;
  void* tsan_caller_ = nullptr;
#endif
};

}  // namespace ttc::sim
