#include "driver_iface/kmd/kmd_open.hpp"

#include <cerrno>
#include <cstring>
#include <memory>

namespace ttc::card::kmd {
namespace {

constexpr unsigned kOldestMajor = 2;
constexpr unsigned kNewestKnownMinor = 10;

std::string reason(int error) {
  return std::strerror(-error);
}

class Opening {
 public:
  Opening(System& system, const std::string& spec, const OpenOptions& options)
      : system_(system), spec_(spec), options_(options), result_(std::make_unique<Opened>(system)) {}

  std::unique_ptr<Opened> run() {
    result_->node = node_of(system_, spec_);
    open_node();
    check_driver();
    identify();
    vote();
    take_windows();
    map_node_id();
    return std::move(result_);
  }

 private:
  [[noreturn]] void fail(const std::string& sentence) const { throw OpenError(spec_ + ": " + sentence); }
  // The driver returns ENODEV while a reset is under way, also to a mapping of a valid descriptor: it takes its lock
  // by trylock there (tt-kmd memory.c).
  [[noreturn]] void fail(const std::string& what, int error) const {
    if (error == ENODEV)
      fail("the card is being reset, or went away, while it was opened; --wait waits until it is back");
    fail(what + ": " + std::strerror(error));
  }
  const std::string& path() const { return result_->node.path; }

  void open_node() {
    const int error = result_->device.open(path());
    switch (error) {
      case 0:
        return;
      case -ENOENT:
      case -ENXIO:
      case -ENODEV:
        fail("there is no " + path() +
             "; `ttcollect list` shows what is there, and without the driver (modprobe "
             "tenstorrent) there is none");
      case -EACCES:
      case -EPERM:
        fail("no permission to read " + path() +
             "; the driver's udev rule (udev-50-tenstorrent.rules) lets "
             "every user, or join a group that may");
      case -EAGAIN:
        fail("another process holds " + path() + " exclusively (O_EXCL): " +
             holders_text(system_, result_->node) + "; try again when it has closed, --wait does");
      default:
        fail("opening " + path() + " failed: " + reason(error));
    }
  }

  void check_driver() {
    DriverInfo info;
    const int error = result_->device.driver_info(info);
    if (error == -ENODEV) fail({}, ENODEV);
    if (error)
      fail(path() + " does not answer as the Tenstorrent driver does (" + reason(error) +
           "); is it a node of another driver?");
    // Drivers before 2.0 fill in less.
    const bool reported = info.size >= 12;
    result_->version = reported ? Version{info.major, info.minor, info.patch} : Version{info.api_level, 0, 0};
    const Version& v = result_->version;
    if (v.major < kOldestMajor || info.api_level < kApiLevel)
      fail("driver " + to_string(v) + " is too old; ttcollect needs tt-kmd 2.0 or later");
    if (info.api_level > kApiLevel)
      fail("driver " + to_string(v) + " has interface level " + std::to_string(info.api_level) +
           ", this build supports level 2; a newer ttcollect is needed");
    degrade();
  }

  // What an older driver lacks, and what that means here.
  void degrade() {
    const Version& v = result_->version;
    auto& remarks = result_->remarks;
    remarks.push_back("driver " + to_string(v));
    if (v.major > kOldestMajor || v.minor > kNewestKnownMinor)
      remarks.back() += ", newer than what this build was written for (2.10)";
    if (!v.at_least(2, 5))
      remarks.push_back(
          "this driver does not report who has the card open (2.5 does), so where the workload keeps its "
          "zone "
          "names is "
          "not known either: --metal-home");
    if (!v.at_least(2, 6))
      remarks.push_back(
          "this driver has no power votes (2.6 and later have): firmware controls the clocks of tiles, and "
          "a reset "
          "is "
          "noticed by its all-ones, not by the driver's word");
    else if (!v.at_least(2, 7))
      remarks.push_back(
          "this driver does not revoke mappings at a reset (2.7 does): it is noticed by all-ones and at the "
          "next "
          "question to the driver, a tenth of a second later at most");
  }

