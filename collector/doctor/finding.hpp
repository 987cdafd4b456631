// What `ttcollect doctor` reports: one thing that stands in the way, or that costs something.
#pragma once
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace ttc::collect::doctor {

enum class Weight : uint8_t {
  stops,   // a workload, or collecting from it, does not work
  spoils,  // it works, and what is recorded is wrong, incomplete or not what was requested
  advice   // it works; this costs latency or may matter later. Hinders no process
};
const char* to_string(Weight weight);

struct Finding {
  Finding(std::string finding_id, Weight its_weight) : id(std::move(finding_id)), weight(its_weight) {}

  std::string id;  // kebab case; docs/doctor.md has a line for each
  Weight weight;
  std::string what;      // one sentence
  std::string evidence;  // live state that was read, with its place
  std::string cause;     // why it is so, or what follows from it
  std::string fix;       // what to do; a command where there is one
  std::string card;      // /dev/tenstorrent/N, a PCI address or emu:NAME; empty: none
  int pid = 0;           // 0: none
};
using Findings = std::vector<Finding>;

// True when one of them stands in the way.
bool stands_in_the_way(const Findings& findings);

}  // namespace ttc::collect::doctor
