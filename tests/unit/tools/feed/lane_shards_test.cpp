// Chunks without words among those with words, lane by lane on several threads.
#include "tools/feed/lane_shards.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "tests/support/kept_chunks.hpp"
#include "tests/support/launch_chunks.hpp"

namespace ttc::tools {
namespace {

struct CountedCalls : Format {
  void begin(const Session&) override {}
  void frame(const FrameEvents&) override {}
  void loss(const shm::LossRecord&) override {}
  void names_changed() override {}
  void telemetry(uint32_t, const shm::TelemetryRecord& r) override {
    order += std::to_string(r.host_ns) + ' ';
  }
  void end() override {}
  std::string order;
};

// Puts a word for each chunk with words.
class CountedSide : public LaneShards::Side {
 public:
  explicit CountedSide(std::string& order) : order_(order) {}
  std::unique_ptr<LaneShards::Product> product() const override {
    return std::make_unique<LaneShards::Product>();
  }
  Format& format() override { return format_; }
  size_t made() override { return ++chunks_; }
  void take_into(LaneShards::Product&) override { chunks_ = 0; }
  void put(LaneShards::Product&, size_t, size_t) override { order_ += "words "; }

 private:
  std::string& order_;
  CountedCalls format_;
  size_t chunks_ = 0;
};

class LaneShardsTest : public testing::Test {
 protected:
  void push(std::vector<uint64_t> words) {
    shm::KeptChunk chunk =
        ++pushed_ % 3 == 0 ? test::own_chunk(std::move(words)) : test::shared_chunk(std::move(words));
    shards_.push(chunk);
  }
  void push_words(uint8_t core) {
    const device::Format& format = markers::layout_by_generation(test::kLaunchGeneration)->format;
    push(test::lane_chunk(
        core, 0, test::frame_words(format.identity(0, core, 0), 1, {100, 1000, 9000}, {101, 1100, 8000})));
  }
  void push_telemetry(uint64_t number) {
    shm::TelemetryRecord record{};
    record.host_ns = number;
    push(test::chunk_of(shm::ChunkKind::telemetry, &record, sizeof record));
  }
  uint64_t pushed_ = 0;
  CountedCalls format_;
  Pipeline pipeline_{{}, false};
  jobs::Workers workers_{2};
  LaneShards shards_{workers_, [] { return std::make_unique<Pipeline>(Filter(), false); },
                     [this] { return std::make_unique<CountedSide>(format_.order); }, pipeline_, format_};
};

TEST_F(LaneShardsTest, chunks_without_words_keep_their_place_among_the_words) {
  std::string expected;
  for (uint64_t i = 0; i < 50; ++i) {
    push_words(static_cast<uint8_t>(i % 12));
    push_telemetry(i);
    expected += "words " + std::to_string(i) + ' ';
  }
  shards_.finish();
  EXPECT_EQ(format_.order, expected);
  EXPECT_EQ(pipeline_.markers(), 50u * 4);
}

// A batch of words that no further words fill: a run's host side of any size came behind it, and was held in memory.
TEST_F(LaneShardsTest, chunks_without_words_behind_a_batch_that_is_not_full_are_bounded) {
  push_words(1);
  const size_t bytes = sizeof(shm::ChunkHeader) + sizeof(shm::TelemetryRecord);
  const uint64_t most = LaneShards::kMostWaiting / bytes + 1;
  for (uint64_t i = 0; i < 2 * most; ++i) push_telemetry(i);
  EXPECT_NE(format_.order.find("words 0 1 2 "), std::string::npos) << "nothing came";
}

}  // namespace
}  // namespace ttc::tools
