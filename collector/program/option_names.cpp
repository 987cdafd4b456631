#include "collector/program/option_names.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>

#include "collector/program/nearest_name.hpp"

namespace ttc::program {
namespace {

std::string listed(const std::vector<std::string>& names) {
  std::string list;
  for (const std::string& name : names) list += (list.empty() ? "" : ", ") + name;
  return list;
}

std::string meant(const std::string& near, const std::string& otherwise) {
  return "; " + (near.empty() ? otherwise : "did you mean " + near + "?");
}

// The name begins with the command that the option belongs to.
std::string full_name(const CLI::App& app) {
  return app.get_parent() ? full_name(*app.get_parent()) + " " + app.get_name() : app.get_name();
}

std::vector<const CLI::App*> subcommands_of(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App*) { return true; });
}

// The options of a command, and of those whose options it takes as well.
std::vector<const CLI::Option*> options_of(const CLI::App& app) {
  std::vector<const CLI::Option*> all = app.get_options();
  if (app.get_parent() && app.get_fallthrough())
    for (const CLI::Option* option : options_of(*app.get_parent())) all.push_back(option);
  return all;
}

const CLI::Option* long_option(const CLI::App& app, const std::string& name) {
  for (const CLI::Option* option : options_of(app))
    for (const std::string& own : option->get_lnames())
      if ("--" + own == name) return option;
  return nullptr;
}

std::string no_option(const CLI::App& app, const std::string& name) {
  return "option " + name + " is not known to " + full_name(app) +
         meant(near_option(app, name), full_name(app) + " --help lists them");
}

std::string no_subcommand(const CLI::App& app, const std::string& word) {
  std::vector<std::string> names;
  for (const CLI::App* one : subcommands_of(app)) names.push_back(one->get_name());
  return "'" + word + "' is no subcommand of " + full_name(app) +
         meant(nearest_name(word, names), full_name(app) + " --help lists them");
}

// A command without unnamed arguments accepts them only as subcommands.
bool wants_subcommand(const CLI::App& app) {
  const auto options = app.get_options();
  return !subcommands_of(app).empty() &&
         std::none_of(options.begin(), options.end(),
                      [](const CLI::Option* o) { return o->get_positional(); });
}

}  // namespace

CLI::Validator one_of(const std::vector<std::string>& names, Letters letters) {
  const CLI::Validator member =
      letters == Letters::any_case ? CLI::IsMember(names, CLI::ignore_case) : CLI::IsMember(names);
  CLI::Validator check = member;  // with its description for --help
  check.operation([member, names](std::string& value) {
    if (member(value).empty()) return std::string();
    const std::string near = nearest_name(value, names);
    return "there is no '" + value + "'; " + (near.empty() ? "" : "did you mean " + near + "? ") +
           "it takes " + listed(names);
  });
  return check;
}

std::string near_option(const CLI::App& app, const std::string& name) {
  std::vector<std::string> names;
  for (const CLI::Option* option : options_of(app))
    for (const std::string& own : option->get_lnames()) names.push_back("--" + own);
  return nearest_name(name, names);
}

std::string unknown_word(const CLI::App& app, std::span<const std::string> words) {
  const CLI::App* command = &app;
  for (size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (command->get_prefix_command()) break;  // another program's words may come
    if (word == "--" || word == "--help" || word == "-h") break;
    if (word.starts_with("--")) {
      const size_t equals = word.find('=');
      const std::string name = word.substr(0, equals);
      const CLI::Option* option = long_option(*command, name);
      if (!option) return no_option(*command, name);
      // Values that must follow are no options, whatever they look like.
      if (equals == std::string::npos) i += static_cast<size_t>(option->get_items_expected_min());
    } else if (!word.starts_with('-')) {
      const auto subcommands = subcommands_of(*command);
      const auto chosen = std::find_if(subcommands.begin(), subcommands.end(),
                                       [&](const CLI::App* one) { return one->get_name() == word; });
      if (chosen != subcommands.end())
        command = *chosen;
      else if (wants_subcommand(*command))
        return no_subcommand(*command, word);
    } else if (const CLI::Option* option = word.size() == 2 ? command->get_option_no_throw(word) : nullptr) {
      i += static_cast<size_t>(option->get_items_expected_min());
    }
  }
  return {};
}

}  // namespace ttc::program
