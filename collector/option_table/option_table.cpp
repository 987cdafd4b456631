#include "collector/option_table/option_table.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <string_view>

namespace ttc::program {
namespace {

// CLI::IsMember puts its values into the type's name: TEXT:{a,b}.
std::vector<std::string> choices_of(const std::string& type) {
  const size_t open = type.find('{'), close = type.rfind('}');
  if (open == std::string::npos || close == std::string::npos || close < open) return {};
  std::vector<std::string> choices(1);
  for (const char c : type.substr(open + 1, close - open - 1)) {
    if (c == ',')
      choices.emplace_back();
    else
      choices.back() += c;
  }
  return choices;
}

OptionRow row_of(const CLI::Option& option) {
  OptionRow row;
  for (const std::string& name : option.get_lnames()) row.names.push_back("--" + name);
  for (const std::string& name : option.get_snames()) row.names.push_back("-" + name);
  if (row.names.empty()) row.names.push_back(option.get_name(true));
  row.what = option.get_description();
  row.required = option.get_required();
  if (option.get_items_expected_max() == 0) return row;
  row.value = option.get_items_expected_min() == 0 ? Value::kOptional : Value::kRequired;
  const std::string type = option.get_type_name();
  row.choices = choices_of(type);
  row.value_name =
      option.get_option_text().empty() ? type.substr(0, type.find(':')) : option.get_option_text();
  row.default_value = option.get_default_str();
  return row;
}

}  // namespace

std::string in_one_line(const std::string& text) {
  std::string line;
  for (const char c : text) {
    const bool space = c == '\n' || c == ' ';
    if (space && (line.empty() || line.back() == ' ')) continue;
    line += space ? ' ' : c;
  }
  while (!line.empty() && line.back() == ' ') line.pop_back();
  return line;
}

std::string begin_of(const std::string& text) {
  constexpr size_t kMost = 72;
  std::string line = text.substr(0, text.find('\n'));
  if (line.size() > kMost) {
    const size_t space = line.rfind(' ', kMost);
    line.resize(space == 0 || space == std::string::npos ? kMost : space);
  }
  while (!line.empty() && std::string_view(" ,;:").find(line.back()) != std::string_view::npos)
    line.pop_back();
  return line;
}

CommandRows rows_of(const CLI::App& app) {
  CommandRows rows{app.get_name(), app.get_description(), app.get_footer(), {}, {}, {}};
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_group().empty()) continue;  // hidden from the help
    if (option->nonpositional()) rows.options.push_back(row_of(*option));
    if (option->get_positional() && !option->nonpositional()) rows.positionals.push_back(row_of(*option));
  }
  const auto shown = [](const CLI::App* command) { return !command->get_group().empty(); };
  for (const CLI::App* command : app.get_subcommands(shown)) rows.commands.push_back(rows_of(*command));
  return rows;
}

std::string option_table(const CLI::App& app, const std::string& form) {
  const CommandRows rows = rows_of(app);
  if (form == "bash") return bash_completion(rows);
  if (form == "zsh") return zsh_completion(rows);
  if (form == "fish") return fish_completion(rows);
  return manual_sections(rows);
}

}  // namespace ttc::program
