// One descriptor of /dev/tenstorrent/N and the requests made through it: the closed list of ioctls.
// Every call returns 0 or a negative errno; ENODEV means that the descriptor will not work again (a reset, or
// the card was removed). Destroying it unmaps, frees the windows and closes.
#pragma once
#include <string>
#include <vector>

#include "driver_iface/kmd/kmd_system.hpp"

namespace ttc::card::kmd {

class Device {
 public:
  explicit Device(System& system) : system_(system) {}
  ~Device();
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  int open(const std::string& node);

  int driver_info(DriverInfo& info) { return ask(Request::get_driver_info, info); }
  int device_info(DeviceInfo& info) { return ask(Request::get_device_info, info); }
  int mappings(Mappings& mappings) { return ask(Request::query_mappings, mappings); }
  int vote(PowerState vote) { return ask(Request::set_power_state, vote); }
  // Freed again with this object.
  int allocate(uint64_t bytes, AllocateWindow& window);
  int configure(uint32_t id, const NocAim& aim);

  // Read-only and shared. nullptr: `error` is the errno.
  const volatile uint8_t* map(uint64_t offset, size_t bytes, int& error);

  // Gives everything back now: mappings, windows, descriptor. After a reset the driver has taken the windows
  // already; unmapping and closing are still fine.
  void release();
  bool is_open() const { return fd_ >= 0; }

 private:
  template <class T>
  int ask(Request request, T& argument) {
    return system_.ioctl(fd_, request, &argument);
  }
  struct Mapped {
    void* at;
    size_t bytes;
  };

  System& system_;
  int fd_ = -1;
  std::vector<Mapped> mapped_;
  std::vector<uint32_t> windows_;
};

}  // namespace ttc::card::kmd
