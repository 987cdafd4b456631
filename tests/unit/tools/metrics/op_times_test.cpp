// Sums of ops for metrics, and the budget of their reader.
#include "tools/metrics/op_times.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "tools/metrics/ring_follower.hpp"
#include "ttcollect/host_events.hpp"

namespace ttc::tools {
namespace {

TEST(TimeHistogram, a_time_counts_in_the_first_bucket_whose_bound_it_does_not_exceed) {
  TimeHistogram times;
  for (const uint64_t ns : {0u, 1'000u, 1'001u, 1'000'000'000u, 1'000'000'001u}) times.add(ns);
  EXPECT_EQ(times.counts().front(), 2u);
  EXPECT_EQ(times.counts()[1], 1u);
  EXPECT_EQ(times.counts()[TimeHistogram::kBoundsNs.size() - 1], 1u);
  EXPECT_EQ(times.counts().back(), 1u);
  EXPECT_EQ(times.count(), 5u);
  EXPECT_EQ(times.sum_ns(), 2'000'002'002u);
}

TEST(CpuCredit, what_a_beginning_may_use_is_used_up_and_comes_back_with_time) {
  constexpr uint64_t kSecond = 1'000'000'000;
  CpuCredit credit;
  credit.update(0, 0);
  credit.update(kSecond, 1 * kSecond);
  EXPECT_TRUE(credit.reads());
  credit.update(2 * kSecond, 2 * kSecond + kSecond / 10);
  EXPECT_FALSE(credit.reads());
  uint64_t seconds = 2;
  for (; !credit.reads() && seconds < 1000; ++seconds)
    credit.update((seconds + 1) * kSecond, 2 * kSecond + kSecond / 10);
  // 0.084 s too much were used, 0.5 s are to be there: each second brings 1/125.
  EXPECT_NEAR(static_cast<double>(seconds - 2), (0.084 + 0.5) * CpuCredit::kOneIn, 2);
}

TEST(CpuCredit, a_light_load_is_read_for_ever) {
  CpuCredit credit;
  for (uint64_t s = 0; s < 100'000; ++s) {
    credit.update(s * 1'000'000'000, s * 7'000'000);
    ASSERT_TRUE(credit.reads()) << s;
  }
}

// A chunk of the workload's host side.
std::vector<uint64_t> host_chunk(const std::vector<std::pair<int64_t, std::string>>& messages) {
  std::vector<std::byte> body(sizeof(collect::HostChunkHead));
  collect::HostChunkHead head;
  std::memcpy(body.data(), &head, sizeof head);
  collect::HostRecords records;
  for (const auto& [ns, text] : messages) {
    collect::HostEvent event;
    event.kind = collect::EventKind::message;
    event.time = ns;
    event.text = text;
    records.add(event);
  }
  body.insert(body.end(), records.bytes().begin(), records.bytes().end());
  std::vector<uint64_t> chunk((sizeof(shm::ChunkHeader) + body.size() + 7) / 8);
  shm::ChunkHeader header;
  header.bytes = static_cast<uint32_t>(sizeof header + body.size());
  header.kind = shm::ChunkKind::host_events;
  header.device = collect::kHostDevice;
  std::memcpy(chunk.data(), &header, sizeof header);
  std::memcpy(chunk.data() + sizeof header / 8, body.data(), body.size());
  return chunk;
}

TEST(OpTimes, marks_of_steps_are_paired_by_their_number) {
  OpTimes times;
  times.host(host_chunk({{1'000, "`TT_SIGNPOST: step_1_start`"},
                         {2'000, "`TT_SIGNPOST: step_2_start`"},
                         {5'000, "`TT_SIGNPOST: step_1_end`"},
                         {5'500, "`TT_SIGNPOST: other`"},
                         {5'600, "`TT_SIGNPOST: step_7_end`"}}));
  times.host(host_chunk({{9'000, "`TT_SIGNPOST: step_2_end`"}}));
  EXPECT_EQ(times.marked_steps().count(), 2u);
  EXPECT_EQ(times.marked_steps().sum_ns(), 4'000u + 7'000u);
}

// Frames of one RISC with a firmware and a kernel zone, at 1000 MHz: cycles are nanoseconds.
class Card {
 public:
  explicit Card(OpTimes& times) : times_(times) {
    Session session;
    session.id = 5;
    session.device = "0";
    session.aiclk_mhz = 1000;
    times_.name_session(5, "live");
    times_.begin(session);
  }
  void launch(uint32_t host_id, uint64_t begin, uint64_t end, uint16_t replay = 0) {
    const auto marker = [](markers::MarkerType type, uint16_t id, uint64_t cycles) {
      markers::Marker m{};
      m.type = type, m.id = id, m.time_cycles = cycles, m.flags = markers::kGuaranteed;
      return m;
    };
    const std::vector<markers::Marker> all{marker(markers::MarkerType::zone_start, 1, begin - 10),
                                           marker(markers::MarkerType::zone_start, 2, begin),
                                           marker(markers::MarkerType::zone_end, 2, end),
                                           marker(markers::MarkerType::zone_end, 1, end + 10)};
    times_.frame({0,
                  1,
                  1,
                  markers::CoreKind::tensix,
                  device::Mode::normal,
                  0,
                  host_id,
                  replay,
                  all,
                  batch_,
                  names_,
                  {},
                  {},
                  0,
                  0,
                  1});
  }

 private:
  OpTimes& times_;
  markers::Batch batch_;
  markers::ZoneNames names_;
};

TEST(OpTimes, ops_gaps_and_replays_of_a_device_add_up) {
  OpTimes times;
  Card card(times);
  times.host(host_chunk({{0, "`TT_DNN_DEVICE_OP: \"Matmul\", 1, 0, true, 7`"}}));
  card.launch(7, 1'000, 3'000, 1);
  card.launch(8, 4'000, 5'000, 1);
  card.launch(7, 11'000, 13'000, 2);
  card.launch(9, 3'000'000'000, 3'000'000'500);
  times.end();
  const DeviceSums& sums = times.devices().at("live");
  ASSERT_EQ(sums.ops.size(), 2u);
  EXPECT_EQ(sums.ops.at("Matmul").duration.count(), 2u);
  EXPECT_EQ(sums.ops.at("Matmul").duration.sum_ns(), 4'000u);
  EXPECT_EQ(sums.ops.at("Matmul").gap.sum_ns(), 6'000u);
  EXPECT_EQ(sums.ops.at(OpTimes::kUnnamed).duration.sum_ns(), 1'500u);
  EXPECT_EQ(sums.busy_ns, 5'500u);
  EXPECT_EQ(sums.gap_ns, 1'000u + 6'000u);
  EXPECT_EQ(sums.idle_ns, 3'000'000'000u - 13'000u);
  EXPECT_EQ(sums.replays.count(), 1u);
  EXPECT_EQ(sums.replays.sum_ns(), 10'000u);
}

TEST(OpTimes, codes_beyond_the_most_are_other) {
  OpTimes times;
  Card card(times);
  std::vector<std::pair<int64_t, std::string>> messages;
  for (uint32_t i = 1; i <= 100; ++i)
    messages.emplace_back(
        0, "`TT_DNN_DEVICE_OP: \"Op" + std::to_string(i) + "\", 1, 0, true, " + std::to_string(i) + "`");
  times.host(host_chunk(messages));
  for (uint32_t i = 1; i <= 100; ++i) card.launch(i, i * 1'000, i * 1'000 + 100);
  card.launch(1'000, 200'000, 200'100);
  times.end();
  const auto& ops = times.devices().at("live").ops;
  EXPECT_EQ(ops.size(), OpTimes::kMostCodes + 2);
  EXPECT_EQ(ops.at(OpTimes::kOther).duration.count(), 100 - OpTimes::kMostCodes);
  EXPECT_EQ(ops.at(OpTimes::kUnnamed).duration.count(), 1u);
}

TEST(OpTimes, what_was_open_when_chunks_were_missed_is_no_op) {
  OpTimes times;
  Card card(times);
  card.launch(1, 1'000, 2'000);
  times.missed(5, 0);
  card.launch(2, 5'000, 6'000);
  times.end();
  EXPECT_EQ(times.devices().at("live").ops.at(OpTimes::kUnnamed).duration.count(), 1u);
  EXPECT_EQ(times.devices().at("live").gap_ns, 0u);
}

}  // namespace
}  // namespace ttc::tools
