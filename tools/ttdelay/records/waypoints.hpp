// Finds the waypoints of a core's processors by their form. tt-metal's watcher keeps them in its block of the mailbox, before the
// record of delays, after a word that is nonzero while the watcher is on: up to four letters a processor, of the place that it passed
// last. Their address differs between builds. Pure.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace ttc::delay {

inline constexpr uint32_t kWaypointSearchBytes =
    192;  // before the record; 132 at most in versions that were read

// `before`: of every core the words that lie before its record, as many of each. Five texts a core, "" of a processor that has passed none
// yet; nothing where no place fits all cores, or several do.
std::optional<std::vector<std::vector<std::string>>> waypoints_of(
    std::span<const std::vector<uint32_t>> before);

}  // namespace ttc::delay
