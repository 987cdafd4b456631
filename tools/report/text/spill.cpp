#include "tools/report/text/spill.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <stdexcept>

namespace ttc::report {
namespace {

constexpr size_t kWindow = 256 << 10;  // bytes read at once, going on
constexpr size_t kWrite = 64 << 10;    // bytes written at once
constexpr size_t kLeap = 4 << 10;      // bytes read at once, elsewhere

std::string spill_directory() {
  const char* set = std::getenv("TMPDIR");
  return set && *set ? set : "/tmp";
}

[[noreturn]] void refuse(const char* what) {
  const std::string reason = std::strerror(errno);
  throw std::runtime_error("a temporary file in " + spill_directory() + " cannot be " + what + ": " + reason +
                           "; TMPDIR names another directory");
}

}  // namespace

Spill::~Spill() {
  if (file_ >= 0) close(file_);
}

void Spill::flush() {
  if (file_ < 0) {
    std::string name = spill_directory() + "/ttreport-XXXXXX";
    file_ = mkostemp(name.data(), O_CLOEXEC);
    if (file_ < 0) refuse("made");
    unlink(name.c_str());
  }
  for (size_t done = 0; done < tail_.size();) {
    const ssize_t wrote =
        pwrite(file_, tail_.data() + done, tail_.size() - done, static_cast<off_t>(filed_ + done));
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) refuse("written");
    done += static_cast<size_t>(wrote);
  }
  filed_ += tail_.size();
  if (tail_.capacity() > 2 * kWrite) std::string().swap(tail_);  // the bytes that stayed in memory until now
  tail_.clear();
}

uint64_t Spill::append(std::string_view bytes) {
  const uint64_t place = size();
  tail_ += bytes;
  if (tail_.size() > (file_ < 0 ? most_ : kWrite)) flush();
  return place;
}

void Spill::read(uint64_t place, char* to, size_t size) const {
  const size_t filed = place < filed_ ? static_cast<size_t>(std::min<uint64_t>(size, filed_ - place)) : 0;
  for (size_t done = 0; done < filed;) {
    const ssize_t got = pread(file_, to + done, filed - done, static_cast<off_t>(place + done));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) refuse("read");
    done += static_cast<size_t>(got);
  }
  if (filed < size) tail_.copy(to + filed, size - filed, place + filed - filed_);
}

std::string_view Spill::at(uint64_t place, size_t size) {
  if (place >= filed_) return std::string_view(tail_).substr(place - filed_, size);
  if (place < window_at_ || place + size > window_at_ + window_.size()) {
    const bool onward = place >= window_at_ && place - window_at_ <= window_.size() + kWindow;
    const size_t ahead = onward ? kWindow : kLeap;
    window_.resize(std::max(size, static_cast<size_t>(std::min<uint64_t>(ahead, filed_ - place))));
    window_at_ = place;
    read(place, window_.data(), window_.size());
  }
  return std::string_view(window_).substr(place - window_at_, size);
}

}  // namespace ttc::report
