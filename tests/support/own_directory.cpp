// Linked to every executable of unit tests. Temporary files go to a directory of the process, which is
// removed at the end; a segment that a test left in /dev/shm is removed, too, and fails the run.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

namespace {

namespace fs = std::filesystem;

// Live names of tests hold the process number between dashes: ttcollect-test-losses-4711.
bool names_this_process(const std::string& file) {
  const std::string pid = std::to_string(getpid());
  for (size_t at = 0; at < file.size();) {
    const size_t end = std::min(file.find_first_of("-.", at), file.size());
    if (file.compare(at, end - at, pid) == 0) return true;
    at = end + 1;
  }
  return false;
}

std::vector<fs::path> segments_of_this_process() {
  std::vector<fs::path> found;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator("/dev/shm", error)) {
    const std::string file = entry.path().filename();
    if (file.starts_with("ttcollect-") && names_this_process(file)) found.push_back(entry.path());
  }
  return found;
}

class OwnDirectory : public testing::Environment {
 public:
  void SetUp() override {
    std::string pattern = fs::temp_directory_path() / "ttc-unit-XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr) << pattern;
    directory_ = pattern;
    fs::permissions(directory_, fs::perms(0755));  // tests that act as another user read in it
    setenv("TMPDIR", directory_.c_str(), 1);       // std::filesystem::temp_directory_path()
    setenv("TEST_TMPDIR", directory_.c_str(), 1);  // testing::TempDir()
  }
  void TearDown() override {
    std::error_code error;
    if (!directory_.empty()) fs::remove_all(directory_, error);
    for (const fs::path& left : segments_of_this_process()) {
      ADD_FAILURE() << left << " was left behind";
      fs::remove(left, error);
    }
  }

 private:
  std::string directory_;
};

const testing::Environment* const added = testing::AddGlobalTestEnvironment(new OwnDirectory);

}  // namespace
