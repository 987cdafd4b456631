#include "tools/emulation/programs_allowed.hpp"

#include <poll.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <stdexcept>

namespace ttc::emulation {
namespace {

constexpr size_t kLongestLine = 20;  // digits of the largest number there is

}  // namespace

void ProgramsAllowed::take_line() {
  uint64_t more = 0;
  const char* end = line_.data() + line_.size();
  const auto [at, error] = std::from_chars(line_.data(), end, more);
  if (error != std::errc{} || at != end || more > UINT64_MAX - count_)
    throw std::runtime_error("standard input: '" + line_ +
                             "' is no number of programs; --programs-from-stdin takes one a line");
  count_ += more;
  line_.clear();
}

void ProgramsAllowed::read() {
  pollfd ready{fd_, POLLIN, 0};
  while (!ended_ && poll(&ready, 1, 0) > 0) {
    std::array<char, 256> got;
    const ssize_t bytes = ::read(fd_, got.data(), got.size());
    if (bytes < 0 && errno == EINTR) continue;
    if (bytes < 0) throw std::runtime_error(std::string("standard input: ") + std::strerror(errno));
    for (ssize_t i = 0; i < bytes; ++i) {
      if (got[static_cast<size_t>(i)] != '\n' && line_.size() <= kLongestLine)
        line_ += got[static_cast<size_t>(i)];
      else
        take_line();
    }
    ended_ = bytes == 0;
    if (ended_ && !line_.empty()) take_line();
  }
}

}  // namespace ttc::emulation
