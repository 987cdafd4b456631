#include "collector/run/request/python_words.hpp"

#include <gtest/gtest.h>

namespace {

using namespace ttc::collect;

// The whole line was given to python3 as the name of a script.
TEST(PythonWords, a_quoted_line_that_ends_as_a_script_is_for_the_shell) {
  RunRequest request;
  for (const char* line : {"python3 model.py", "pytest tests/test_model.py", "FAST=1 ./model.py"}) {
    request.command = {line};
    EXPECT_EQ(python_words(request, true).command, request.command) << line;
  }
}

TEST(PythonWords, a_script_alone_is_run_by_python) {
  RunRequest request;
  request.command = {"model.py", "x"};
  const auto words = python_words(request, true).command;
  ASSERT_GE(words.size(), 3u);
  EXPECT_EQ(words[0], "python3");
  EXPECT_EQ(words[words.size() - 2], "model.py");
}

}  // namespace
