// One process at a time holds the folder of an experiment, and none holds it longer than it lives.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <optional>
#include <string>

#include "tools/ttdelay/run/folder.hpp"

namespace {

using namespace ttc::delay;

// A process that has the folder, and a child of its own that has all its files open.
struct HoldingProcess {
  explicit HoldingProcess(const std::string& path) {
    int ends[2];
    EXPECT_EQ(pipe(ends), 0);
    holder = fork();
    if (holder == 0) {
      Experiment experiment = some_experiment();
      const ExperimentFolder folder(path, experiment);
      const pid_t forked = fork();
      if (forked != 0 && write(ends[1], &forked, sizeof forked) != sizeof forked) _exit(1);
      for (;;) pause();
    }
    close(ends[1]);
    EXPECT_EQ(read(ends[0], &child, sizeof child), static_cast<ssize_t>(sizeof child));
    close(ends[0]);
  }
  ~HoldingProcess() {
    kill_holder();
    if (child > 0) kill(child, SIGKILL);
  }
  void kill_holder() {
    if (holder <= 0) return;
    kill(holder, SIGKILL);
    waitpid(holder, nullptr, 0);
    holder = -1;
  }
  static Experiment some_experiment() {
    return read_experiment(
        "command = [\"x\"]\n[vary]\nkinds = [\"write\"]\ncores = [\"(0,0)-(1,0)\"]\ncycles = [9]\n", "p");
  }
  pid_t holder = -1, child = -1;
};

TEST(ExperimentFolder, of_a_process_that_was_killed_is_free_though_a_child_of_it_lives) {
  const std::string path = std::filesystem::temp_directory_path() / "held";
  HoldingProcess process(path);
  ASSERT_GT(process.child, 0);
  Experiment experiment = HoldingProcess::some_experiment();
  EXPECT_THROW(ExperimentFolder(path, experiment), FolderError);
  process.kill_holder();
  EXPECT_NO_THROW(ExperimentFolder(path, experiment));
}

}  // namespace
