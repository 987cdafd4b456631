// What the main function of every program does with errors and with standard output.
#include "collector/program/program.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <new>
#include <system_error>

namespace ttc::program {
namespace {

constexpr Program kProgram{"ttprogram", 6};

struct Outcome {
  int code;
  std::string said;
};
Outcome outcome_of(const std::function<int()>& body) {
  testing::internal::CaptureStderr();
  const int code = run_program(kProgram, body);
  return {code, testing::internal::GetCapturedStderr()};
}

TEST(RunProgram, the_bodys_code_is_the_programs_and_nothing_is_said) {
  for (const int code : {0, 1, 4}) {
    const Outcome outcome = outcome_of([&] { return code; });
    EXPECT_EQ(outcome.code, code);
    EXPECT_EQ(outcome.said, "");
  }
}

TEST(RunProgram, what_is_thrown_becomes_one_sentence_and_a_documented_code) {
  const Outcome usage = outcome_of([]() -> int { throw UsageError("the output is the input"); });
  EXPECT_EQ(usage.code, Exit::kUsage);
  EXPECT_EQ(usage.said, "ttprogram: the output is the input\n");
  const Outcome option = outcome_of([]() -> int { throw CLI::ValidationError("--for", "no unit"); });
  EXPECT_EQ(option.code, Exit::kUsage);
  EXPECT_EQ(option.said, "ttprogram: --for: no unit\n");
  const Outcome memory = outcome_of([]() -> int { throw std::bad_alloc(); });
  EXPECT_EQ(memory.code, Exit::kFailed);
  EXPECT_EQ(memory.said, "ttprogram: there is not enough memory\n");
  const Outcome system =
      outcome_of([]() -> int { throw std::system_error(EACCES, std::generic_category(), "thread"); });
  EXPECT_EQ(system.code, Exit::kFailed);
  EXPECT_EQ(system.said, "ttprogram: thread: Permission denied\n");
  const Outcome file = outcome_of([]() -> int {
    return std::filesystem::is_directory(std::string(5000, 'a')) ? 0 : 0;  // a name that is too long
  });
  EXPECT_EQ(file.code, Exit::kFailed);
  EXPECT_EQ(file.said, "ttprogram: " + std::string(5000, 'a') + " cannot be read: File name too long\n");
  const Outcome thread =
      outcome_of([]() -> int { throw std::system_error(EAGAIN, std::generic_category()); });
  EXPECT_EQ(thread.code, Exit::kFailed);
  EXPECT_EQ(thread.said.find("ttprogram: a thread cannot be started: "), 0u) << thread.said;
  const Outcome number = outcome_of([]() -> int { throw 5; });
  EXPECT_EQ(number.code, Exit::kFailed);
  EXPECT_NE(number.said.find("ttprogram: "), std::string::npos);
}

TEST(RunProgram, a_thrown_sentence_is_shown_printable) {
  EXPECT_EQ(outcome_of([]() -> int { throw std::runtime_error("name \x1b[2J"); }).said,
            "ttprogram: name \\x1b[2J\n");
}

TEST(Say, one_sentence_is_one_line_whatever_it_holds) {
  testing::internal::CaptureStderr();
  EXPECT_EQ(say(kProgram, 4, "zone a\nttprogram: b"), 4);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "ttprogram: zone a\\x0attprogram: b\n");
}

TEST(Say, lines_stay_lines_and_the_rest_is_printable) {
  testing::internal::CaptureStderr();
  say_lines(kProgram, "one\n  two\x1b");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "ttprogram: one\n  two\\x1b\n");
}

// In a process of its own, because an error of standard output stays.
[[noreturn]] void run_on_full_output(int code) {
  if (!std::freopen("/dev/full", "w", stdout)) std::_Exit(100);
  std::_Exit(run_program(kProgram, [&] {
    std::fputs("text", stdout);
    return code;
  }));
}

template <typename Error>
[[gnu::noinline]] void fail_with(const Error& error) {
  throw error;
}
template <typename Error>
int where_nothing_can_catch(const Error& error) noexcept {  // a destructor, or the last words of a thread
  fail_with(error);
  return 0;
}

int where_no_handler_is_entered() {  // as in noexcept functions of libstdc++ 12
  struct Ends {
    ~Ends() { std::terminate(); }
  } ends;
  std::get_new_handler()();  // what operator new does without memory
  return 0;
}

TEST(RunProgramDeathTest, memory_that_ends_where_nothing_can_catch_it_is_a_sentence_and_a_code) {
  EXPECT_EXIT(run_program(kProgram, [] { return where_nothing_can_catch(std::bad_alloc()); }),
              testing::ExitedWithCode(Exit::kFailed), "ttprogram: there is not enough memory");
  EXPECT_EXIT(run_program(kProgram, [] { return where_no_handler_is_entered(); }),
              testing::ExitedWithCode(Exit::kFailed), "ttprogram: there is not enough memory");
  EXPECT_DEATH(run_program(kProgram, [] { return where_nothing_can_catch(std::runtime_error("a mistake")); }),
               "a mistake");
}

TEST(RunProgramDeathTest, an_output_that_cannot_be_written_is_no_success) {
  EXPECT_EXIT(run_on_full_output(Exit::kOk), testing::ExitedWithCode(6),
              "ttprogram: standard output cannot be written: No space left on device");
}

TEST(RunProgramDeathTest, an_earlier_error_keeps_its_code) {
  EXPECT_EXIT(run_on_full_output(4), testing::ExitedWithCode(4), "standard output cannot be written");
}

TEST(RunProgramDeathTest, an_error_before_the_last_flush_is_seen) {
  EXPECT_EXIT(
      {
        if (!std::freopen("/dev/full", "w", stdout)) std::_Exit(100);
        std::_Exit(run_program(kProgram, [] {
          std::fputs("text", stdout);
          std::fflush(stdout);
          return 0;
        }));
      },
      testing::ExitedWithCode(6), "ttprogram: standard output cannot be written");
}

TEST(RunProgramDeathTest, a_closed_output_that_nothing_was_written_to_is_no_error) {
  EXPECT_EXIT(
      {
        close(STDOUT_FILENO);
        std::_Exit(run_program(kProgram, [] { return 0; }));
      },
      testing::ExitedWithCode(0), "^$");
}

TEST(ParseCommandLine, wrong_options_are_one_sentence_and_help_is_no_error) {
  CLI::App app("A program.", "ttprogram");
  app.add_flag("--known");
  const auto parse = [&](const char* option) {
    std::string name = "ttprogram", text = option;
    char* argv[] = {name.data(), text.data(), nullptr};
    return parse_command_line(kProgram, app, 2, argv);
  };
  EXPECT_EQ(parse("--known"), std::nullopt);
  testing::internal::CaptureStderr();
  EXPECT_EQ(parse("--unknown"), Exit::kUsage);
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_NE(said.find("ttprogram: "), std::string::npos) << said;
  EXPECT_NE(said.find("--unknown"), std::string::npos) << said;
  EXPECT_EQ(said.find('\n'), said.size() - 1) << said;
  testing::internal::CaptureStdout();
  EXPECT_EQ(parse("--help"), Exit::kOk);
  EXPECT_NE(testing::internal::GetCapturedStdout().find("--known"), std::string::npos);
}

}  // namespace
}  // namespace ttc::program
