#include <algorithm>
#include <sstream>

#include "collector/option_table/option_table.hpp"

namespace ttc::program {
namespace {

// Text that scdoc takes as it is. An underscore within a word is none of its syntax, but one at an end is.
std::string plain(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '*' || c == '_' || c == '\\' || c == '<' || c == '~' || c == '`' || c == '#' || c == '|')
      out += '\\';
    out += c;
  }
  return out;
}

std::string head_of(const OptionRow& option) {
  std::string text;
  for (const std::string& name : option.names) text += (text.empty() ? "*" : ", *") + plain(name) + "*";
  if (option.value == Value::kOptional) text += "[=\\_" + plain(option.value_name) + "\\_]";
  if (option.value == Value::kRequired) text += " _" + plain(option.value_name) + "_";
  return text;
}

// A paragraph; a line that begins with the name of a choice begins a line. `indent` is "" or a tab.
std::string paragraph(const std::string& text, const std::vector<std::string>& choices,
                      const std::string& indent) {
  std::string out;
  for (std::istringstream lines(text); !lines.eof();) {
    std::string line;
    std::getline(lines, line);
    line = in_one_line(line);
    if (line.empty()) continue;
    const bool choice = std::any_of(choices.begin(), choices.end(),
                                    [&](const std::string& one) { return line.starts_with(one + ":"); });
    if (choice && !out.empty()) out += "\n\n" + indent;
    if (!choice && !out.empty()) out += " ";
    if (out.empty()) out = indent;
    if (line.front() == '-' && (out == indent || choice)) out += "\\";
    out += plain(line);
  }
  return out;
}

void add_option(const OptionRow& option, const std::string& head, std::string& text) {
  const std::string what = paragraph(option.what, option.choices, "\t");
  std::vector<std::string> more;
  if (!option.choices.empty()) {
    std::string all = "One of: ";
    for (const std::string& choice : option.choices)
      all += (&choice == &option.choices[0] ? "" : ", ") + choice;
    more.push_back(all);
  }
  if (!option.default_value.empty()) more.push_back("Default: " + option.default_value);
  if (option.required) more.emplace_back("Must be given");
  text += head + "\n" + what;
  if (!what.empty() && what.back() != '.') text += ".";
  for (const std::string& one : more)
    text += (&one == &more[0] ? what.empty() ? "\t" : "\n\n\t" : ". ") + plain(one);
  text += more.empty() ? "\n\n" : ".\n\n";
}

void add_rows(const CommandRows& command, std::string& text) {
  for (const OptionRow& word : command.positionals) add_option(word, "_" + plain(word.names[0]) + "_", text);
  for (const OptionRow& option : command.options) add_option(option, head_of(option), text);
}

}  // namespace

std::string manual_sections(const CommandRows& program) {
  std::string text = "# OPTIONS\n\n";
  add_rows(program, text);
  if (!program.commands.empty()) text += "# COMMANDS\n\n";
  for (const CommandRows& command : program.commands) {
    text += "## " + program.name + " " + command.name + "\n\n" + paragraph(command.what, {}, "") + ".\n\n";
    add_rows(command, text);
    if (!command.footer.empty() && command.footer != program.footer)
      text += paragraph(command.footer, {}, "") + "\n\n";
  }
  if (!program.footer.empty()) text += "# EXIT STATUS\n\n" + paragraph(program.footer, {}, "") + "\n\n";
  return text;
}

}  // namespace ttc::program
