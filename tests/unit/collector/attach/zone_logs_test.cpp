// Following the zone source logs of a workload, and finding them from the process.
#include "collector/attach/zone_logs.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <vector>

namespace ttc::collect {
namespace {

namespace fs = std::filesystem;

class ZoneLogsTest : public testing::Test {
 protected:
  void SetUp() override {
    directory = fs::path(testing::TempDir()) / ("zones-" + std::to_string(getpid()));
    fs::remove_all(directory);
    fs::create_directories(directory);
  }
  void TearDown() override { fs::remove_all(directory); }

  static std::string note(const std::string& name) { return name + ",/k/a.cpp,12,KERNEL_PROFILER"; }
  static std::string line(const std::string& name) {
    return "x.cpp:1:2: note: '#pragma message: " + note(name) + "'\n";
  }
  fs::path old_log() const { return directory / "zone_src_locations.log"; }
  fs::path new_log() const { return directory / "new_zone_src_locations.log"; }
  static void append(const fs::path& file, const std::string& text) {
    std::ofstream(file, std::ios::app | std::ios::binary) << text;
  }
  static std::vector<std::string> poll(ZoneLogs& logs) {
    std::vector<std::string> found;
    logs.poll([&](std::string_view n) { found.emplace_back(n); });
    return found;
  }
  static std::vector<std::string> remarks(std::initializer_list<const char*> names) {
    std::vector<std::string> list;
    for (const char* n : names) list.push_back(note(n));
    return list;
  }
  fs::path directory;
};
using Notes = std::vector<std::string>;

TEST_F(ZoneLogsTest, files_that_are_not_there_yet_are_no_trouble) {
  ZoneLogs logs(directory);
  EXPECT_EQ(poll(logs), Notes{});
  append(new_log(), line("A"));
  EXPECT_EQ(poll(logs), remarks({"A"}));
  ZoneLogs nowhere("");
  EXPECT_EQ(poll(nowhere), Notes{});
  ZoneLogs missing("/nonexistent/directory");
  EXPECT_EQ(poll(missing), Notes{});
}

TEST_F(ZoneLogsTest, a_growing_file_gives_each_new_note_once) {
  ZoneLogs logs(directory);
  append(old_log(), line("A") + line("B"));
  EXPECT_EQ(poll(logs), remarks({"A", "B"}));
  EXPECT_EQ(poll(logs), Notes{});
  append(old_log(), line("B") + "some other compiler output\n" + line("C"));
  EXPECT_EQ(poll(logs), remarks({"C"}));
  EXPECT_EQ(logs.zone_strings(), 3u);
}

TEST_F(ZoneLogsTest, a_line_written_in_pieces_is_one_line) {
  ZoneLogs logs(directory);
  const std::string text = line("PIECES");
  for (size_t i = 0; i + 1 < text.size(); ++i) {
    append(old_log(), text.substr(i, 1));
    ASSERT_EQ(poll(logs), Notes{}) << i;
  }
  append(old_log(), "\n" + line("NEXT").substr(0, 20));
  EXPECT_EQ(poll(logs), remarks({"PIECES"}));
  append(old_log(), line("NEXT").substr(20));
  EXPECT_EQ(poll(logs), remarks({"NEXT"}));
}

TEST_F(ZoneLogsTest, both_files_are_followed_and_their_partial_lines_kept_apart) {
  ZoneLogs logs(directory);
  append(old_log(), line("OLD").substr(0, 30));
  append(new_log(), line("NEW").substr(0, 35));
  EXPECT_EQ(poll(logs), Notes{});
  append(old_log(), line("OLD").substr(30));
  append(new_log(), line("NEW").substr(35) + line("OLD"));
  EXPECT_EQ(poll(logs), remarks({"OLD", "NEW"}));
}

TEST_F(ZoneLogsTest, a_truncated_file_is_read_from_its_start) {
  ZoneLogs logs(directory);
  append(old_log(), line("A") + line("B") + line("CUT").substr(0, 30));
  EXPECT_EQ(poll(logs), remarks({"A", "B"}));
  fs::resize_file(old_log(), 0);
  EXPECT_EQ(poll(logs), Notes{});
  append(old_log(), line("D"));
  EXPECT_EQ(poll(logs), remarks({"D"}));
}

TEST_F(ZoneLogsTest, a_replaced_file_is_read_from_its_start_also_when_it_is_longer) {
  ZoneLogs logs(directory);
  append(old_log(), line("A") + "partial");
  EXPECT_EQ(poll(logs), remarks({"A"}));
  const fs::path beside = directory / "beside";
  append(beside, line("B") + line("A") + line("C") + line("D"));
  fs::rename(beside, old_log());
  EXPECT_EQ(poll(logs), remarks({"B", "C", "D"}));
  fs::remove(old_log());
  EXPECT_EQ(poll(logs), Notes{});
}

TEST_F(ZoneLogsTest, text_without_line_ends_and_binary_text_are_survived_in_bounded_memory) {
  ZoneLogs logs(directory);
  for (int i = 0; i < 4; ++i) {
    append(old_log(), std::string(100 << 10, 'x'));
    EXPECT_EQ(poll(logs), Notes{});
  }
  append(old_log(),
         "\n" + std::string("\0\xff'#pragma message: \n", 21) + "'#pragma message: '\n" + line("AFTER"));
  EXPECT_EQ(poll(logs), remarks({"AFTER"}));
}

TEST_F(ZoneLogsTest, crlf_line_ends_do_not_get_into_the_note) {
  ZoneLogs logs(directory);
  std::string text = line("CRLF");
  text.insert(text.size() - 1, "\r");
  append(old_log(), text);
  EXPECT_EQ(poll(logs), remarks({"CRLF"}));
}

TEST_F(ZoneLogsTest, a_directory_in_place_of_a_file_is_no_trouble) {
  fs::create_directory(old_log());
  ZoneLogs logs(directory);
  EXPECT_EQ(poll(logs), Notes{});
  append(new_log(), line("A"));
  EXPECT_EQ(poll(logs), remarks({"A"}));
}

TEST_F(ZoneLogsTest, metal_home_is_searched_where_logs_can_be) {
  EXPECT_EQ(zone_log_directory_in(directory), (directory / "generated/profiler/.logs").string());
  append(new_log(), "");
  EXPECT_EQ(zone_log_directory_in(directory), directory.string());
  fs::create_directories(directory / ".logs");
  append(directory / ".logs/zone_src_locations.log", "");
  EXPECT_EQ(zone_log_directory_in(directory), (directory / ".logs").string());
  fs::create_directories(directory / "generated/profiler/.logs");
  append(directory / "generated/profiler/.logs/new_zone_src_locations.log", "");
  EXPECT_EQ(zone_log_directory_in(directory), (directory / "generated/profiler/.logs").string());
}

// A process with these variables and this directory, which runs until the object is destroyed.
class Workload {
 public:
  Workload(const std::string& directory, std::vector<std::string> environment) {
    int in[2], started[2];
    EXPECT_EQ(pipe(in), 0);
    EXPECT_EQ(pipe2(started, O_CLOEXEC), 0);
    std::vector<char*> env;
    for (auto& e : environment) env.push_back(e.data());
    env.push_back(nullptr);
    char name[] = "/bin/cat";
    char* args[] = {name, nullptr};
    pid_ = fork();
    if (pid_ == 0) {
      dup2(in[0], 0);
      close(in[1]);
      if (chdir(directory.c_str()) == 0) execve(name, args, env.data());
      _exit(1);
    }
    close(in[0]);
    close(started[1]);
    input_ = in[1];
    char c;
    EXPECT_EQ(read(started[0], &c, 1), 0);  // closed by the exec
    close(started[0]);
  }
  Workload(const Workload&) = delete;
  ~Workload() {
    close(input_);
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  int pid() const { return pid_; }

 private:
  pid_t pid_ = 0;
  int input_ = -1;
};

TEST_F(ZoneLogsTest, the_directory_comes_from_the_processs_own_variables) {
  struct Case {
    std::vector<std::string> environment;
    std::string expected;  // behind /proc/PID
  };
  const std::string at = directory;
  const Case cases[] = {
      {{"TT_METAL_PROFILER_DIR=" + at + "/p", "TT_METAL_HOME=/other"}, "/root" + at + "/p/.logs"},
      {{"A=B", "TT_METAL_HOME=" + at}, "/root" + at + "/generated/profiler/.logs"},
      {{"TT_METAL_PROFILER_DIR=", "TT_METAL_HOME=" + at}, "/root" + at + "/generated/profiler/.logs"},
      {{"TT_METAL_PROFILER_DIR=rel/ative"}, "/cwd/rel/ative/.logs"},
      {{"TT_METAL_HOME=home"}, "/cwd/home/generated/profiler/.logs"},
      {{"A=B"}, "/cwd/generated/profiler/.logs"},
      {{"NOEQUALS", "=odd", "XTT_METAL_HOME=/wrong"}, "/cwd/generated/profiler/.logs"},
      {{}, "/cwd/generated/profiler/.logs"},
  };
  for (const Case& c : cases) {
    const Workload workload(at, c.environment);
    EXPECT_EQ(zone_log_directory_of(workload.pid()), "/proc/" + std::to_string(workload.pid()) + c.expected);
  }
}

TEST_F(ZoneLogsTest, the_logs_of_a_process_are_found_through_its_directory) {
  fs::create_directories(directory / "generated/profiler/.logs");
  append(directory / "generated/profiler/.logs/zone_src_locations.log", line("FOUND"));
  const Workload workload(directory, {});
  ZoneLogs logs(zone_log_directory_of(workload.pid()));
  EXPECT_EQ(poll(logs), remarks({"FOUND"}));
}

TEST_F(ZoneLogsTest, a_process_that_is_not_there_has_no_directory) {
  EXPECT_EQ(zone_log_directory_of(0), "");
  EXPECT_EQ(zone_log_directory_of(-1), "");
  EXPECT_EQ(zone_log_directory_of(0x7fffffff), "");
}

// A process that is gone, or another user's.
TEST_F(ZoneLogsTest, a_process_that_is_not_ours_to_look_at_has_no_directory) {
  if (getuid() != 0) GTEST_SKIP() << "needs root to become another user";
  const Workload workload(directory, {"TT_METAL_HOME=/home/user"});
  const pid_t pid = fork();
  if (pid == 0) {
    if (setresgid(65534, 65534, 65534) != 0 || setresuid(65534, 65534, 65534) != 0) _exit(2);
    _exit(zone_log_directory_of(workload.pid()).empty() ? 0 : 1);
  }
  int status = 0;
  waitpid(pid, &status, 0);
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

}  // namespace
}  // namespace ttc::collect
