// TTC_KILL_AT=NAME:N kills this process, as kill -9 does, when it comes to the point of that name the Nth
// time.
#include "test_point.hpp"

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <cstring>

namespace ttc::collect {

void test_point(const char* name) {
  static const char* const wanted = std::getenv("TTC_KILL_AT");
  static std::atomic<long> left{wanted && std::strchr(wanted, ':') ? std::atol(std::strchr(wanted, ':') + 1)
                                                                   : 0};
  const size_t length = std::strlen(name);
  if (!wanted || std::strncmp(wanted, name, length) != 0 || wanted[length] != ':') return;
  if (--left == 0) std::raise(SIGKILL);
}

}  // namespace ttc::collect
