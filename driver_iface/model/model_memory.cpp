#include "driver_iface/model/model_memory.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

namespace ttc::card::kmd {

void model_fails(const char* what) {
  throw std::runtime_error(std::string("driver model: ") + what + ": " + std::strerror(errno));
}

int memory_file(const char* name, uint64_t bytes, int fill) {
  const int fd = memfd_create(name, MFD_CLOEXEC);
  if (fd < 0 || ftruncate(fd, static_cast<off_t>(bytes)) != 0) model_fails("memory");
  if (fill) {
    const std::vector<char> page(bytes, static_cast<char>(fill));
    if (pwrite(fd, page.data(), bytes, 0) != static_cast<ssize_t>(bytes)) model_fails("memory");
  }
  return fd;
}

void put(void* at, size_t bytes, int fd, uint64_t offset) {
  if (mmap(at, bytes, PROT_READ, MAP_SHARED | MAP_FIXED, fd, static_cast<off_t>(offset)) == MAP_FAILED)
    model_fails("mapping");
}
void put_nothing(uint8_t* at, size_t bytes) {
  if (bytes && mmap(at, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0) ==
                   MAP_FAILED)
    model_fails("mapping");
}
void put_zeros(uint8_t* at, size_t bytes) {
  if (mmap(at, bytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0) ==
      MAP_FAILED)
    model_fails("mapping");
}

}  // namespace ttc::card::kmd
