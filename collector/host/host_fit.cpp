#include "collector/host/host_fit.hpp"

#include <numa.h>
#include <numaif.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <sstream>

namespace ttc::collect {
namespace {

namespace fs = std::filesystem;

// A CPU and its sibling: a thread bound so narrowly was put there on purpose.
constexpr size_t kPinnedCpus = 2;
constexpr size_t kMaskBits = 1024;  // nodes the kernel can be built for

std::string status_field(const std::string& path, const std::string& key) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);)
    if (line.starts_with(key + ":\t")) return line.substr(key.size() + 2);
  return {};
}

// State and last CPU: the 3rd and 39th field; the 2nd is a name in brackets that may hold anything.
void read_stat(const std::string& path, WorkloadThread& thread) {
  std::ifstream file(path);
  const std::string text((std::istreambuf_iterator<char>(file)), {});
  const size_t name_end = text.rfind(')');
  if (name_end == std::string::npos) return;
  std::istringstream fields(text.substr(name_end + 1));
  std::string field;
  for (int number = 3; number <= 39 && fields >> field; ++number) {
    if (number == 3) thread.running = field == "R";
    if (number == 39) thread.cpu = static_cast<unsigned>(std::strtoul(field.c_str(), nullptr, 10));
  }
}

CpuSet intersection(const CpuSet& a, const CpuSet& b) {
  CpuSet both;
  std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::inserter(both, both.end()));
  return both;
}
CpuSet difference(const CpuSet& a, const CpuSet& b) {
  CpuSet rest;
  std::set_difference(a.begin(), a.end(), b.begin(), b.end(), std::inserter(rest, rest.end()));
  return rest;
}

}  // namespace

std::vector<WorkloadThread> threads_of(int pid, const std::string& proc) {
  std::vector<WorkloadThread> threads;
  if (pid <= 0) return threads;
  std::error_code gone;  // or not readable: then no thread to keep away from is visible
  for (fs::directory_iterator task(proc + "/" + std::to_string(pid) + "/task", gone), end;
       !gone && task != end; task.increment(gone)) {
    WorkloadThread thread;
    const auto cpus = parse_cpus(status_field(task->path().string() + "/status", "Cpus_allowed_list"));
    if (!cpus) continue;  // it ended meanwhile
    thread.allowed = *cpus;
    read_stat(task->path().string() + "/stat", thread);
    threads.push_back(std::move(thread));
  }
  return threads;
}

CpuChoice choose_cpus(const CpuSet& local, const CpuSet& allowed,
                      const std::vector<WorkloadThread>& workload) {
  if (local.empty()) return {{}, "the card's NUMA node is not known"};
  const CpuSet near = intersection(local, allowed);
  if (near.empty()) return {{}, "none of the card's CPUs " + to_string(local) + " may be used here"};
  CpuSet pinned, busy;
  for (const WorkloadThread& thread : workload) {
    if (thread.allowed.size() <= kPinnedCpus) pinned.insert(thread.allowed.begin(), thread.allowed.end());
    if (thread.running) busy.insert(thread.cpu);
  }
  const CpuSet away = difference(near, pinned);
  if (away.empty()) return {near, "near the card; the workload is pinned to all of them"};
  const CpuSet quiet = difference(away, busy);
  if (quiet.empty()) return {away, "near the card; the workload runs on all of them"};
  return {quiet, quiet == near ? "near the card" : "near the card, away from the workload's threads"};
}

HostFit fit_for(int numa_node, const std::string& local_cpus, const CpuSet& allowed,
                const std::vector<WorkloadThread>& workload) {
  if (numa_node < 0) return {choose_cpus({}, allowed, workload), -1};
  return {choose_cpus(parse_cpus(local_cpus).value_or(CpuSet{}), allowed, workload), numa_node};
}

PreferNode::PreferNode(int node) : nodes_(kMaskBits / (8 * sizeof(unsigned long))) {
  if (node < 0 || numa_available() < 0) return;
  if (!numa_bitmask_isbitset(numa_all_nodes_ptr, static_cast<unsigned>(node))) return;
  if (get_mempolicy(&mode_, nodes_.data(), kMaskBits, nullptr, 0) != 0) return;
  const std::unique_ptr<bitmask, void (*)(bitmask*)> wanted(numa_allocate_nodemask(), numa_free_nodemask);
  numa_bitmask_setbit(wanted.get(), static_cast<unsigned>(node));
  effective_ = set_mempolicy(MPOL_PREFERRED, wanted->maskp, wanted->size + 1) == 0;
}

PreferNode::~PreferNode() {
  if (!effective_) return;
  const bool plain = mode_ == MPOL_DEFAULT;
  set_mempolicy(mode_, plain ? nullptr : nodes_.data(), plain ? 0 : kMaskBits);
}

int common_node(const CpuSet& cpus) {
  if (cpus.empty() || numa_available() < 0) return -1;
  const int node = numa_node_of_cpu(static_cast<int>(*cpus.begin()));
  const bool all = std::all_of(cpus.begin(), cpus.end(),
                               [&](unsigned cpu) { return numa_node_of_cpu(static_cast<int>(cpu)) == node; });
  return all ? node : -1;
}

}  // namespace ttc::collect
