#include "driver_iface/kmd/kmd_device.hpp"

#include <fcntl.h>

namespace ttc::card::kmd {

Device::~Device() {
  release();
}

// O_RDONLY: the kernel then refuses writable mappings. O_APPEND: opening this descriptor requests no power.
// O_NONBLOCK: an exclusive holder is an error, not a wait without end. (tt-kmd chardev.c, tt-umd
// device/pcie/pci_device.cpp)
int Device::open(const std::string& node) {
  const int fd = system_.open(node, O_RDONLY | O_APPEND | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return fd;
  fd_ = fd;
  return 0;
}

int Device::allocate(uint64_t bytes, AllocateWindow& window) {
  window.bytes = bytes;
  const int error = ask(Request::allocate_window, window);
  if (error == 0) windows_.push_back(window.id);
  return error;
}

int Device::configure(uint32_t id, const NocAim& aim) {
  ConfigureWindow c;
  c.id = id;
  c.aim = aim;
  return ask(Request::configure_window, c);
}

const volatile uint8_t* Device::map(uint64_t offset, size_t bytes, int& error) {
  void* at = system_.map(fd_, offset, bytes, error);
  if (at) mapped_.push_back({at, bytes});
  return static_cast<const volatile uint8_t*>(at);
}

void Device::release() {
  for (const Mapped& m : mapped_) system_.unmap(m.at, m.bytes);
  mapped_.clear();
  // Closing frees them too; freeing first leaves no moment in which a closed descriptor still holds them. On
  // a dead descriptor this fails with ENODEV, and they are free already.
  for (const uint32_t id : windows_) {
    FreeWindow f{id};
    ask(Request::free_window, f);
  }
  windows_.clear();
  if (fd_ >= 0) system_.close(fd_);
  fd_ = -1;
}

}  // namespace ttc::card::kmd
