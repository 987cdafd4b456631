#include "collector/run/request/python_words.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>

namespace ttc::collect {
namespace {

// A line for the shell may end as a script's name does, as "python3 model.py".
bool is_script(const std::vector<std::string>& command) {
  return !command.empty() && command[0].ends_with(".py") && words_to_execute(command) == command &&
         access(command[0].c_str(), X_OK) != 0;
}

// find_spec and no import: importing ttnn takes seconds.
bool has_tracy() {
  const int status = std::system(
      "python3 -c \"import importlib.util as u, sys; sys.exit(u.find_spec('tracy') is None)\" "
      ">/dev/null 2>&1 </dev/null");
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

}  // namespace

PythonWords python_words(const RunRequest& request, bool own_module) {
  if (request.module.empty() && !is_script(request.command)) {
    PythonWords same{request.command, {}};
    if (request.partial || request.lines)
      same.sentence =
          "-p and -l have no effect on a program that is started by itself; give the script alone";
    return same;
  }
  PythonWords words;
  words.command = {"python3"};
  if (has_tracy()) {
    words.command.insert(words.command.end(), {"-m", "tracy"});
  } else if (own_module) {
    words.command.insert(words.command.end(), {"-m", "ttcollect"});
    words.sentence =
        "python3 finds no package tracy (tt-metal's); functions become zones by the module ttcollect";
  } else {
    words.sentence =
        "python3 finds no package tracy, and the module ttcollect is not there or has no socket, so that "
        "functions become no zones";
  }
  const bool traced = words.command.size() > 1;
  if (traced && request.partial) words.command.emplace_back("-p");
  if (traced && request.lines) words.command.emplace_back("-l");
  if (!request.module.empty()) words.command.insert(words.command.end(), {"-m", request.module});
  words.command.insert(words.command.end(), request.command.begin(), request.command.end());
  return words;
}

}  // namespace ttc::collect
