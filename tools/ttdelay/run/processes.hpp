// Processes of a run: started with a variable that marks them, and found by it, whatever became of the process that started them.
#pragma once
#include <sys/types.h>

#include <cstdint>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

namespace ttc::delay {

inline constexpr const char* kMarkVariable = "TTDELAY_RUN";

struct StartError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct Start {
  std::vector<std::string> words;
  std::map<std::string, std::string> environment;  // all of it
  std::string out, err;                            // files
};

// A process in a session of its own, its standard input empty: Ctrl-C of a terminal is ours. Throws StartError.
pid_t start_process(const Start& start);

// The processes of this user whose environment marks them with a value that begins with `mark`.
std::vector<pid_t> marked_processes(const std::string& mark);

// SIGTERM, and SIGKILL to those that are left when the grace is over; waits until they are gone. Whether there were any.
bool end_marked(const std::string& mark, uint64_t grace_ns);

// A program of ours: beside this one, else by its name in PATH.
std::string own_program(const std::string& name);

// The output of a program, and its exit code; 127 if it cannot be started.
struct Printed {
  int code = 127;
  std::string out;
};
Printed run_program_of_ours(const std::string& name, const std::vector<std::string>& arguments);
int run_shell(const std::string& command,
              uint64_t limit_ns);  // -1: it did not end within the limit and was killed

uint64_t steady_ns();

}  // namespace ttc::delay
