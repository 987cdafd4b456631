// Where a program is to listen: [ADDR:]PORT.
#pragma once
#include <optional>
#include <string>

namespace ttc::program {

struct ListenAddress {
  std::string host;  // empty: none was given; IPv6 without its brackets
  std::string port;  // 0 to 65535
};
// Nothing: the text is none.
std::optional<ListenAddress> parse_listen(const std::string& text);

// For CLI::Option::check: what is wrong with it as a sentence, empty when nothing is.
std::string check_listen(const std::string& text);

}  // namespace ttc::program
