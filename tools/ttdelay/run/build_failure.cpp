#include "tools/ttdelay/run/build_failure.hpp"

namespace ttc::delay {
namespace {

constexpr size_t kLongestLine = 300;
constexpr std::string_view kWrittenLineEnd = "\\x0a";
constexpr std::string_view kTexts[][2] = {{"region", "overflowed by"},   {"will not fit in region", ""},
                                          {"TT_THROW", "build failed"},  {"TT_FATAL", "build failed"},
                                          {"KERNEL_CONFIG", "overflow"}, {"KERNEL_CONFIG", "exceeds"},
                                          {"collect2: error: ld", ""}};

}  // namespace

std::optional<std::string> build_failure(std::string_view text) {
  // Programs of ours write a line end within a sentence so.
  std::string printed(text);
  for (size_t at = printed.find(kWrittenLineEnd); at != std::string::npos; at = printed.find(kWrittenLineEnd))
    printed.replace(at, kWrittenLineEnd.size(), "\n");
  for (const auto& parts : kTexts) {
    for (std::string_view rest = printed; !rest.empty();) {
      const size_t end = rest.find('\n');
      const std::string_view line = rest.substr(0, end);
      if (line.find(parts[0]) != std::string_view::npos && line.find(parts[1]) != std::string_view::npos)
        return std::string(line.substr(0, kLongestLine));
      rest = end == std::string_view::npos ? std::string_view{} : rest.substr(end + 1);
    }
  }
  return std::nullopt;
}

}  // namespace ttc::delay
