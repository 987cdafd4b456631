#include "collector/program/program.hpp"

#include <malloc.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/uio.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <filesystem>
#include <iostream>
#include <new>
#include <sstream>
#include <system_error>

#include "collector/option_table/option_table.hpp"
#include "collector/program/option_names.hpp"
#include "collector/program/printable.hpp"
#include "collector/program/version.hpp"

namespace ttc::program {
namespace {

// CLI11 takes -1 for the largest number of an option without a sign.
void refuse_wrapped_numbers(const CLI::Option& option) {
  if (option.get_type_name().substr(0, 4) != "UINT") return;
  for (const std::string& value : option.results())
    if (value.starts_with('-'))
      throw CLI::ValidationError(option.get_name(), "'" + printable(value) + "' is below 0");
}

// A name of a file that is empty is a script's variable that was not set.
void refuse_empty_file(const CLI::Option& option) {
  constexpr std::string_view kFiles[] = {"output", "csv",   "json",  "svg",
                                         "html",   "audit", "truth", "truth-unseen"};
  const auto& names = option.get_lnames();
  const bool file = std::any_of(names.begin(), names.end(), [&](const std::string& name) {
    return std::find(std::begin(kFiles), std::end(kFiles), name) != std::end(kFiles);
  });
  if (!file || option.get_expected_max() == 0) return;
  for (const std::string& value : option.results())
    if (value.empty()) throw CLI::ValidationError(option.get_name(), "the name of the file is empty");
}

void check_given(const CLI::App& app) {
  for (const CLI::Option* option : app.get_options()) {
    refuse_wrapped_numbers(*option);
    refuse_empty_file(*option);
  }
  for (const CLI::App* command : app.get_subcommands()) check_given(*command);
}

constexpr char kNoMemory[] = ": there is not enough memory\n";

// Uses no memory: neither text is made nor a stream used.
int say_no_memory(const char* name) {
  iovec parts[] = {{const_cast<char*>(name), std::strlen(name)},
                   {const_cast<char*>(kNoMemory), sizeof kNoMemory - 1}};
  while (writev(STDERR_FILENO, parts, 2) < 0 && errno == EINTR) {
  }
  return Exit::kFailed;
}

// One is given back whenever an allocation fails: what is destroyed on the way of the exception may allocate, such as a JSON
// value (nlohmann/json), and is what removes files that are not complete. Several, because threads fail at the same time.
constexpr size_t kReserves = 8, kReserveBytes = 96 << 10;
std::array<std::atomic<void*>, kReserves> reserves{};
thread_local bool refused = false;  // operator new had no memory for this thread
[[noreturn]] void out_of_memory() {
  refused = true;
  for (std::atomic<void*>& reserve : reserves)
    if (void* memory = reserve.exchange(nullptr)) {
      std::free(memory);
      break;
    }
  throw std::bad_alloc();
}

std::atomic<const char*> running = nullptr;
std::terminate_handler terminate_before = nullptr;

bool is_without_memory() {
  if (const std::exception_ptr thrown = std::current_exception()) try {
      std::rethrow_exception(thrown);
    } catch (const std::bad_alloc&) {
      return true;
    } catch (...) {
      return false;
    }
  // An exception that reached a noexcept function of the standard library is on its way, but no handler was entered.
  if (refused && std::uncaught_exceptions() > 0) return true;
  // An exception for which there was no memory was not even made. What is larger does not fit either.
  constexpr size_t kLargerThanExceptions = 4096;
  void* const memory = std::malloc(kLargerThanExceptions);
  std::free(memory);
  return memory == nullptr;
}

// std::terminate() for an exception that no handler can catch.
[[noreturn]] void end_without_memory() {
  if (is_without_memory()) {
    const char* const name = running;
    _exit(say_no_memory(name ? name : program_invocation_short_name));
  }
  terminate_before();  // a mistake of ours: a core file shows it
  std::abort();
}

// Constructors of CLI11's validators allocate before main() does.
[[gnu::constructor(101)]] void before_all_constructors() {
  terminate_before = std::set_terminate(end_without_memory);
}

// After this call the sentence has `name` in front, and memory is kept back for what runs while an exception is on its
// way.
void expect_memory_to_end(const char* name) {
  running = name;
  for (std::atomic<void*>& reserve : reserves)
    if (!reserve) reserve = std::malloc(kReserveBytes);
  std::set_new_handler(out_of_memory);
}

int run_guarded(const Program& program, const std::function<int()>& body) {
  try {
    return body();
  } catch (const CLI::Error& e) {
    return say(program, Exit::kUsage, e.what());
  } catch (const UsageError& e) {
    return say(program, Exit::kUsage, e.what());
  } catch (const std::bad_alloc&) {
    return say_no_memory(program.name);
  } catch (const std::filesystem::filesystem_error& e) {
    return say(program, Exit::kFailed, e.path1().string() + " cannot be read: " + e.code().message());
  } catch (const std::system_error& e) {
    const bool thread =
        e.code() == std::errc::resource_unavailable_try_again;  // std::thread gives no more detail
    return say(program, Exit::kFailed,
               thread ? std::string("a thread cannot be started: ") + e.what() +
                            "; the limits of memory or processes are too low (ulimit -v, ulimit -u)"
                      : e.what());
  } catch (const std::exception& e) {
    return say(program, Exit::kFailed, e.what());
  } catch (...) {
    return say(program, Exit::kFailed, "an error of unknown kind ended the program");
  }
}

// The error number if standard output lacks some of what was written to it, 0 if the number is no longer
// known; no value if it has all.
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
  const auto print = [app = app.get()](const std::string& form) {
    throw CLI::CallForVersion(option_table(*app, form),
                              0);  // printed to standard output as it is; the program ends
  };
  app->add_option_function<std::string>(
         "--option-table", print,
         "print all options as completions for a shell, or as sections of a man page")
      ->check(CLI::IsMember({"bash", "zsh", "fish", "scdoc"}))
      ->option_text("FORM");
  return app;
}

CLI::App* add_command(CLI::App& app, const std::string& name, const std::string& what) {
  return app.add_subcommand(name, what);
}

std::optional<int> parse_command_line(const Program& program, CLI::App& app, int argc, char** argv) {
  const std::vector<std::string> words(argv + std::min(argc, 1), argv + argc);
  if (const std::string sentence = unknown_word(app, words); !sentence.empty())
    return say(program, Exit::kUsage, sentence);
  try {
    app.parse(argc, argv);
    check_given(app);
    return std::nullopt;
  } catch (const CLI::ParseError& e) {
    if (e.get_exit_code() == 0) {
      std::ostringstream out;
      app.exit(e, out, out);
      std::fputs(out.str().c_str(), stdout);  // not flushed: run_program() gets the reason when that fails
      return Exit::kOk;
    }
    return say(program, Exit::kUsage,
               std::string(e.what()) + "; " + program.name + " --help lists the options");
  }
}

void heap_of_large_pages() {
  constexpr int kMiB = 1 << 20, kReserved = 256 * kMiB, kKept = 64 * kMiB;
  constexpr uintptr_t kLargePage = 2 * kMiB;
  mallopt(M_MMAP_THRESHOLD, 16 * kMiB);
  mallopt(M_TRIM_THRESHOLD, kKept);
  for (const auto limited : {RLIMIT_AS, RLIMIT_DATA}) {
    rlimit limit{};
    if (getrlimit(limited, &limit) != 0 || limit.rlim_cur != RLIM_INFINITY) return;
  }
  mallopt(M_ARENA_MAX, 1);  // further heaps grow by small steps, which get no large pages
  mallopt(M_TRIM_THRESHOLD, kReserved + kKept);
  mallopt(M_TOP_PAD, kReserved);
  const auto* const begin = static_cast<char*>(sbrk(0));
  void* volatile one = std::malloc(kMiB);  // grows the heap, by kReserved more
  std::free(one);
  mallopt(M_TOP_PAD, kMiB);
  auto* const end = static_cast<char*>(sbrk(0));
  const size_t grown = static_cast<size_t>(end - begin);
  const size_t behind = reinterpret_cast<uintptr_t>(end) % kLargePage;  // the last large page begins there
  // Advice: where it is not taken, pages are small.
  if (grown > behind + kLargePage) {
    const size_t advised = (grown - behind) / kLargePage * kLargePage;
    madvise(end - behind - advised, advised, MADV_HUGEPAGE);
  }
}

int run_program(const Program& program, const std::function<int()>& body) try {
  // A limit on the size of files (RLIMIT_FSIZE, some quotas) is an error of a write, not the end of the program.
  std::signal(SIGXFSZ, SIG_IGN);
  expect_memory_to_end(program.name);
  const int code = run_guarded(program, body);
  const std::optional<int> error = output_error();
  if (!error) return code;
  const std::string reason = *error ? std::string(": ") + std::strerror(*error) : std::string();
  say(program, code, "standard output cannot be written" + reason);
  return code == Exit::kOk ? program.output_failed : code;
} catch (const std::bad_alloc&) {  // of a sentence about another error
  return say_no_memory(program.name);
}

}  // namespace ttc::program
