#include <dirent.h>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdlib>

#include "driver_iface/kmd/kmd_system.hpp"

namespace ttc::card::kmd {
namespace {

class Linux : public System {
 public:
  int open(const std::string& path, int flags) override {
    const int fd = ::open(path.c_str(), flags);
    return fd < 0 ? -errno : fd;
  }
  void close(int fd) override { ::close(fd); }

  int ioctl(int fd, Request request, void* argument) override {
    int result;
    do {
      result = ::ioctl(fd, static_cast<unsigned long>(request), argument);
    } while (result < 0 && errno == EINTR);
    return result < 0 ? -errno : result;
  }

  void* map(int fd, uint64_t offset, size_t bytes, int& error) override {
    void* at = ::mmap(nullptr, bytes, PROT_READ, MAP_SHARED, fd, static_cast<off_t>(offset));
    if (at != MAP_FAILED) return at;
    error = errno;
    return nullptr;
  }
  void unmap(void* at, size_t bytes) override { ::munmap(at, bytes); }
  uint32_t load(const volatile uint32_t* at) override { return *at; }

  void* map_for_clearing(int fd, uint64_t offset, size_t bytes, int& error) override {
    void* at = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, static_cast<off_t>(offset));
    if (at != MAP_FAILED) return at;
    error = errno;
    return nullptr;
  }
  // Four aligned words in one store where the CPU can: 16 bytes are one write on the chip, too.
  void clear(volatile uint32_t* words, uint32_t mask) override {
#if defined(__SSE2__)
    if ((mask & 15) == 15 && reinterpret_cast<uintptr_t>(words) % 16 == 0) {
      _mm_store_si128(reinterpret_cast<__m128i*>(const_cast<uint32_t*>(words)), _mm_setzero_si128());
      mask &= ~15u;
    }
#endif
    for (uint32_t i = 0; mask >> i; ++i)
      if (mask >> i & 1) words[i] = 0;
  }

  std::optional<std::string> read_text(const std::string& path) override {
    const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0) return std::nullopt;
    std::string text;
    char buffer[4096];
    ssize_t got;
    while ((got = ::read(fd, buffer, sizeof buffer)) > 0) text.append(buffer, static_cast<size_t>(got));
    ::close(fd);
    if (got < 0) return std::nullopt;
    return text;
  }

  std::optional<std::string> resolved(const std::string& path) override {
    char real[PATH_MAX];
    if (!::realpath(path.c_str(), real)) return std::nullopt;
    return std::string(real);
  }

  std::vector<std::string> entries(const std::string& directory) override {
    std::vector<std::string> names;
    DIR* d = ::opendir(directory.c_str());
    if (!d) return names;
    while (const dirent* e = ::readdir(d)) {
      const std::string name = e->d_name;
      if (name != "." && name != "..") names.push_back(name);
    }
    ::closedir(d);
    return names;
  }

  std::string notice_directory() override {
    return "/tmp/tt_umd_listeners";
  }
};

std::atomic<System*> in_use{nullptr};

}  // namespace

System& linux_system() {
  static Linux system;
  return system;
}

System& system_in_use() {
  System* system = in_use.load(std::memory_order_acquire);
  return system ? *system : linux_system();
}
void use_system(System& system) {
  in_use.store(&system, std::memory_order_release);
}

}  // namespace ttc::card::kmd