  void identify() {
    const int error = result_->device.device_info(result_->info);
    if (error) fail("reading the card's identity failed", -error);
    const DeviceInfo& info = result_->info;
    result_->arch = info.vendor == kPciVendor ? arch_by_pci_device(info.device) : nullptr;
    if (!result_->arch) {
      char ids[16];
      std::snprintf(ids, sizeof ids, "%04x:%04x", info.vendor, info.device);
      fail("PCI function " + std::string(ids) + " is neither Wormhole (1e52:401e) nor Blackhole (1e52:b140)");
    }
  }

  // Before the first tile is touched: reading one whose clocks are gated can hang the NoC, and the workload's
  // vote ends with the workload (tt-kmd ioctl.h). Once, because every vote is a message to firmware.
  void vote() {
    if (!result_->version.at_least(2, 6)) return;
    if (!options_.power_vote) {
      result_->remarks.push_back(
          "no power vote (--no-power-vote): when the workload ends, firmware may gate the tiles while they "
          "are "
          "still read");
      return;
    }
    PowerState v;
    v.power_flags = kPowerDramPhy | kPowerTensix;
    const int error = result_->device.vote(v);
    if (error == 0)
      result_->remarks.push_back(
          "power vote: memory and Tensix clocks stay on while this runs (one firmware message)");
    else if (error == -EINVAL)
      result_->remarks.push_back("power vote: kept by the driver; this firmware takes no such messages");
    else if (error == -ENODEV)
      fail({}, ENODEV);
    else
      result_->remarks.push_back("power vote failed: " + reason(error));
  }

  void take_windows() {
    for (size_t i = 0; i < kWindows; ++i) {
      AllocateWindow w;
      const int error = result_->device.allocate(kWindowBytes, w);
      if (error == -ENODEV) fail({}, ENODEV);
      if (error == -ENOMEM)
        throw NoWindowError(spec_ + ": no window of 2 MiB is left for " + spec_.substr(spec_.find(':') + 1) +
                            ", two are needed; the card is open in " + holders_text(system_, result_->node) +
                            ". Close a process that uses the card, or start ttcollect before it");
      if (error) fail("the driver refused a window of 2 MiB", -error);
      result_->window[i] = {w.id, map(w.uncached_offset, kWindowBytes, "a window"), nullptr};
      if (static_cast<Window>(i) == Window::payload)
        result_->window[i].combining = map(w.combining_offset, kWindowBytes, "a window, write-combining");
    }
  }

  // One read-only page that shows, without any window, whether the link works.
  void map_node_id() {
    Mappings m;
    const int error = result_->device.mappings(m);
    if (error) fail("reading the card's mappings failed", -error);
    const uint64_t page = result_->arch->bar0_node_id & ~uint64_t{kPageBytes - 1};
    for (const Mapping& bar : m.mapping)
      if (bar.id == kBar0Uncached && page + kPageBytes <= bar.length) {
        result_->node_id_page = map(bar.mmap_offset + page, kPageBytes, "the card's own node id");
        return;
      }
    fail("the driver offers no BAR0 that holds the card's own node id");
  }

  const volatile uint8_t* map(uint64_t offset, size_t bytes, const char* what) {
    int error = 0;
    const volatile uint8_t* at = result_->device.map(offset, bytes, error);
    if (!at) fail("mapping " + std::string(what) + " failed", error);
    return at;
  }

  System& system_;
  const std::string& spec_;
  const OpenOptions& options_;
  std::unique_ptr<Opened> result_;
};

}  // namespace

std::string to_string(const Version& v) {
  return std::to_string(v.major) + "." + std::to_string(v.minor) + "." + std::to_string(v.patch);
}

std::unique_ptr<Opened> open_windows(System& system, const std::string& spec, const OpenOptions& options) {
  return Opening(system, spec, options).run();
}

}  // namespace ttc::card::kmd
