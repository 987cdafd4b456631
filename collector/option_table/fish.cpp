#include "collector/option_table/option_table.hpp"

namespace ttc::program {
namespace {

std::string fish_quoted(const std::string& text) {
  std::string out = "'";
  for (const char c : text) {
    if (c == '\'' || c == '\\') out += '\\';
    out += c;
  }
  return out + "'";
}

void add(const CommandRows& command, const std::string& start, std::string& text) {
  for (const OptionRow& option : command.options) {
    text += start;
    for (const std::string& name : option.names)
      text += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
    if (option.value == Value::kRequired) text += " -r";
    if (!option.choices.empty()) {
      std::string choices;
      for (const std::string& choice : option.choices) choices += (choices.empty() ? "" : " ") + choice;
      text += " -f -a " + fish_quoted(choices);
    }
    text += " -d " + fish_quoted(begin_of(option.what)) + "\n";
  }
}

}  // namespace

std::string fish_completion(const CommandRows& program) {
  std::string text =
      "# fish completion of " + program.name + ", made by " + program.name + " --option-table fish\n";
  const std::string complete = "complete -c " + program.name;
  if (program.commands.empty()) {
    add(program, complete, text);
    return text;
  }
  const std::string none = complete + " -n __fish_use_subcommand";
  add(program, none, text);
  for (const CommandRows& command : program.commands) {
    text += none + " -a " + command.name + " -d " + fish_quoted(begin_of(command.what)) + "\n";
    add(command, complete + " -n '__fish_seen_subcommand_from " + command.name + "'", text);
  }
  return text;
}

}  // namespace ttc::program
