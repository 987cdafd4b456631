// The address at which a program listens: [ADDR:]PORT.
#pragma once
#include <optional>
#include <string>

namespace ttc::program {

struct ListenAddress {
  std::string host;  // empty: none was given; IPv6 without its brackets
  std::string port;  // 0 to 65535
};
// No value if `text` is no address.
std::optional<ListenAddress> parse_listen(const std::string& text);

// A check for CLI::Option::check: returns the error as a sentence, or an empty string.
std::string check_listen(const std::string& text);

}  // namespace ttc::program
