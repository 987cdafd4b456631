#include "collector/run/recording.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <memory>

namespace {

using namespace ttc;
using namespace ttc::collect;

shm::SegmentOptions small() {
  shm::SegmentOptions options;
  options.ring_bytes = 256u << 10;
  options.standing_bytes = 4096;
  options.loss_records = 16;
  return options;
}

// Numbers of processes come back: a segment that an earlier process of our collector's number left was taken for the
// collector's own, and its host side was reported as the workload's.
TEST(Recording, segments_that_were_there_before_are_of_others_whatever_their_process) {
  const std::string name = "recording-" + std::to_string(getpid());
  auto earlier = std::make_unique<shm::SegmentWriter>(name + "-earlier", "host", 11, small());
  Recording recording((std::filesystem::temp_directory_path() / (name + ".ttc")).string());
  recording.ignore_present();
  EXPECT_EQ(recording.follow(getpid()), 0u);
  {
    shm::SegmentWriter own(name + "-own", "host", 12, small());
    EXPECT_EQ(recording.follow(getpid()), 1u);
    EXPECT_EQ(recording.follow(getpid()), 1u);
    own.end();
  }
  EXPECT_EQ(recording.finish(), "");
  recording.remove_segments();
  for (const shm::SegmentInfo& left : shm::list_segments()) EXPECT_NE(left.live_name, name + "-own");
  earlier.reset();
  shm::remove_segment(name + "-earlier");
  std::filesystem::remove(recording.path());
}

TEST(Recording, no_segment_no_file) {
  Recording recording("/nowhere/run.ttc");
  EXPECT_EQ(recording.follow(0), 0u);  // no process has this number; other tests have segments of ours
  EXPECT_EQ(recording.finish(), "");
}

}  // namespace
