// Functions for zsh's fpath, on _arguments.
#include "collector/option_table/option_table.hpp"

namespace ttc::program {
namespace {

std::string zsh_quoted(const std::string& text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

// Within the specification of an option colons and brackets are syntax.
std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == ':' || c == '[' || c == ']' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

std::string value_of(const OptionRow& option) {
  if (option.value == Value::kNone) return "";
  std::string text = (option.value == Value::kOptional ? "::" : ":") + escaped(option.value_name) + ":";
  if (option.choices.empty()) return text + "_files";
  text += "(";
  for (const std::string& choice : option.choices) text += choice + " ";
  text.back() = ')';
  return text;
}

void add_options(const CommandRows& command, const std::string& indent, std::string& text) {
  for (const OptionRow& option : command.options)
    for (const std::string& name : option.names) {
      // '*': may be given again. A long option takes its value behind '=' or as the next word; an optional one behind '=' alone.
      const std::string form = option.value == Value::kNone       ? ""
                               : option.value == Value::kOptional ? "=-"
                               : name.starts_with("--")           ? "="
                                                                  : "+";
      std::string row = "*";
      row.append(name).append(form).append("[").append(escaped(begin_of(option.what))).append("]");
      row += value_of(option);
      text.append(indent).append(zsh_quoted(row)).append(" \\\n");
    }
}

}  // namespace

std::string zsh_completion(const CommandRows& program) {
  std::string text = "#compdef " + program.name + "\n# made by " + program.name + " --option-table zsh\n";
  text += "local curcontext=$curcontext state line\ntypeset -A opt_args\n";
  text += "_arguments -C \\\n";
  add_options(program, "  ", text);
  if (program.commands.empty()) return text + "  '*:file:_files'\n";
  text += "  '1: :->command' '*:: :->words' && return\ncase $state in\n  command)\n    local -a commands=(\n";
  for (const CommandRows& command : program.commands)
    text += "      " + zsh_quoted(command.name + ":" + begin_of(command.what)) + "\n";
  text += "    )\n    _describe command commands\n    _files\n    ;;\n  words)\n    case $line[1] in\n";
  for (const CommandRows& command : program.commands) {
    text += "      " + command.name + ")\n        _arguments \\\n";
    add_options(command, "          ", text);
    text += "          '*:file:_files'\n        ;;\n";
  }
  return text + "      *) _files ;;\n    esac\n    ;;\nesac\n";
}

}  // namespace ttc::program
