// A load of a mapping that was revoked (reset, removal, unbind) raises SIGBUS. Here it becomes an answer.
//
// Threads do not disturb each other: each has its own net, and SIGBUS goes to the thread that caused it. What
// is not inside a net is passed to the previous handler of SIGBUS, usually to the death of the process.
#pragma once
#include <cstddef>
#include <type_traits>

namespace ttc::card::kmd {

// False: a load of [at, at + bytes) raised SIGBUS, and `body` was left in the middle. `body` must not own an object
// that needs a destructor.
bool caught(const volatile void* at, size_t bytes, void (*body)(void*), void* context);

template <class Body>
bool caught(const volatile void* at, size_t bytes, Body body) {
  static_assert(std::is_trivially_destructible_v<Body>);
  return caught(
      at, bytes, [](void* context) { (*static_cast<Body*>(context))(); }, &body);
}

}  // namespace ttc::card::kmd
