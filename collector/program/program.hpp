// What the main function of every program does around its own work.
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

#include "collector/program/exits.hpp"

// Named here only: a source that includes CLI11 compiles for seconds.
namespace CLI {
class App;
}

namespace ttc::program {

struct Program {
  const char* name;
  int output_failed;  // exit code when standard output cannot be written
};

// Wrong use that shows after the command line was read; one sentence. Exit code 2.
struct UsageError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// "<name>: <sentence>" on stderr, printable. Gives `code`.
int say(const Program& program, int code, std::string_view sentence);

// Does the same for our own text of several lines: its line ends stay.
void say_lines(const Program& program, std::string_view lines);

// The command line of `program`, with --help, --version and --option-table. It is made and destroyed by program.cpp alone: a source that
// makes or destroys a CLI::App compiles most of CLI11.
struct EndCommandLine {
  void operator()(CLI::App* app) const;
};
using CommandLineApp = std::unique_ptr<CLI::App, EndCommandLine>;
CommandLineApp command_line_of(const Program& program, const std::string& what);

// A subcommand, for the same reason. `app` owns it.
CLI::App* add_command(CLI::App& app, const std::string& name, const std::string& what);

// Reads the command line. If set, the program must end with that code (--help, --version, wrong options, which are
// reported).
std::optional<int> parse_command_line(const Program& program, CLI::App& app, int argc, char** argv);

// Ignores SIGXFSZ and runs `body`. What it throws becomes one sentence and an exit code: 2 of wrong options and UsageError, 8 of
// anything else. If memory ends where no handler can catch it (in a destructor, at the end of a thread) the program ends at once, with
// that sentence and code, too. At the end standard output is flushed: if not all of it could be written, that is reported,
// and a code of 0 becomes `output_failed`.
int run_program(const Program& program, const std::function<int()>& body);

// Before the first thread, for a program that fills much memory: the C library's heap is one for all threads, begins with 256 MiB of address
// space in large pages (transparent_hugepage(5) of the kernel, where it is not "never"), and keeps what is freed. A page of 4 KiB that is
// touched for the first time costs as much as to decode it. Where address space is limited (ulimit -v, -d) none is reserved.
void heap_of_large_pages();

}  // namespace ttc::program
