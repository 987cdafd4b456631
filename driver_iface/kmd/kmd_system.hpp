// The system calls of the kernel-driver card, its only way to the outside: the seam at which
// tests put a model of the driver (driver_iface/model). Errors are returned as negative errno.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "driver_iface/kmd/kmd_abi.hpp"

namespace ttc::card::kmd {

class System {
 public:
  virtual ~System() = default;

  virtual int open(const std::string& path, int flags) = 0;
  virtual void close(int fd) = 0;
  virtual int ioctl(int fd, Request request, void* argument) = 0;
  // PROT_READ, MAP_SHARED: no other mapping can be requested. nullptr and `error` set when refused.
  virtual void* map(int fd, uint64_t offset, size_t bytes, int& error) = 0;
  virtual void unmap(void* at, size_t bytes) = 0;
  // Used by the recycling writer alone (kmd_writer.hpp): a window that can be stored to, and the one store there is,
  // 0 to word i for every bit i of `mask`.
  virtual void* map_for_clearing(int fd, uint64_t offset, size_t bytes, int& error) = 0;
  virtual void clear(volatile uint32_t* words, uint32_t mask) = 0;
  // One aligned 4-byte load of a mapped register. Where the mapping was revoked, SIGBUS is raised here.
  virtual uint32_t load(const volatile uint32_t* at) = 0;

  // Text files of /sys and /proc; no value if the file is missing or may not be read.
  virtual std::optional<std::string> read_text(const std::string& path) = 0;
  // The path with all links resolved; no value if it leads nowhere.
  virtual std::optional<std::string> resolved(const std::string& path) = 0;
  virtual std::vector<std::string> entries(const std::string& directory) = 0;
  // The directory in which processes that reset cards find those to notify.
  virtual std::string notice_directory() = 0;
};

System& linux_system();

// What open_card() and present_cards() use: Linux, unless a test has put its model there. Not thread-safe
// against opening cards.
System& system_in_use();
void use_system(System& system);

}  // namespace ttc::card::kmd
