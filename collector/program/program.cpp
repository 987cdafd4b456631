#include "collector/program/program.hpp"

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <iostream>
#include <new>
#include <sstream>

#include "collector/program/printable.hpp"
#include "collector/program/version.hpp"

namespace ttc::program {
namespace {

int run_guarded(const Program& program, const std::function<int()>& body) {
  try {
    return body();
  } catch (const CLI::Error& e) {
    return say(program, Exit::kUsage, e.what());
  } catch (const UsageError& e) {
    return say(program, Exit::kUsage, e.what());
  } catch (const std::bad_alloc&) {
    return say(program, Exit::kFailed, "there is not enough memory");
  } catch (const std::exception& e) {
    return say(program, Exit::kFailed, e.what());
  } catch (...) {
    return say(program, Exit::kFailed, "an error of unknown kind ended the program");
  }
}

// The error number when standard output lacks something that was written to it, 0 where the number is not
// known any more; nothing: it has all.
std::optional<int> output_error() {
  errno = 0;
  const bool flushed = std::fflush(stdout) == 0;
  const int error = errno;
  std::cout.flush();
  if (flushed && !std::ferror(stdout) && std::cout.good()) return std::nullopt;
  return error;
}

}  // namespace

int say(const Program& program, int code, std::string_view sentence) {
  std::fprintf(stderr, "%s: %s\n", program.name, printable(sentence).c_str());
  return code;
}

void say_lines(const Program& program, std::string_view lines) {
  std::string text = std::string(program.name) + ": ";
  for (size_t begin = 0, end = 0; end != std::string_view::npos; begin = end + 1) {
    end = lines.find('\n', begin);
    text += printable(lines.substr(begin, end - begin)) + "\n";
  }
  std::fputs(text.c_str(), stderr);
}

void EndCommandLine::operator()(CLI::App* app) const {
  delete app;
}

CommandLineApp command_line_of(const Program& program, const std::string& what) {
  CommandLineApp app(new CLI::App(what, program.name));
  app->set_version_flag("--version", version_of(program.name));
  return app;
}

CLI::App* add_command(CLI::App& app, const std::string& name, const std::string& what) {
  return app.add_subcommand(name, what);
}

std::optional<int> parse_command_line(const Program& program, CLI::App& app, int argc, char** argv) {
  try {
    app.parse(argc, argv);
    return std::nullopt;
  } catch (const CLI::ParseError& e) {
    if (e.get_exit_code() == 0) {
      std::ostringstream out;
      app.exit(e, out, out);
      std::fputs(out.str().c_str(), stdout);  // not flushed: run_program() sees the reason when that fails
      return Exit::kOk;
    }
    return say(program, Exit::kUsage,
               std::string(e.what()) + "; " + program.name + " --help lists the options");
  }
}

int run_program(const Program& program, const std::function<int()>& body) {
  const int code = run_guarded(program, body);
  const std::optional<int> error = output_error();
  if (!error) return code;
  const std::string reason = *error ? std::string(": ") + std::strerror(*error) : std::string();
  say(program, code, "standard output cannot be written" + reason);
  return code == Exit::kOk ? program.output_failed : code;
}

}  // namespace ttc::program
