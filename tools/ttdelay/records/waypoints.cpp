#include "tools/ttdelay/records/waypoints.hpp"

#include <algorithm>

namespace ttc::delay {
namespace {

constexpr size_t kProcessors = 5;
constexpr uint32_t kWatcherIsOn = 3;

// Letters and digits, then zeros; or zeros alone.
std::optional<std::string> waypoint(uint32_t word) {
  std::string text;
  for (; (word & 0xff) != 0; word >>= 8) {
    const char c = static_cast<char>(word & 0xff);
    if (!((c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'))) return std::nullopt;
    text += c;
  }
  return word == 0 ? std::optional(text) : std::nullopt;
}

// The texts of a core whose enabling word is at `at`; none if none of the processors has passed a waypoint.
std::optional<std::vector<std::string>> texts_behind(std::span<const uint32_t> words, size_t at) {
  if (words[at] != kWatcherIsOn) return std::nullopt;
  std::vector<std::string> texts;
  for (size_t p = 1; p <= kProcessors; ++p) {
    const auto one = waypoint(words[at + p]);
    if (!one) return std::nullopt;
    texts.push_back(*one);
  }
  const bool any = std::any_of(texts.begin(), texts.end(), [](const std::string& t) { return !t.empty(); });
  return any ? std::optional(texts) : std::nullopt;
}

}  // namespace

std::optional<std::vector<std::vector<std::string>>> waypoints_of(
    std::span<const std::vector<uint32_t>> before) {
  std::optional<std::vector<std::vector<std::string>>> found;
  const size_t words = before.empty() ? 0 : before[0].size();
  for (size_t at = 0; at + kProcessors < words; ++at) {
    std::vector<std::vector<std::string>> all;
    for (const std::vector<uint32_t>& core : before)
      if (auto texts = texts_behind(core, at)) all.push_back(std::move(*texts));
    if (all.size() != before.size()) continue;
    if (found) return std::nullopt;
    found = std::move(all);
  }
  return found;
}

}  // namespace ttc::delay
