#include "collector/host_side/client_process.hpp"

#include <unistd.h>

#include <algorithm>

#include "collector/host/process_environment.hpp"
#include "ttcollect/host_events.hpp"

namespace ttc::collect {
namespace {

// tt-run, Open MPI, PMIx, PMI, MVAPICH2, Slurm.
constexpr const char* kRankVariables[] = {"TT_RUN_RANK", "OMPI_COMM_WORLD_RANK", "PMIX_RANK",
                                          "PMI_RANK",    "MV2_COMM_WORLD_RANK",  "SLURM_PROCID"};
constexpr const char* kChipVariables[] = {"TT_VISIBLE_DEVICES", "TT_METAL_VISIBLE_DEVICES"};

bool is_number(const std::string& text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
}

// Numbers of driver nodes and commas. The variable may also hold PCI addresses, which number no device here.
bool is_list_of_numbers(const std::string& text) {
  return !text.empty() && text.find_first_not_of("0123456789,") == std::string::npos && text.front() != ',' &&
         text.back() != ',' && text.find(",,") == std::string::npos;
}

std::string fact(std::string_view name, const std::string& value) {
  return std::string(name) + "=" + value + '\0';
}

}  // namespace

std::string facts_of_process(pid_t pid, const std::string& proc) {
  const auto environment = environment_of(pid, proc);
  if (!environment) return {};
  std::string facts;
  for (const char* name : kRankVariables)
    if (const std::string rank = value_in(*environment, name); is_number(rank)) {
      facts += fact(kRankFact, rank);
      break;
    }
  for (const char* name : kChipVariables)
    if (const std::string chips = value_in(*environment, name); is_list_of_numbers(chips)) {
      facts += fact(kChipsFact, chips);
      break;
    }
  return facts;
}

bool OwnThreads::contains(uint32_t thread) {
  if (known_.size() >= kMost) known_.clear();
  const auto [found, fresh] = known_.try_emplace(thread);
  if (fresh) found->second = access((tasks_ + std::to_string(thread)).c_str(), F_OK) == 0;
  return found->second;
}

}  // namespace ttc::collect
