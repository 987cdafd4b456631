// The machine around the card. Findings that only cost latency are advice. They are made only for a real card, because an emulated
// one has no link.
//
// No rule about translating IOMMUs: a CPU's load of a BAR does not pass the IOMMU, so an observer does not pay for it.
#include <algorithm>
#include <cstdio>
#include <cstring>

#include "collector/doctor/findings.hpp"

namespace ttc::collect::doctor {
namespace {

constexpr uint64_t kMiB = 1 << 20;
// A ring of the default size, the standing area and the loss table (shm/segment.hpp).
constexpr uint64_t kSegmentBytes = 40 * kMiB;
constexpr uint64_t kMemlockBytes =
    4 * kMiB;  // what io_uring buffers are kept below (DESIGN.md, "What io_uring does")
constexpr uint64_t kCaptureBytes = 128 * kMiB;  // a ring and the default --memory of a capture
constexpr unsigned kDeepIdleUs = 50;            // a poll is due every 50 us (--busy)

std::string mib(uint64_t bytes) {
  return std::to_string(bytes / kMiB) + " MiB";
}

CpuSet common(const CpuSet& a, const CpuSet& b) {
  CpuSet both;
  std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::inserter(both, both.end()));
  return both;
}

// CPUs that a collector of this card would run on.
CpuSet near(const CardState& card, const HostState& host) {
  const auto local = parse_cpus(card.function.local_cpus);
  return card.function.numa_node < 0 || !local ? host.allowed : common(*local, host.allowed);
}

void find_memory(const HostState& host, Findings& found) {
  if (!host.shm_free || *host.shm_free < kSegmentBytes) {
    Finding f{"shm-small", Weight::stops};
    f.what = host.shm_free ? "/dev/shm has " + mib(*host.shm_free) + " left, too little for a ring"
                           : "there is no /dev/shm";
    f.evidence = "statvfs(3) of /dev/shm";
    f.cause = "a ring of 32 MiB with its tables takes 40 MiB; containers have 64 MiB unless set otherwise";
    f.fix = "ttcollect clean; a container: --shm-size=1g; or a smaller ring: --ring 8MiB";
    found.push_back(std::move(f));
  }
  if (host.memlock && *host.memlock < kMemlockBytes) {
    Finding f{"memlock-small", Weight::advice};
    f.what = "this user may lock " + std::to_string(*host.memlock / 1024) + " KiB of memory";
    f.evidence = "/proc/self/limits: Max locked memory";
    f.cause =
        "io_uring's buffers count against it on older kernels; without them captures are written with plain "
        "calls";
    f.fix = "ulimit -l 8192, or memlock in /etc/security/limits.conf; a container: --ulimit memlock=8388608";
    found.push_back(std::move(f));
  }
  if (host.memory_left && *host.memory_left < kCaptureBytes) {
    Finding f{"memory-limit", Weight::advice};
    f.what = "this container may use " + mib(*host.memory_left) + " of memory more";
    f.evidence = "memory.max and memory.current of its cgroup (memory.limit_in_bytes of version 1)";
    f.cause =
        "a collector with a capture uses up to 128 MiB, and the kernel kills a process of the container when "
        "it is over";
    f.fix = "a larger limit, or ttcollect --ring 8MiB --memory 16MiB";
    found.push_back(std::move(f));
  }
}

void find_io_uring(const HostState& host, Findings& found) {
  if (host.io_uring_disabled == 0 && host.io_uring_error == 0) return;
  Finding f{"io-uring-off", Weight::advice};
  f.what = "io_uring is not available";
  f.evidence = host.io_uring_disabled
                   ? "/proc/sys/kernel/io_uring_disabled: " + std::to_string(host.io_uring_disabled)
                   : std::string("io_uring_setup(2): ") + std::strerror(host.io_uring_error);
  f.cause = host.io_uring_disabled ? "the administrator switched it off"
                                   : "a container's seccomp profile, or a kernel without it";
  f.fix =
      "no action is needed: waiting and writing are done with poll(2) and pwrite(2); otherwise sysctl "
      "kernel.io_uring_disabled=0, or a seccomp profile that allows it";
  found.push_back(std::move(f));
}

void find_cpus(const HostState& host, Findings& found) {
  char text[32];
  if (host.cpu_quota && *host.cpu_quota < 1.0) {
    std::snprintf(text, sizeof text, "%.2f", *host.cpu_quota);
    Finding f{"cpu-quota", Weight::spoils};
    f.what = std::string("this container gets ") + text + " of a CPU";
    f.evidence = "cpu.max of its cgroup (cpu.cfs_quota_us of version 1)";
    f.cause =
        "the kernel stops all of its threads for the rest of each period, some 100 ms; cores must be looked "
        "at every 2.5 ms, or a host reset goes unseen";
    f.fix = "a larger limit: docker run --cpus 2";
    found.push_back(std::move(f));
  }
  if (host.allowed.size() == 1) {
    Finding f{"one-cpu", Weight::advice};
    f.what = "this process may run on one CPU";
    f.evidence = "sched_getaffinity(2): " + collect::to_string(host.allowed);
    f.cause = "the drain shares it with whatever else runs there";
    f.fix = "start it without taskset, or with a wider cpuset";
    found.push_back(std::move(f));
  }
}

void find_place(const CardState& card, const HostState& host, Findings& found) {
  const card::PciFunction& c = card.function;
  if (host.allowed.empty()) return;
  const CpuSet cpus = near(card, host);
  if (cpus.empty()) {
    Finding f{"far-from-card", Weight::advice};
    f.card = c.node;
    f.what = "this process may not run near " + c.node;
    f.evidence = "NUMA node " + std::to_string(c.numa_node) + " has CPUs " + c.local_cpus + ", allowed are " +
                 collect::to_string(host.allowed);
    f.cause = "every load of the card crosses to the other socket, some 100 ns each";
    f.fix = "numactl --cpunodebind=" + std::to_string(c.numa_node) +
            " ttcollect ..., or a cpuset with those CPUs";
    found.push_back(std::move(f));
    return;
  }
  for (const auto& [governor, set] : host.governors) {
    if (governor == "performance") continue;
    const CpuSet slow = common(set, cpus);
    if (slow.empty()) continue;
    Finding f{"cpu-governor", Weight::advice};
    f.card = c.node;
    f.what = "CPUs near " + c.node + " lower their clock";
    f.evidence = "/sys/devices/system/cpu/cpu" + std::to_string(*slow.begin()) +
                 "/cpufreq/scaling_governor: " + governor + " (CPUs " + collect::to_string(slow) + ")";
    f.cause = "a poll after a rest begins at a low clock: reads take longer, and vary";
    f.fix = "sudo cpupower -c " + collect::to_string(slow) + " frequency-set -g performance";
    found.push_back(std::move(f));
  }
}

void find_idle(const MachineState& machine, Findings& found) {
  std::string deep;
  for (const auto& [name, us] : machine.host.idle_us)
    if (us > kDeepIdleUs) deep += (deep.empty() ? "" : ", ") + name + " " + std::to_string(us) + " us";
  if (deep.empty()) return;
  Finding f{"deep-idle", Weight::advice};
  f.what = "idle CPUs go into states that take long to leave";
  f.evidence = "/sys/devices/system/cpu/cpu*/cpuidle: " + deep + " to leave";
  f.cause =
      "a drain that rests between polls comes late by that much; its own CPU is kept busy only while there "
      "is news";
  f.fix = "sudo cpupower idle-set -D " + std::to_string(kDeepIdleUs) + " for the time of the measurement";
  found.push_back(std::move(f));
}

}  // namespace

void find_in_host(const MachineState& machine, Findings& found) {
  find_memory(machine.host, found);
  find_io_uring(machine.host, found);
  find_cpus(machine.host, found);
  bool real = false;
  for (const CardState& card : machine.cards) {
    if (!card.function.ordinal) continue;
    real = true;
    find_place(card, machine.host, found);
  }
  if (real) find_idle(machine, found);
}

}  // namespace ttc::collect::doctor
