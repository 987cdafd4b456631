// Recordings of a ring that this test fills itself: when they are made, what is in them, how often.
#include "collector/record/flight_recorder.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <thread>

#include "collector/publish/publisher.hpp"
#include "tests/support/capture_blocks.hpp"
#include "ttcollect/capture_reader.hpp"

namespace ttc::collect {
namespace {

constexpr uint64_t kHour = 3'600'000'000'000, kSecond = 1'000'000'000;

class Flight : public testing::Test {
 protected:
  Flight() {
    shm::SegmentOptions o;
    o.ring_bytes = 1 << 20;
    segment_ = std::make_unique<shm::SegmentWriter>(name_, "emu:" + name_, 77, o);
    publisher_ = std::make_unique<Publisher>(*segment_, 0, uint8_t{4});
    segment_->add_standing(shm::ChunkKind::session, "{}");
    options_.bytes = 512 << 10;
    options_.every_ns = kHour;
    options_.path = base_ + ".ttc";
    options_.clock = [this] { return now_ns_++; };
  }
  ~Flight() override {
    for (const FlightRecording& r : reported_) std::remove(r.file.path.c_str());
    segment_.reset();
    shm::remove_segment(name_);
  }

  void start(const char* trigger, int pid = 0) {
    ASSERT_EQ(add_trigger(trigger, options_.rules), "");
    recorder_ = std::make_unique<FlightRecorder>(options_, [this](const FlightRecording& r) {
      reported_.push_back(r);
      ++recorded_;
    });
    recorder_->add(name_, pid);
  }
  // Words of one launch that were read so long ago.
  void publish_words(uint64_t before_ns, uint32_t host_id = 7) {
    std::vector<uint32_t> words;
    uint64_t time = 1000;
    std::mt19937_64 dice(1);
    append_frame(words, 0, host_id, time, 1, dice);
    const Chunk chunk = words_chunk(1, 2, sequence_++, {{3, offset_, words}}, now_ns_ - before_ns);
    offset_ += static_cast<uint32_t>(words.size());
    uint64_t* at = segment_->ring().claim(chunk.size() * 8);
    for (size_t i = 0; i < chunk.size(); ++i) shm::store_word(at + i, chunk[i]);
    segment_->ring().publish(reinterpret_cast<const shm::ChunkHeader*>(chunk.data())->bytes);
  }
  void publish_loss() {
    publisher_->publish_loss({});
    publisher_->end_sweep();
  }
  // No condition of a test: where it never comes true the test runs into ctest's limit.
  void await_recordings(unsigned count) const {
    while (recorded_ < count) std::this_thread::yield();
  }
  void end() {
    publisher_->publish_end("stopped by a signal");
    segment_->end();
    recorder_->finish();
  }
  static size_t words_in(const std::string& path) {
    CaptureReader reader(path);
    size_t count = 0;
    for (Chunk chunk; reader.next(chunk);)
      count += shm::header_of(chunk).kind == shm::ChunkKind::device_words;
    EXPECT_FALSE(reader.cut());
    return count;
  }

