#include "tools/ttreport/did_you_mean.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <numeric>

namespace ttc::tools {
namespace {

// Letters to insert, remove or exchange (Levenshtein).
size_t distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t changed = diagonal + (a[i - 1] != b[j - 1]);
      diagonal = row[j];
      row[j] = std::min({changed, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row.back();
}

std::string meant(const std::string& name, const std::string& what) {
  return name.empty() ? "; " + what : "; did you mean " + name + "?";
}

}  // namespace

std::string nearest(std::string_view word, std::span<const std::string> names) {
  std::string best;
  size_t least = std::max<size_t>(1, word.size() / 3) + 1;
  for (const std::string& name : names) {
    const size_t far = distance(word, name);
    if (far < least) {
      least = far;
      best = name;
    }
  }
  return best;
}

std::string unknown_word(const CLI::App& app, std::span<const std::string> words) {
  if (words.empty() || words[0].empty() || words[0][0] == '-') return {};
  const auto subcommands = app.get_subcommands([](const CLI::App*) { return true; });
  const auto chosen = std::find_if(subcommands.begin(), subcommands.end(),
                                   [&](const CLI::App* one) { return one->get_name() == words[0]; });
  if (chosen == subcommands.end()) {
    std::vector<std::string> names;
    names.reserve(subcommands.size());
    for (const CLI::App* one : subcommands) names.push_back(one->get_name());
    return "'" + words[0] + "' is no report" +
           meant(nearest(words[0], names), app.get_name() + " --help lists them");
  }
  std::vector<std::string> names;
  for (const CLI::Option* option : (*chosen)->get_options())
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  for (const std::string& word : words.subspan(1)) {
    if (word == "--") break;
    if (!word.starts_with("--")) continue;
    const std::string option = word.substr(0, word.find('='));
    if (std::find(names.begin(), names.end(), option) == names.end())
      return "option " + option + " is not known to " + app.get_name() + " " + words[0] +
             meant(nearest(option, names), app.get_name() + " " + words[0] + " --help lists them");
  }
  return {};
}

}  // namespace ttc::tools
