// A program's options as plain rows, read from what its command line is parsed by, and the texts that are made of them: completions
// for shells and the options of a man page. So none of these can name an option that the program does not have, or lack one.
#pragma once
#include <string>
#include <vector>

// Named here only: a source that includes CLI11 compiles for seconds.
namespace CLI {
class App;
}

namespace ttc::program {

enum class Value { kNone, kOptional, kRequired };  // kOptional: only as --option=VALUE

struct OptionRow {
  std::vector<std::string> names;  // with their dashes: --output, -o
  std::string what;                // of the help, with its line ends
  Value value = Value::kNone;
  std::string value_name;            // "TIME"; empty without a value
  std::string default_value;         // empty: none
  std::vector<std::string> choices;  // all values there are; empty: any text
  bool required = false;
};

struct CommandRows {
  std::string name, what, footer;  // with their line ends
  std::vector<OptionRow> options;
  std::vector<OptionRow> positionals;  // names[0] is the word of the help
  std::vector<CommandRows> commands;
};

CommandRows rows_of(const CLI::App& app);

// Line ends as spaces.
std::string in_one_line(const std::string& text);
// What a completion has room for: the begin of the first line, cut behind a word.
std::string begin_of(const std::string& text);

std::string bash_completion(const CommandRows& program);
std::string zsh_completion(const CommandRows& program);
std::string fish_completion(const CommandRows& program);
// Sections OPTIONS, COMMANDS and EXIT STATUS in scdoc's language.
std::string manual_sections(const CommandRows& program);

// bash, zsh, fish or scdoc; `form` is one of these.
std::string option_table(const CLI::App& app, const std::string& form);

}  // namespace ttc::program
