// Cache lines that the calling thread fetched from outside of its core's own caches, where the processor counts them and the kernel gives
// the count. On a line that another core holds such a fetch is a coherence miss; from a ring that the caches hold, nearly all are.
#pragma once
#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <string>

namespace ttc::bench {

class CoreFetches {
 public:
  CoreFetches() {
    const Event event = event_of(vendor());
    name_ = event.name;
    if (!event.name) {
      refuse("no such counter of this processor is known");
      return;
    }
    perf_event_attr attributes{};
    attributes.type = PERF_TYPE_RAW;
    attributes.size = sizeof attributes;
    attributes.config = event.config;
    attributes.exclude_kernel = 1;
    attributes.exclude_hv = 1;
    fd_ = static_cast<int>(syscall(SYS_perf_event_open, &attributes, 0, -1, -1, 0));
    if (fd_ < 0) refuse(std::string("perf_event_open: ") + std::strerror(errno));
  }
  ~CoreFetches() {
    if (fd_ >= 0) close(fd_);
  }
  CoreFetches(const CoreFetches&) = delete;
  CoreFetches& operator=(const CoreFetches&) = delete;

  bool counted() const { return fd_ >= 0; }
  const char* name() const { return name_; }
  const std::string& why_not() const { return why_not_; }
  uint64_t read_count() const {
    uint64_t count = 0;
    return fd_ >= 0 && read(fd_, &count, sizeof count) == sizeof count ? count : 0;
  }

 private:
  struct Event {
    const char* name;
    uint64_t config;  // mask of the unit << 8 | event
  };
  // Intel's performance monitoring events (Skylake to Ice Lake): stores that request a line. AMD's processor programming reference of
  // family 19h: fills from the L3 or another L2 of the complex, and from caches of another one.
  static Event event_of(const std::string& vendor) {
    if (vendor == "GenuineIntel") return {"OFFCORE_REQUESTS.DEMAND_RFO", 0x04b0};
    if (vendor == "AuthenticAMD") return {"LsAnyFillsFromSys, caches of the complex and of others", 0x0644};
    return {nullptr, 0};
  }
  static std::string vendor() {
    std::ifstream info("/proc/cpuinfo");
    for (std::string text; std::getline(info, text);)
      if (text.starts_with("vendor_id")) return text.substr(text.find(':') + 2);
    return {};
  }
  void refuse(std::string why) { why_not_ = std::move(why); }

  int fd_ = -1;
  const char* name_ = nullptr;
  std::string why_not_;
};

}  // namespace ttc::bench
