#include "driver_iface/pci/pci_scan.hpp"

#include <setjmp.h>
#include <unistd.h>

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <tuple>

#include "driver_iface/pci_functions.hpp"

extern "C" {
#include <pci/pci.h>
}

namespace ttc::card {
namespace {

// libpci ends the process on an error, unless its error function does not return. An exception may
// not pass through C, so it jumps; the frames between hold no object that needs destroying.
thread_local jmp_buf on_error;
thread_local char error_text[160];

__attribute__((noreturn)) void jump_on_error(char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(error_text, sizeof error_text, format, arguments);
  va_end(arguments);
  longjmp(on_error, 1);
}
void say_nothing(char*, ...) {}

// libpci would leave the directory open behind its error.
void expect_addresses_in(const std::string& devices) {
  std::error_code error;
  std::string wrong;
  for (const auto& entry : std::filesystem::directory_iterator(devices, error)) {
    const std::string name = entry.path().filename().string();
    unsigned domain, bus, device, function;
    if (std::sscanf(name.c_str(), "%x:%x:%x.%x", &domain, &bus, &device, &function) != 4)
      wrong = name + " is no PCI address";
  }
  if (error) wrong = error.message();
  if (!wrong.empty()) throw InventoryError(devices + " cannot be searched for cards: " + wrong);
}

bool scan(pci_access* access) {
  if (setjmp(on_error) != 0) return false;
  pci_init(access);
  pci_scan_bus(access);
  return true;
}

// False when the function went away meanwhile.
bool identify(pci_dev* device) {
  if (setjmp(on_error) != 0) return false;
  pci_fill_info(device, PCI_FILL_IDENT);
  return true;
}

}  // namespace

std::string ScannedFunction::bdf() const {
  char text[32];
  std::snprintf(text, sizeof text, "%04x:%02x:%02x.%x", domain, bus, device, function);
  return text;
}

std::vector<ScannedFunction> scan_pci(const std::string& sys, uint16_t vendor) {
  const std::string bus = sys + "/bus/pci";
  if (access((bus + "/devices").c_str(), F_OK) != 0) return {};  // a machine without PCI
  expect_addresses_in(bus + "/devices");
  const std::unique_ptr<pci_access, void (*)(pci_access*)> pci(pci_alloc(), pci_cleanup);
  pci->method = PCI_ACCESS_SYS_BUS_PCI;  // never a method that touches the bus itself
  pci->error = jump_on_error;
  pci->warning = pci->debug = say_nothing;
  std::string name = "sysfs.path", path = bus;
  pci_set_param(pci.get(), name.data(), path.data());
  if (!scan(pci.get())) throw InventoryError(bus + " cannot be searched for cards: " + error_text);
  std::vector<ScannedFunction> found;
  for (pci_dev* d = pci->devices; d; d = d->next)
    if (identify(d) && d->vendor_id == vendor)
      found.push_back({static_cast<unsigned>(d->domain), d->bus, d->dev, d->func, d->device_id});
  std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) {
    return std::tie(a.domain, a.bus, a.device, a.function) < std::tie(b.domain, b.bus, b.device, b.function);
  });
  return found;
}

}  // namespace ttc::card
