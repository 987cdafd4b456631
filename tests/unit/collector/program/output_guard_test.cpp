// An output that is an input under any name is refused, and nothing happens to it.
#include "collector/program/output_guard.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "collector/program/program.hpp"

namespace ttc::program {
namespace {

namespace fs = std::filesystem;

class OutputGuard : public testing::Test {
 protected:
  OutputGuard() : folder_(testing::TempDir() + "output_guard_" + std::to_string(getpid())) {
    fs::create_directory(folder_);
    write("input");
    write("other");
  }
  ~OutputGuard() override { fs::remove_all(folder_); }

  std::string path(const std::string& name) const { return folder_ / name; }
  void write(const std::string& name) const { std::ofstream(path(name)) << "content of " << name; }
  std::string content(const std::string& name) const {
    std::ifstream in(path(name));
    return {std::istreambuf_iterator<char>(in), {}};
  }
  // The message; empty if nothing was refused.
  static std::string refusal(const std::string& output, const std::vector<std::string>& inputs) {
    try {
      refuse_output_over_input(output, inputs);
      return {};
    } catch (const UsageError& e) {
      return e.what();
    }
  }

  const fs::path folder_;
};

TEST_F(OutputGuard, the_input_itself_is_refused) {
  EXPECT_EQ(refusal(path("input"), {path("other"), path("input")}),
            "output " + path("input") + " is the input; give another output");
  EXPECT_EQ(content("input"), "content of input");
}

TEST_F(OutputGuard, another_spelling_of_the_input_is_refused) {
  EXPECT_NE(refusal(path("./../" + folder_.filename().string() + "/input"), {path("input")}), "");
}

TEST_F(OutputGuard, a_symbolic_link_to_the_input_is_refused) {
  fs::create_symlink("input", path("link"));
  EXPECT_EQ(refusal(path("link"), {path("input")}),
            "output " + path("link") + " is the input " + path("input") + "; give another output");
  EXPECT_NE(refusal(path("input"), {path("link")}), "");
}

TEST_F(OutputGuard, a_hard_link_to_the_input_is_refused) {
  fs::create_hard_link(path("input"), path("second"));
  EXPECT_NE(refusal(path("second"), {path("input")}), "");
}

TEST_F(OutputGuard, a_file_below_a_directory_that_is_read_is_refused) {
  fs::create_directories(path("memory/epoch0000"));
  write("memory/epoch0000/dram");
  fs::create_hard_link(path("memory/epoch0000/dram"), path("outside"));
  EXPECT_NE(refusal(path("memory/epoch0000/dram"), {path("memory")}), "");
  EXPECT_NE(refusal(path("outside"), {path("memory")}), "");
  EXPECT_EQ(refusal(path("memory/new"), {path("memory")}), "");
}

TEST_F(OutputGuard, standard_output_that_is_the_input_is_refused) {
  const int kept = dup(STDOUT_FILENO);
  ASSERT_NE(freopen(path("input").c_str(), "a", stdout), nullptr);
  const std::string said = refusal("-", {path("input")}), other = refusal("-", {path("other")});
  ASSERT_EQ(dup2(kept, STDOUT_FILENO), STDOUT_FILENO);
  close(kept);
  EXPECT_EQ(said, "standard output is the input " + path("input") + "; give another output");
  EXPECT_EQ(other, "");
}

TEST_F(OutputGuard, other_files_new_files_devices_and_no_output_pass) {
  EXPECT_EQ(refusal(path("other"), {path("input")}), "");
  EXPECT_EQ(refusal(path("new"), {path("input"), path("missing"), "live:emu-x"}), "");
  EXPECT_EQ(refusal("/dev/null", {"/dev/null"}), "");
  EXPECT_EQ(refusal("", {path("input")}), "");
  EXPECT_EQ(refusal(path("input"), {}), "");
}

}  // namespace
}  // namespace ttc::program
