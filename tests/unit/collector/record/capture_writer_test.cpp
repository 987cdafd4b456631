// One file from several rings: whole, by session, and going on when one of them ends or comes later.
#include "collector/record/capture_writer.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "collector/publish/publisher.hpp"
#include "ttcollect/capture_reader.hpp"

namespace ttc::collect {
namespace {

// A segment with its publisher; named after this process, removed at the end.
class Ring {
 public:
  Ring(const std::string& name, uint64_t session, uint32_t chip)
      : name_("test-capture-" + std::to_string(getpid()) + "-" + name) {
    shm::SegmentOptions options;
    options.ring_bytes = 256 << 10;
    options.standing_bytes = 64 << 10;
    segment_ = std::make_unique<shm::SegmentWriter>(name_, "emu:" + name, session, options);
    publisher_ = std::make_unique<Publisher>(*segment_, chip, uint8_t{4});
    segment_->add_standing(shm::ChunkKind::session, "{}");
  }
  ~Ring() {
    segment_.reset();
    shm::remove_segment(name_);
  }
  const std::string& name() const { return name_; }
  void publish(uint64_t id) {
    shm::LossRecord record;
    record.id = id;
    publisher_->publish_loss(record);
    publisher_->end_sweep();
  }
  void end() {
    publisher_->publish_end("done");
    segment_->end();
  }

 private:
  std::string name_;
  std::unique_ptr<shm::SegmentWriter> segment_;
  std::unique_ptr<Publisher> publisher_;
};

struct Seen {
  std::vector<uint64_t> sequences;  // of the ring's chunks
  std::vector<uint32_t> chips;
  size_t sessions = 0, ends = 0;
};

std::map<uint64_t, Seen> read_back(const std::string& path) {
  std::map<uint64_t, Seen> seen;
  CaptureReader reader(path);
  for (std::vector<uint64_t> chunk; reader.next(chunk);) {
    const shm::ChunkHeader& h = shm::header_of(chunk);
    Seen& s = seen[h.session];
    s.ends += h.kind == shm::ChunkKind::end;
    if (h.kind == shm::ChunkKind::session) {
      EXPECT_TRUE(s.sequences.empty()) << "the session comes first";
      ++s.sessions;
      continue;
    }
    if (h.flags & shm::kStanding) continue;  // the ring's are counted
    s.sequences.push_back(h.sequence);
    s.chips.push_back(h.device);
  }
  EXPECT_FALSE(reader.cut());
  EXPECT_EQ(reader.damage(), "");
  return seen;
}

class CaptureOfSeveral : public testing::TestWithParam<bool> {
 protected:
  ~CaptureOfSeveral() override { std::remove(path_.c_str()); }
  CaptureOptions options() const {
    CaptureOptions o;
    o.path = path_;
    o.plain = GetParam();
    return o;
  }
  const std::string path_ = testing::TempDir() + "capture-" + std::to_string(getpid()) + ".ttc";
};

void expect_whole(const Seen& s, size_t chunks, uint32_t chip) {
  EXPECT_EQ(s.sessions, 1u);
  EXPECT_EQ(s.ends, 1u);
  ASSERT_EQ(s.sequences.size(), chunks + 1);
  for (size_t i = 0; i < s.sequences.size(); ++i) {
    EXPECT_EQ(s.sequences[i], i);
    EXPECT_EQ(s.chips[i], chip);
  }
}

TEST_P(CaptureOfSeveral, every_chunk_of_every_ring_is_there_in_its_order) {
  Ring a("a", 11, 0), b("b", 22, 1);
  CaptureWriter capture(options(), 11);
  const auto& track_a = capture.add(a.name());
  const auto& track_b = capture.add(b.name());
  for (uint64_t i = 0; i < 500; ++i) {
    a.publish(i);
    if (i % 3 == 0) b.publish(i);
  }
  a.end();  // one ends while the other continues
  for (uint64_t i = 0; i < 100; ++i) b.publish(1000 + i);
  b.end();
  capture.finish();
  EXPECT_EQ(capture.error(), "");
  EXPECT_EQ(track_a.error() + track_b.error(), "");
  EXPECT_EQ(track_a.lapped_bytes() + track_b.lapped_bytes(), 0u);
  auto seen = read_back(path_);
  EXPECT_EQ(seen.size(), 2u);
  expect_whole(seen[11], 500, 0);
  expect_whole(seen[22], 167 + 100, 1);
  // What was in the table of losses when the capture began may count twice.
  constexpr uint64_t kEach = sizeof(shm::ChunkHeader) + sizeof(shm::LossRecord);
  EXPECT_GE(track_a.bytes(), 500 * kEach);
  EXPECT_GE(track_b.bytes(), (167 + 100) * kEach);
}

TEST_P(CaptureOfSeveral, one_that_comes_after_the_first_has_ended_is_taken) {
  Ring a("a", 11, 0);
  CaptureWriter capture(options(), 11);
  capture.add(a.name());
  a.publish(1);
  a.end();
  Ring b("b", 22, 1);
  capture.add(b.name());
  b.publish(1);
  b.publish(2);
  b.end();
  capture.finish();
  auto seen = read_back(path_);
  expect_whole(seen[11], 1, 0);
  expect_whole(seen[22], 2, 1);
}

TEST_P(CaptureOfSeveral, a_ring_that_is_not_there_is_refused_and_the_others_go_on) {
  Ring a("a", 11, 0);
  CaptureWriter capture(options(), 11);
  capture.add(a.name());
  EXPECT_THROW(capture.add("test-capture-absent"), shm::SegmentError);
  a.publish(1);
  a.end();
  capture.finish();
  expect_whole(read_back(path_)[11], 1, 0);
}

TEST_P(CaptureOfSeveral, without_any_ring_it_is_a_file_without_chunks) {
  CaptureWriter capture(options(), 11);
  capture.finish();
  EXPECT_EQ(capture.error(), "");
  EXPECT_TRUE(read_back(path_).empty());
}

INSTANTIATE_TEST_SUITE_P(Backends, CaptureOfSeveral, testing::Bool(),
                         [](const auto& which) { return which.param ? "plain" : "io_uring"; });

}  // namespace
}  // namespace ttc::collect
