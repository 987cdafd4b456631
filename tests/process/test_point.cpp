// What tests do to a process at its test points:
//   TTC_KILL_AT=NAME:N   it is killed, as kill -9 does, when it reaches the point of that name the Nth time
//   TTC_PAUSE_AT=NAME:MS it waits there each time: a disk that is slow for good at block_written
#include "collector/record/test_point.hpp"

#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <cstring>

#include "shm/src/test_point.hpp"

namespace {

struct Wish {
  explicit Wish(const char* variable) : text(std::getenv(variable)) {
    const char* colon = text ? std::strchr(text, ':') : nullptr;
    if (!colon) text = nullptr;
    if (text) length = static_cast<size_t>(colon - text), number = std::atol(colon + 1);
  }
  bool is(const char* name) const {
    return text && std::strlen(name) == length && std::strncmp(text, name, length) == 0;
  }
  const char* text;
  size_t length = 0;
  long number = 0;
};

void come_to(const char* name) {
  static const Wish kill_at("TTC_KILL_AT"), pause_at("TTC_PAUSE_AT");
  static std::atomic<long> left{kill_at.number};
  if (pause_at.is(name)) usleep(static_cast<useconds_t>(pause_at.number) * 1000);
  if (kill_at.is(name) && --left == 0) std::raise(SIGKILL);
}

}  // namespace

namespace ttc::collect {
void test_point(const char* name) {
  come_to(name);
}
}  // namespace ttc::collect
namespace ttc::shm {
void test_point(const char* name) {
  come_to(name);
}
}  // namespace ttc::shm
