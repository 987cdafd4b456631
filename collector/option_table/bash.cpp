// Programs of /usr/share/bash-completion/completions; without the functions of bash-completion, so that the file can also be sourced.
#include "collector/option_table/option_table.hpp"

namespace ttc::program {
namespace {

std::string alternatives(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : "|") + word;
  return text;
}

// Cases of `$command:$option`: what follows an option that takes a value.
void add_values(const CommandRows& command, const std::string& key, std::string& files, std::string& text) {
  for (const OptionRow& option : command.options) {
    if (option.value == Value::kNone) continue;
    std::vector<std::string> keys;
    for (const std::string& name : option.names) keys.push_back(std::string(key).append(":").append(name));
    if (option.choices.empty()) {
      if (option.value == Value::kRequired) files += (files.empty() ? "" : "|") + alternatives(keys);
      continue;
    }
    text += "    " + alternatives(keys) + ") values='";
    for (const std::string& choice : option.choices) text += choice + " ";
    text.back() = '\'';
    text += " ;;\n";
  }
}

std::string words_of(const CommandRows& command) {
  std::string text;
  for (const OptionRow& option : command.options)
    for (const std::string& name : option.names) text += name + " ";
  if (!text.empty()) text.pop_back();
  return text;
}

}  // namespace

std::string bash_completion(const CommandRows& program) {
  std::string commands, values, files, options;
  add_values(program, "", files, values);
  options += "    '') options='" + words_of(program) + "' ;;\n";
  for (const CommandRows& command : program.commands) {
    commands += (commands.empty() ? "" : " ") + command.name;
    add_values(command, command.name, files, values);
    options += "    " + command.name + ") options='" + words_of(command) + "' ;;\n";
  }
  if (!files.empty()) values += "    " + files + ") values=- ;;\n";
  // An option and its value may be divided by the shell at '='. A command is the first word that is neither an option nor the value of one.
  return "# bash completion of " + program.name + ", made by " + program.name +
         " --option-table bash\n"
         "_" +
         program.name +
         "_value() {  # command:option; values: '-' any file, empty: no value follows\n"
         "  values=\n"
         "  case $1 in\n" +
         values +
         "    *) ;;\n"
         "  esac\n"
         "}\n"
         "_" +
         program.name +
         "() {\n"
         "  local commands='" +
         commands +
         "' command= options= values= word before= i\n"
         "  local current=${COMP_WORDS[COMP_CWORD]}\n"
         "  for ((i = 1; i < COMP_CWORD; ++i)); do\n"
         "    word=${COMP_WORDS[i]}\n"
         "    if [[ $word == = ]]; then continue; fi\n"
         "    _" +
         program.name +
         "_value \"$command:$before\"\n"
         "    if [[ -n $values ]]; then before=; continue; fi\n"
         "    before=\n"
         "    if [[ $word == -* ]]; then before=$word\n"
         "    elif [[ -z $command && \" $commands \" == *\" $word \"* ]]; then command=$word\n"
         "    fi\n"
         "  done\n"
         "  [[ $current == = ]] && current=\n"
         "  _" +
         program.name +
         "_value \"$command:$before\"\n"
         "  if [[ $values == - ]]; then mapfile -t COMPREPLY < <(compgen -f -- \"$current\"); return; fi\n"
         "  if [[ -n $values ]]; then mapfile -t COMPREPLY < <(compgen -W \"$values\" -- \"$current\"); "
         "return; fi\n"
         "  case $command in\n" +
         options +
         "  esac\n"
         "  if [[ $current == -* ]]; then mapfile -t COMPREPLY < <(compgen -W \"$options\" -- \"$current\"); "
         "return; fi\n"
         "  mapfile -t COMPREPLY < <([[ -n $command ]] || compgen -W \"$commands\" -- \"$current\"; compgen "
         "-f -- \"$current\")\n"
         "}\n"
         "complete -o filenames -F _" +
         program.name + " " + program.name + "\n";
}

}  // namespace ttc::program
