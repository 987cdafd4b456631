#include "tools/ttreport/did_you_mean.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>

#include "tools/report/text/nearest_name.hpp"

namespace ttc::tools {
namespace {

std::string meant(const std::string& name, const std::string& what) {
  return name.empty() ? "; " + what : "; did you mean " + name + "?";
}

}  // namespace

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
           meant(report::nearest_name(words[0], names), app.get_name() + " --help lists them");
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
             meant(report::nearest_name(option, names),
                   app.get_name() + " " + words[0] + " --help lists them");
  }
  return {};
}

}  // namespace ttc::tools
