#include "tools/ranks/rank_files.hpp"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <tuple>

namespace ttc::tools {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kBetween = "_rank_";

void add_captures(const fs::path& directory, std::vector<std::string>& to) {
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(directory, error))
    if (entry.path().extension() == ".ttc" && entry.is_regular_file(error))
      to.push_back(entry.path().string());
}

}  // namespace

std::optional<RankName> parse_rank_name(std::string_view name) {
  const size_t at = name.rfind(kBetween);
  if (at == std::string_view::npos || at == 0) return std::nullopt;
  const std::string_view digits = name.substr(at + kBetween.size());
  RankName found{std::string(name.substr(0, at)), 0};
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), found.rank);
  if (error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  return found;
}

std::optional<RankName> rank_of_capture(const std::string& path) {
  const fs::path file(path);
  if (auto own = parse_rank_name(file.stem().string())) return own;
  std::error_code error;
  return parse_rank_name(fs::absolute(file, error).parent_path().filename().string());
}

std::vector<std::string> captures_in(const std::string& directory) {
  std::vector<std::string> all;
  add_captures(directory, all);
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(directory, error))
    if (entry.is_directory(error) && parse_rank_name(entry.path().filename().string()))
      add_captures(entry.path(), all);
  std::sort(all.begin(), all.end(), [](const std::string& a, const std::string& b) {
    const auto key = [](const std::string& path) {
      const auto rank = rank_of_capture(path);
      return std::tuple(!rank, rank ? rank->rank : 0, path);
    };
    return key(a) < key(b);
  });
  return all;
}

}  // namespace ttc::tools
