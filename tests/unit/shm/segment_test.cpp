// Who may create a segment, under which name, with which mode and of which size.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <string>
#include <utility>
#include <vector>

#include "shm/reader.hpp"
#include "tests/unit/shm/segment_fixture.hpp"

namespace ttc::shm::segment_test {
namespace {

TEST(Segment, a_second_writer_is_refused_and_the_first_goes_on) {
  const Name name("second");
  SegmentWriter writer(name, "emu:card", 1, small());
  Reader reader(name.text(), StartAt::oldest);
  const std::string why = error_of([&] { SegmentWriter second(name, "emu:card", 2, small()); });
  EXPECT_NE(why.find("pid " + std::to_string(getpid())), std::string::npos) << why;
  EXPECT_NE(why.find(name.text()), std::string::npos) << why;
  EXPECT_EQ(why.find('\n'), std::string::npos);
  publish(writer.ring(), 0);
  std::vector<uint64_t> chunk;
  EXPECT_EQ(reader.next(chunk, 0), Next::chunk);
  EXPECT_TRUE(reader.writer_alive());
}

TEST(Segment, its_mode_is_what_was_asked_whatever_the_umask) {
  const Name name("mode");
  const mode_t before = umask(0077);
  SegmentOptions options = small();
  for (const unsigned mode : {0640u, 0600u, 0644u}) {
    options.mode = mode;
    SegmentWriter writer(name, "emu:card", 1, options);
    struct stat status {};
    EXPECT_EQ(stat(name.path().c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 07777, mode);
  }
  umask(before);
  EXPECT_EQ(SegmentOptions{}.mode, 0640u);
}

TEST(Segment, an_unknown_group_is_a_sentence_and_leaves_nothing) {
  const Name name("group");
  SegmentOptions options = small();
  options.group = "no-such-group-here";
  const std::string why = error_of([&] { SegmentWriter writer(name, "emu:card", 1, options); });
  EXPECT_NE(why.find("no-such-group-here"), std::string::npos) << why;
  EXPECT_FALSE(name.exists());
}

TEST(Segment, bad_live_names_are_refused) {
  const std::string prefix = "test-" + std::to_string(getpid()) + "-";
  for (const std::string& bad : {std::string(), prefix + std::string(61 - prefix.size(), 'n'), prefix + "a/b",
                                 "../" + prefix, std::string(5000, 'x')})
    EXPECT_FALSE(error_of([&] { SegmentWriter writer(bad, "emu:card", 1, small()); }).empty()) << bad;
  for (const std::string& bad :
       {std::string("a/b"), std::string("../../etc/passwd"), std::string(5000, 'x')}) {
    EXPECT_FALSE(error_of([&] { Reader reader(bad, StartAt::oldest); }).empty()) << bad;
    EXPECT_FALSE(remove_segment(bad));
  }
}

TEST(Segment, the_longest_live_name_and_any_device_spec_fit) {
  const std::string prefix = "test-" + std::to_string(getpid()) + "-";
  const Name name(std::string(60 - prefix.size(), 'n'));
  crash_after(name, 1);  // remains have a longer name still
  SegmentWriter writer(name, std::string(200, 'd'), 1, small());
  const Reader reader(name.text(), StartAt::oldest);
  EXPECT_EQ(reader.info().live_name, name.text());
  EXPECT_EQ(reader.info().device_spec, std::string(63, 'd'));
  EXPECT_TRUE(name.remains_exist());
}

// Twice what /dev/shm has altogether, so that nothing is reserved on the way to the refusal.
uint64_t too_large() {
  struct statvfs shm {};
  if (statvfs("/dev/shm", &shm) != 0 || shm.f_blocks == 0) return 0;
  return uint64_t{shm.f_blocks} * shm.f_frsize * 2;
}

TEST(Segment, a_ring_larger_than_dev_shm_is_one_sentence_and_leaves_nothing) {
  const Name name("large");
  SegmentOptions options = small();
  options.ring_bytes = too_large();
  if (options.ring_bytes == 0) GTEST_SKIP() << "/dev/shm has no size";
  const std::string why = error_of([&] { SegmentWriter writer(name, "emu:card", 1, options); });
  EXPECT_NE(why.find("/dev/shm"), std::string::npos) << why;
  EXPECT_NE(why.find("--ring"), std::string::npos) << why;
  EXPECT_EQ(why.find('\n'), std::string::npos);
  EXPECT_FALSE(name.exists());
  EXPECT_NO_THROW(SegmentWriter(name, "emu:card", 1, small()).end());
}

// DESIGN, promise 6: what a crash left is still there to be exported. A wrong --ring must not cost it.
TEST(Segment, crash_remains_survive_a_start_that_fails_for_lack_of_room) {
  const Name name("sacrificed");
  SegmentOptions options = small();
  options.ring_bytes = too_large();
  if (options.ring_bytes == 0) GTEST_SKIP() << "/dev/shm has no size";
  crash_after(name, 3);
  EXPECT_FALSE(error_of([&] { SegmentWriter writer(name, "emu:card", 1, options); }).empty());
  EXPECT_TRUE(name.exists() || name.remains_exist());
}

TEST(Segment, the_ring_is_rounded_up_to_a_power_of_two) {
  const Name name("round");
  SegmentOptions options = small();
  for (const auto& [asked, got] :
       {std::pair<uint64_t, uint64_t>{0, 65536}, {65537, 131072}, {200000, 262144}}) {
    options.ring_bytes = asked;
    SegmentWriter writer(name, "emu:card", 1, options);
    EXPECT_EQ(writer.ring().capacity(), got);
    EXPECT_EQ(writer.session(), 1u);
  }
}

}  // namespace
}  // namespace ttc::shm::segment_test
