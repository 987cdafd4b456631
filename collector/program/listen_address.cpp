#include "collector/program/listen_address.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>

#include "collector/program/printable.hpp"

namespace ttc::program {
namespace {

bool is_port(const std::string& text) {
  uint16_t port = 0;  // what is larger does not fit
  const char* end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, port);
  return !text.empty() && error == std::errc() && stopped == end;
}

}  // namespace

std::optional<ListenAddress> parse_listen(const std::string& text) {
  const size_t colon = text.rfind(':');
  ListenAddress at{{}, colon == std::string::npos ? text : text.substr(colon + 1)};
  if (!is_port(at.port)) return std::nullopt;
  if (colon == std::string::npos) return at;
  at.host = text.substr(0, colon);
  const bool bracketed = at.host.size() > 2 && at.host.front() == '[' && at.host.back() == ']';
  if (bracketed) at.host = at.host.substr(1, at.host.size() - 2);
  const bool several =
      at.host.find(':') != std::string::npos;  // IPv6: which colon precedes the port is ambiguous
  if (at.host.empty() || (several && !bracketed)) return std::nullopt;
  return at;
}

std::string check_listen(const std::string& text) {
  if (parse_listen(text)) return {};
  return "'" + printable(text) +
         "' is no place to listen at; give PORT or ADDRESS:PORT, such as 8600 or 0.0.0.0:8600; " +
         "ports are 0 to 65535";
}

}  // namespace ttc::program