  std::atomic<uint64_t> now_ns_{10 * kHour};  // since the machine was started; advances at each call
  const std::string name_ = "test-flight-" + std::to_string(getpid());
  const std::string base_ = testing::TempDir() + name_;
  std::unique_ptr<shm::SegmentWriter> segment_;
  std::unique_ptr<Publisher> publisher_;
  FlightOptions options_;
  std::unique_ptr<FlightRecorder> recorder_;
  std::vector<FlightRecording> reported_;  // the recorder's thread's until finish()
  std::atomic<unsigned> recorded_{0};
  uint64_t sequence_ = 0;
  uint32_t offset_ = 0;
};

TEST_F(Flight, nothing_is_written_until_something_happens) {
  start("loss");
  publish_words(0);
  end();
  EXPECT_TRUE(reported_.empty());
  EXPECT_NE(access((base_ + ".0001.ttc").c_str(), F_OK), 0);
}

TEST_F(Flight, a_loss_is_recorded_at_once_and_the_next_is_held_back) {
  start("loss");
  publish_words(0);
  publish_loss();
  await_recordings(1);
  publish_loss();
  end();
  ASSERT_EQ(reported_.size(), 1u);
  EXPECT_EQ(reported_[0].error, "");
  EXPECT_EQ(reported_[0].file.path, base_ + ".0001.ttc");
  EXPECT_EQ(reported_[0].why, "loss: dropped on card on 0-0 RISC 0");
  EXPECT_EQ(words_in(reported_[0].file.path), 1u);
  EXPECT_EQ(recorder_->held_back(), 1u);
}

// A service that was started again wrote over the recordings of the run before.
TEST_F(Flight, recordings_of_an_earlier_run_stay_and_the_numbers_go_on) {
  const std::string kept = base_ + ".0002.ttc",
                    others[] = {base_ + ".9.ttc.part", base_ + ".x9.ttc", base_ + ".ttc"};
  for (const std::string& file : {kept, others[0], others[1], others[2]}) std::ofstream(file) << "kept";
  start("loss");
  publish_loss();
  await_recordings(1);
  end();
  ASSERT_EQ(reported_.size(), 1u);
  EXPECT_EQ(reported_[0].error, "");
  EXPECT_EQ(reported_[0].file.path, base_ + ".0003.ttc");
  EXPECT_EQ(std::filesystem::file_size(kept), 4u);
  for (const std::string& file : {kept, others[0], others[1], others[2]}) std::filesystem::remove(file);
}

TEST_F(Flight, a_loss_after_the_time_between_two_recordings_is_recorded_again) {
  start("loss");
  publish_loss();
  await_recordings(1);
  now_ns_ += options_.every_ns;
  publish_loss();
  await_recordings(2);
  end();
  EXPECT_EQ(recorder_->held_back(), 0u);
}

TEST_F(Flight, a_lane_that_falls_silent) {
  start("silent>1800s");
  publish_words(0);
  publish_words(kHour);
  end();
  ASSERT_EQ(reported_.size(), 1u);
  EXPECT_EQ(reported_[0].why.substr(0, 26), "no marker from 1-2 RISC 3 ") << reported_[0].why;
}

TEST_F(Flight, the_exit_of_the_workload_also_where_nobody_waited_for_it) {
  const pid_t child = fork();
  if (child == 0) pause(), _exit(0);
  start("exit", child);
  publish_words(0);
  EXPECT_EQ(recorded_, 0u);
  kill(child, SIGKILL);
  await_recordings(1);  // the child is a zombie now
  EXPECT_EQ(waitpid(child, nullptr, 0), child);
  end();
  ASSERT_EQ(reported_.size(), 1u) << "reported once";
  EXPECT_EQ(reported_[0].why, "the workload (pid " + std::to_string(child) + ") has exited");
}

TEST_F(Flight, pre_time_leaves_out_what_was_read_before) {
  options_.pre_ns = kHour;
  start("loss");
  publish_words(3 * kHour);
  publish_words(2 * kHour);
  publish_words(kHour / 2);
  publish_words(0);
  publish_loss();
  await_recordings(1);
  end();
  ASSERT_EQ(reported_.size(), 1u);
  EXPECT_EQ(words_in(reported_[0].file.path), 2u);
}

TEST_F(Flight, pre_time_longer_than_the_machine_is_up_leaves_nothing_out) {
  now_ns_ = kSecond;
  options_.pre_ns = kHour;
  start("loss");
  publish_words(kSecond);
  publish_words(kSecond / 2);
  publish_words(0);
  publish_loss();
  await_recordings(1);
  end();
  ASSERT_EQ(reported_.size(), 1u);
  EXPECT_EQ(words_in(reported_[0].file.path), 3u);
}

TEST_F(Flight, a_snapshot_of_longer_than_the_machine_is_up_leaves_nothing_out) {
  now_ns_ = kSecond;
  publish_words(kSecond);
  publish_words(kSecond / 4);
  publish_words(0);
  for (const auto& [last_ns, words] : {std::pair{kHour, 3u}, std::pair{kSecond / 2, 2u}}) {
    SnapshotOptions o;
    o.last_ns = last_ns;
    o.clock = options_.clock;
    take_snapshot({name_}, base_ + ".snap.ttc", o);
    EXPECT_EQ(words_in(base_ + ".snap.ttc"), words) << last_ns;
    std::remove((base_ + ".snap.ttc").c_str());
  }
}

TEST_F(Flight, without_pre_time_all_that_is_kept_is_recorded) {
  start("loss");
  publish_words(3 * kHour);
  publish_loss();
  await_recordings(1);
  end();
  EXPECT_EQ(words_in(reported_[0].file.path), 1u);
}

TEST_F(Flight, post_time_takes_in_what_comes_after_and_ends_with_the_run) {
  options_.post_ns = kHour;
  start("loss");
  publish_loss();
  for (int i = 0; i < 5; ++i) publish_words(0);
  EXPECT_EQ(recorded_, 0u) << "it is not due for an hour";
  end();
  ASSERT_EQ(reported_.size(), 1u);
  EXPECT_EQ(words_in(reported_[0].file.path), 5u);
}

TEST_F(Flight, who_asks_is_not_held_back_and_does_not_put_off_what_is_due) {
  options_.post_ns = 1;
  start("loss");
  publish_loss();
  await_recordings(1);
  for (unsigned i = 2; i <= 3; ++i) {
    recorder_->ask("asked for by SIGUSR1");
    await_recordings(i);
  }
  end();
  ASSERT_EQ(reported_.size(), 3u);
  EXPECT_EQ(reported_[2].why, "asked for by SIGUSR1");
  EXPECT_EQ(reported_[2].file.path, base_ + ".0003.ttc");
}

TEST_F(Flight, asked_for_while_another_is_due_makes_one_recording_of_both) {
  options_.post_ns = kHour;
  start("exit", 0);
  recorder_->ask("first");
  recorder_->ask("second");
  end();
  ASSERT_EQ(reported_.size(), 1u);
  EXPECT_NE(reported_[0].why.find("second"), std::string::npos);
}

TEST_F(Flight, a_place_that_cannot_be_written_is_told_and_collecting_goes_on) {
  options_.path = "/proc/nothing/flight.ttc";
  start("loss");
  publish_loss();
  await_recordings(1);
  end();
  ASSERT_EQ(reported_.size(), 1u);
  EXPECT_NE(reported_[0].error.find("cannot be written"), std::string::npos) << reported_[0].error;
}

}  // namespace
}  // namespace ttc::collect
