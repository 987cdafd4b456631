// Captures of several ranks by their names: <host>_rank_<N>.ttc, as ttfleet dump leaves them, or any captures in folders <host>_rank_<N>, as
// tt-metal's runs on several hosts name theirs. clocks.json beside them relates the hosts' clocks.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ttc::tools {

inline constexpr const char* kClocksFile = "clocks.json";

struct RankName {
  std::string host;
  uint32_t rank = 0;
  std::string text() const { return host + "_rank_" + std::to_string(rank); }
  bool operator==(const RankName&) const = default;
};
// Parses a file's or folder's name without its ending; none: it names no rank.
std::optional<RankName> parse_rank_name(std::string_view name);
// The rank of a capture: by its own name, else by its folder's.
std::optional<RankName> rank_of_capture(const std::string& path);

// The captures of a directory and of its folders that are named after ranks, by rank, then by name. Empty: it holds none.
std::vector<std::string> captures_in(const std::string& directory);

}  // namespace ttc::tools
