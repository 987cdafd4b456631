#include "collector/host_side/python_zones.hpp"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string>

namespace ttc::collect {
namespace {

// A number in front of a space or the end, which is taken off.
template <class T>
std::optional<T> number_at(std::string_view& rest) {
  T value = 0;
  const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), value);
  if (error != std::errc()) return std::nullopt;
  rest.remove_prefix(static_cast<size_t>(end - rest.data()));
  if (!rest.empty() && rest.front() != ' ') return std::nullopt;
  rest.remove_prefix(rest.empty() ? 0 : 1);
  return value;
}

bool take_source(std::string_view rest, const std::function<void(const HostEvent&)>& take) {
  const auto number = number_at<uint64_t>(rest);
  const auto line = number ? number_at<uint32_t>(rest) : std::nullopt;
  const size_t tab = rest.find('\t');
  if (!line || *number == 0 || tab == std::string_view::npos) return false;
  std::string text(rest.substr(0, tab));  // the name, no function, the file
  text.append(2, '\0').append(rest.substr(tab + 1)).append(1, '\0');
  take({EventKind::source, *line, 0, *number, text});
  return true;
}

bool take_line(std::string_view line, uint32_t thread, const std::function<void(const HostEvent&)>& take) {
  if (line.size() < 2 || line[1] != ' ') return false;
  std::string_view rest = line.substr(2);
  if (line[0] == 'S') return take_source(rest, take);
  const auto time = number_at<int64_t>(rest);
  if (!time || *time < 0) return false;
  if (line[0] == 'E' && rest.empty()) {
    take({EventKind::zone_end, thread, *time, 0, {}});
    return true;
  }
  const auto number = number_at<uint64_t>(rest);
  if (line[0] != 'B' || !number || !rest.empty()) return false;
  take({EventKind::zone_begin, thread, *time, *number, {}});
  return true;
}

}  // namespace

bool take_python_zones(std::string_view lines, uint32_t thread,
                       const std::function<void(const HostEvent&)>& take) {
  bool all = true;
  while (!lines.empty()) {
    const size_t end = std::min(lines.find('\n'), lines.size());
    all = take_line(lines.substr(0, end), thread, take) && all;
    lines.remove_prefix(std::min(end + 1, lines.size()));
  }
  return all;
}

}  // namespace ttc::collect
