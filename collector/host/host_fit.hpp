// Chooses the CPUs of a card's drain thread and the node of its ring: near the card, away from the workload.
//
// Near: among the CPUs of the card's NUMA node, because each load of the card crosses to the other socket
// otherwise. Away: a load that the card does not answer stalls its CPU for most of a second, and a dispatch
// thread of the workload must not wait behind it (tt-umd issues 1673, 2981, 3419). A set of CPUs and not one,
// so that the kernel can still move the thread off a busy CPU.
#pragma once
#include <string>
#include <vector>

#include "collector/host/cpu_set.hpp"

namespace ttc::collect {

struct WorkloadThread {
  CpuSet allowed;  // it may run on
  bool running = false;
  unsigned cpu = 0;  // on which it ran when it was last read
};
// The threads of a process; none when it has ended, is not readable for this user, or `pid` is 0. `proc`: where
// procfs is mounted.
std::vector<WorkloadThread> threads_of(int pid, const std::string& proc = "/proc");

struct CpuChoice {
  CpuSet cpus;      // empty: the thread is not pinned
  std::string why;  // how these came about, or why none: a sentence part
};
// `local`: the CPUs of the card's node; empty: not known.
CpuChoice choose_cpus(const CpuSet& local, const CpuSet& allowed,
                      const std::vector<WorkloadThread>& workload);

struct HostFit {
  CpuChoice cpus;
  int memory_node = -1;  // for the ring; -1: anywhere
};
// The fit for a card of this node, whose CPUs sysfs lists so. A node of -1 is not known: its list then names every
// CPU of the machine and is ignored.
HostFit fit_for(int numa_node, const std::string& local_cpus, const CpuSet& allowed,
                const std::vector<WorkloadThread>& workload);

// During its lifetime the calling thread's new memory comes from this node as long as the node has some. No effect
// if this process may not use the node, or `node` is -1.
class PreferNode {
 public:
  explicit PreferNode(int node);
  ~PreferNode();
  PreferNode(const PreferNode&) = delete;
  PreferNode& operator=(const PreferNode&) = delete;
  bool effective() const { return effective_; }

 private:
  bool effective_ = false;
  int mode_ = 0;  // the policy before
  std::vector<unsigned long> nodes_;
};

// The NUMA node that all these CPUs belong to; -1 when they do not share one, or it is not known.
int common_node(const CpuSet& cpus);

}  // namespace ttc::collect
