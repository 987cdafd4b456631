// Removes from a capture what identifies users and their machine.
//
//   session chunk   name of the host; of the workload its process number, command line and variables; the card's
//                   serial number; the collector's process number; a device named by its serial number
//   host_events, host_names   all of it: zones, messages and paths of the workload's processes
//   names chunk     the directories of kernels' source files, which are homes and project names
//
// Redacted, a session has none of those keys and "redacted": true, and a source file is its last name with a tag:
// `kernel.cpp~1a2b`. The tag keeps the zone's id, which is a hash of the whole text (firmware_markers/zone_names.hpp),
// so that any reader shows the zones' names as before.
#pragma once
#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <vector>

namespace ttc::collect {

// One thread's.
class Redactor {
 public:
  // The chunk, checked, or its replacement; valid until the next call.
  std::span<const uint64_t> redacted(std::span<const uint64_t> chunk);

 private:
  std::span<const uint64_t> with_body(std::span<const uint64_t> chunk, const std::string& body);
  std::vector<uint64_t> chunk_;
};

// Adds the kinds of personal data in a chunk, a phrase each.
void list_personal(std::span<const uint64_t> chunk, std::set<std::string>& found);

// NAME,FILE,LINE,KERNEL_PROFILER with the same hash and without FILE's directories. Empty if `zone_string` is no such text.
std::string redacted_zone(std::string_view zone_string);

}  // namespace ttc::collect
