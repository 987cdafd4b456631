// The announcement that a Tracy client makes every three seconds while no server is connected, as it is in the client's memory (tracy
// public/common/TracyProtocol.hpp, BroadcastMessage; version 3 since 0.8). The memory is read through /proc/PID/mem, which neither stops
// nor changes the process. Connecting would: a client that is not on demand takes one connection in its lifetime.
#pragma once
#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>

namespace ttc::collect::doctor {

struct TracyAnnouncement {
  unsigned port = 0;
  unsigned protocol = 0;
};
// The announcement within `bytes`, which begin at a multiple of 8: of one of these ports, from a process that has one of these
// numbers (several in nested PID namespaces).
std::optional<TracyAnnouncement> find_announcement(std::span<const uint64_t> bytes,
                                                   const std::set<unsigned>& ports,
                                                   const std::set<uint64_t>& pids);

enum class MemoryAccess : uint8_t { readable, refused };
// `process`: its directory in /proc. Initialized and zeroed data of its files, at most 256 MiB.
std::optional<TracyAnnouncement> read_announcement(const std::string& process,
                                                   const std::set<unsigned>& ports, MemoryAccess& access);

// The version of Tracy that has a protocol, "0.11.1"; "no release" if none has it.
std::string tracy_of_protocol(unsigned protocol);

}  // namespace ttc::collect::doctor
