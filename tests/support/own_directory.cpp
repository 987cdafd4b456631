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

#include "shm/segment.hpp"

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

std::vector<std::string> live_names_of_this_process() {
  std::vector<std::string> found;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator("/dev/shm", error)) {
    const std::string file = entry.path().filename();
    if (file.starts_with("ttcollect-") && names_this_process(file)) found.push_back(file.substr(10));
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
    // Those with a writer belong to static objects, which remove them later.
    for (const std::string& name : live_names_of_this_process())
      if (ttc::shm::remove_segment(name)) ADD_FAILURE() << "segment " << name << " was left behind";
  }

 private:
  std::string directory_;
};

const testing::Environment* const added = testing::AddGlobalTestEnvironment(new OwnDirectory);

}  // namespace
