// What is missing between two chunks of a lane: exact where the log continues, unknown across a host reset, and
// nothing where nothing is missing.
#include "collector/loss/chunk_gaps.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <memory>

#include "firmware_markers/device/format.hpp"
#include "firmware_markers/layout.hpp"
#include "ttcollect/loss_view.hpp"

namespace ttc::collect {
namespace {

using shm::ChunkHeader;
using shm::LossPrecision;
using shm::LossRecord;
using shm::SpanEntry;

constexpr uint8_t kGeneration = 4;

// A lane's log of frames of 12 words, frame n from time 1000 n + 100 to 1000 n + 400.
constexpr uint64_t last_time_of(uint64_t frame) {
  return 1000 * frame + 400;
}
std::vector<uint32_t> frame_words(uint64_t n, uint8_t risc, uint8_t flat) {
  const auto& format = markers::layout_by_generation(kGeneration)->format;
  std::vector<uint32_t> w(12, 0);
  w[2] = format.identity(risc, flat, 0);
  w[3] = static_cast<uint32_t>(n + 1);
  const uint64_t times[4] = {1000 * n + 100, last_time_of(n), 1000 * n + 200, 1000 * n + 300};
  const uint32_t types[4] = {device::kZoneStart, device::kZoneEnd, device::kZoneStart, device::kZoneEnd};
  for (unsigned i = 0; i < 4; ++i) {
    w[4 + 2 * i] = device::marker_high(types[i], 7 + i / 2, static_cast<uint32_t>(times[i] >> 32));
    w[5 + 2 * i] = static_cast<uint32_t>(times[i]);
  }
  return w;
}

struct Piece {
  uint64_t sequence;
  uint8_t risc = 0;
  uint64_t first_frame = 0, frames = 1;
  uint32_t epoch = 0;
  uint64_t frames_before_epoch = 0;
  uint32_t remarks = 0;
};

std::vector<uint64_t> chunk_of(const Piece& p) {
  std::vector<uint32_t> words;
  for (uint64_t n = p.first_frame; n < p.first_frame + p.frames; ++n)
    for (const uint32_t w : frame_words(n, p.risc, 3)) words.push_back(w);
  SpanEntry span;
  span.risc = p.risc;
  span.word_offset = static_cast<uint32_t>(12 * (p.first_frame - p.frames_before_epoch));
  span.word_count = static_cast<uint32_t>(words.size());
  span.data_offset = sizeof(ChunkHeader) + sizeof span;
  markers::FrameDigest digest;
  if (p.first_frame) digest.known = 1, digest.last_time = last_time_of(p.first_frame - 1), digest.host_id = 1;
  std::memcpy(span.digest, &digest, sizeof digest);
  ChunkHeader h;
  h.bytes = static_cast<uint32_t>(span.data_offset + words.size() * 4);
  h.kind = shm::ChunkKind::device_words;
  h.generation = kGeneration;
  h.session = 5;
  h.sequence = p.sequence;
  h.core_x = 1, h.core_y = 2;
  h.flat_id = 3;
  h.epoch = p.epoch;
  h.span_count = 1;
  h.flags = p.remarks;
  std::vector<uint64_t> chunk((h.bytes + 7) / 8);
  auto* at = reinterpret_cast<char*>(chunk.data());
  std::memcpy(at, &h, sizeof h);
  std::memcpy(at + sizeof h, &span, sizeof span);
  std::memcpy(at + span.data_offset, words.data(), words.size() * 4);
  EXPECT_EQ(shm::check_chunk(chunk), "");
  return chunk;
}

struct Finding {
  std::vector<LossRecord> lost;
  uint64_t missing_chunks = 0, chunks_before = 0;
};
// `together`: so many chunks lie in one memory, which is gone when none is kept; 0: they are copied.
Finding find_in(const std::vector<Piece>& pieces, size_t together) {
  Finding f;
  ChunkGaps gaps(shm::LossCause::disk_too_slow, [&](uint64_t session, const LossRecord& r) {
    EXPECT_EQ(session, 5u);
    EXPECT_EQ(r.cause, shm::LossCause::disk_too_slow);
    f.lost.push_back(r);
  });
  using Chunks = std::vector<std::vector<uint64_t>>;
  std::shared_ptr<Chunks> memory;
  for (size_t i = 0; i < pieces.size(); ++i) {
    if (together == 0) {
      gaps.push(chunk_of(pieces[i]));
      continue;
    }
    if (i % together == 0) {
      memory = std::make_shared<Chunks>();
      for (size_t each = i; each < std::min(i + together, pieces.size()); ++each)
        memory->push_back(chunk_of(pieces[each]));
    }
    gaps.push((*memory)[i % together], memory);
  }
  memory.reset();
  gaps.finish();
  f.missing_chunks = gaps.missing_chunks();
  f.chunks_before = gaps.chunks_before();
  return f;
}
Finding find(const std::vector<Piece>& pieces) {
  const Finding copied = find_in(pieces, 0);
  for (size_t together = 1; together <= 3; ++together) {
    const Finding kept = find_in(pieces, together);
    EXPECT_EQ(kept.missing_chunks, copied.missing_chunks);
    EXPECT_EQ(kept.chunks_before, copied.chunks_before);
    EXPECT_EQ(kept.lost.size(), copied.lost.size()) << together;
    for (size_t i = 0; i < std::min(kept.lost.size(), copied.lost.size()); ++i)
      EXPECT_EQ(std::memcmp(&kept.lost[i], &copied.lost[i], sizeof copied.lost[i]), 0)
          << together << " chunks in one memory, loss " << i;
  }
  return copied;
}

TEST(ChunkGaps, a_whole_stream_has_none) {
  EXPECT_TRUE(find({{0}, {1, 1}, {2, 0, 1}, {3, 1, 1, 2}}).lost.empty());
}

TEST(ChunkGaps, missing_words_of_one_log_are_counted_exactly_and_lie_between_two_times) {
  const Finding f = find({{0}, {1, 1}, {4, 0, 3}, {5, 1, 1}});
  ASSERT_EQ(f.lost.size(), 1u);  // RISC 1 was unresolved and lost nothing
  EXPECT_EQ(f.missing_chunks, 2u);
  EXPECT_EQ(f.lost[0].risc, 0);
  EXPECT_EQ(f.lost[0].core_x, 1);
  EXPECT_EQ(f.lost[0].core_y, 2);
  EXPECT_EQ(f.lost[0].precision, LossPrecision::exact_words);
  EXPECT_EQ(f.lost[0].words, 24u);
  EXPECT_EQ(f.lost[0].from_cycles, last_time_of(0));
  EXPECT_EQ(f.lost[0].to_cycles, last_time_of(2) + 1);  // both frames lie inside
}

TEST(ChunkGaps, across_a_host_reset_the_size_is_unknown) {
  const Finding f = find({{0}, {3, 0, 4, 1, 1, 4}});
  ASSERT_EQ(f.lost.size(), 1u);
  EXPECT_EQ(f.lost[0].precision, LossPrecision::unknown);
  EXPECT_EQ(f.lost[0].from_cycles, last_time_of(0));
  EXPECT_EQ(f.lost[0].to_cycles, last_time_of(3) + 1);
  // The missing chunk was of another lane: nothing between the frames.
  EXPECT_TRUE(find({{0}, {2, 0, 1, 1, 1, 1}}).lost.empty());
}

TEST(ChunkGaps, a_lane_not_seen_before_the_gap_is_in_doubt_from_its_beginning) {
  const Finding f = find({{0}, {2, 1, 5}});
  ASSERT_EQ(f.lost.size(), 2u);
  EXPECT_EQ(f.lost[0].risc, 1);
  EXPECT_EQ(f.lost[0].from_cycles, 0u);
  EXPECT_EQ(f.lost[0].to_cycles, last_time_of(4) + 1);
  // Lane 0 did not come again: it stays unresolved.
  EXPECT_EQ(f.lost[1].risc, 0);
  EXPECT_EQ(f.lost[1].from_cycles, last_time_of(0));
  EXPECT_EQ(f.lost[1].to_cycles, shm::kOpenEnd);
  EXPECT_TRUE(find({{0}, {2, 1, 0}, {3, 0, 1}}).lost.empty());  // its first frame of all
}

TEST(ChunkGaps, a_late_beginning_is_told_and_no_loss) {
  const Finding f = find({{7, 0, 3}, {8, 0, 4}, {9, 1, 9}});
  EXPECT_TRUE(f.lost.empty());
  EXPECT_EQ(f.chunks_before, 7u);
  EXPECT_EQ(f.missing_chunks, 0u);
}

TEST(ChunkGaps, where_the_beginning_is_known_to_be_lost_lanes_are_missing_from_their_start) {
  std::vector<LossRecord> lost;
  ChunkGaps gaps(shm::LossCause::file_damaged, [&](uint64_t, const LossRecord& r) { lost.push_back(r); });
  gaps.lost_beginning();
  gaps.push(chunk_of({7, 0, 3}));
  gaps.push(chunk_of({8, 0, 4}));  // follows
  gaps.push(chunk_of({9, 1, 0}));  // its first frame of all
  gaps.finish();
  ASSERT_EQ(lost.size(), 1u);
  EXPECT_EQ(lost[0].risc, 0);
  EXPECT_EQ(lost[0].from_cycles, 0u);
  EXPECT_EQ(lost[0].to_cycles, last_time_of(2) + 1);
  EXPECT_EQ(gaps.chunks_before(), 7u);
}

TEST(ChunkGaps, a_stream_that_is_there_from_its_first_chunk_has_no_lost_beginning) {
  std::vector<LossRecord> lost;
  ChunkGaps gaps(shm::LossCause::file_damaged, [&](uint64_t, const LossRecord& r) { lost.push_back(r); });
  gaps.lost_beginning();
  gaps.push(chunk_of({0, 0, 3}));
  gaps.finish();
  EXPECT_TRUE(lost.empty());
}

TEST(ChunkGaps, a_stream_that_broke_off_leaves_every_lane_open) {
  std::vector<LossRecord> lost;
  ChunkGaps gaps(shm::LossCause::not_read, [&](uint64_t, const LossRecord& r) { lost.push_back(r); });
  gaps.push(chunk_of({0}));
  gaps.broke_off();
  gaps.finish();
  ASSERT_EQ(lost.size(), 1u);
  EXPECT_EQ(lost[0].from_cycles, last_time_of(0));
  EXPECT_EQ(lost[0].to_cycles, shm::kOpenEnd);
}

// Words of the core 1-2, as of chunk_of(), and of the core 1-3.
std::vector<uint64_t> session_of(const std::string& text) {
  ChunkHeader h;
  h.bytes = static_cast<uint32_t>(sizeof h + text.size());
  h.kind = shm::ChunkKind::session;
  h.session = 5;
  std::vector<uint64_t> chunk((h.bytes + 7) / 8);
  std::memcpy(chunk.data(), &h, sizeof h);
  std::memcpy(chunk.data() + sizeof h / 8, text.data(), text.size());
  EXPECT_EQ(shm::check_chunk(chunk), "");
  return chunk;
}
std::vector<LossRecord> lost_of_broken(const std::string& session, bool ended = false) {
  std::vector<LossRecord> lost;
  ChunkGaps gaps(shm::LossCause::file_damaged, [&](uint64_t, const LossRecord& r) { lost.push_back(r); });
  gaps.push(session_of(session));
  gaps.push(chunk_of({0}));
  if (!ended) gaps.broke_off();
  gaps.finish();
  return lost;
}

TEST(ChunkGaps, a_lane_whose_first_words_were_behind_the_break_is_missing_from_its_beginning) {
  const auto lost = lost_of_broken(R"({"arch":"wormhole_b0","mode":"normal","cores":[[1,2,3,0],[1,3,4,0]]})");
  ASSERT_EQ(lost.size(), 10u);
  for (size_t i = 0; i < lost.size(); ++i) {
    EXPECT_EQ(lost[i].core_x, 1);
    EXPECT_EQ(lost[i].core_y, i < 5 ? 2 : 3);
    EXPECT_EQ(lost[i].risc, i % 5);
    EXPECT_EQ(lost[i].from_cycles, i == 0 ? last_time_of(0) : 0);
    EXPECT_EQ(lost[i].to_cycles, shm::kOpenEnd);
    EXPECT_EQ(lost[i].precision, LossPrecision::unknown);
  }
}

TEST(ChunkGaps, lanes_without_words_are_not_missing_from_a_stream_that_did_not_break_off) {
  const std::string two_cores = R"({"arch":"wormhole_b0","mode":"normal","cores":[[1,2,3,0],[1,3,4,0]]})";
  EXPECT_TRUE(lost_of_broken(two_cores, true).empty());
  ChunkGaps gaps(shm::LossCause::file_damaged, [](uint64_t, const LossRecord& r) { EXPECT_EQ(r.core_y, 2); });
  gaps.push(session_of(two_cores));
  gaps.push(chunk_of({0}));
  gaps.push(chunk_of({4, 0, 3}));  // a gap that the recorder accounts for
  gaps.finish();
  EXPECT_EQ(gaps.missing_chunks(), 3u);
}

TEST(ChunkGaps, a_core_has_the_lanes_of_its_kind_and_of_the_mode) {
  const auto riscs = [](const std::string& session) {
    std::vector<int> of_1_3;
    for (const LossRecord& r : lost_of_broken(session))
      if (r.core_y == 3) of_1_3.push_back(r.risc);
    return of_1_3;
  };
  EXPECT_EQ(riscs(R"({"arch":"wormhole_b0","cores":[[1,3,4,1]]})"), (std::vector<int>{0}));
  EXPECT_EQ(riscs(R"({"arch":"blackhole","cores":[[1,3,4,1]]})"), (std::vector<int>{0, 1}));
  EXPECT_EQ(riscs(R"({"arch":"blackhole","mode":"trace-only","cores":[[1,3,4,0]]})"), (std::vector<int>{0}));
  EXPECT_EQ(riscs(R"({"arch":"blackhole","cores":[[1,3,4]]})"), (std::vector<int>{0, 1, 2, 3, 4}));
}

TEST(ChunkGaps, a_session_that_makes_no_sense_names_no_lanes) {
  for (const char* text :
       {"", "{", "[]", "{}", R"({"cores":7})", R"({"cores":[7,[1],[300,1,1],[1,"3",4],[1,-3,4]]})",
        R"({"arch":7,"mode":[],"cores":[[1,3,4,"0"],[1,3,4,900]]})"})
    EXPECT_EQ(lost_of_broken(text).size(), 1u) << text;
}

TEST(ChunkGaps, of_a_lost_beginning_a_lane_that_never_comes_is_missing_altogether) {
  std::vector<LossRecord> lost;
  ChunkGaps gaps(shm::LossCause::file_damaged, [&](uint64_t, const LossRecord& r) { lost.push_back(r); });
  gaps.lost_beginning();
  gaps.push(session_of(R"({"arch":"wormhole_b0","cores":[[1,2,3,1],[1,3,4,1]]})"));
  gaps.push(chunk_of({7, 0, 3}));
  gaps.finish();
  ASSERT_EQ(lost.size(), 2u);
  EXPECT_EQ(lost[0].core_y, 2);
  EXPECT_EQ(lost[0].to_cycles, last_time_of(2) + 1);
  EXPECT_EQ(lost[1].core_y, 3);
  EXPECT_EQ(lost[1].from_cycles, 0u);
  EXPECT_EQ(lost[1].to_cycles, shm::kOpenEnd);
}

TEST(ChunkGaps, standing_chunks_do_not_count) {
  EXPECT_TRUE(find({{0}, {9, 1, 1, 1, 0, 0, shm::kStanding}, {1, 0, 1}}).lost.empty());
}

TEST(ChunkGaps, words_between_two_spans_of_an_epoch_are_counted) {
  const auto missing = [](const std::vector<Piece>& pieces) {
    ChunkGaps gaps(shm::LossCause::reader_lapped, [](uint64_t, const LossRecord&) {});
    for (const Piece& p : pieces) gaps.push(chunk_of(p));
    return gaps.missing_words();
  };
  EXPECT_EQ(missing({{0}, {1, 0, 1}, {2, 0, 2}}), 0u);
  EXPECT_EQ(missing({{0}, {3, 0, 3}, {4, 0, 5}}), 36u);
  EXPECT_EQ(missing({{0}, {3, 1, 3}}), 0u);                            // a lane's first
  EXPECT_EQ(missing({{0}, {3, 0, 4, 1, 1, 0}}), 0u);                   // of another epoch
  EXPECT_EQ(missing({{0}, {3, 0, 4, 1, 0, 0, shm::kRecovered}}), 0u);  // behind a rewound index
}

std::vector<uint64_t> loss_chunk_of(const LossRecord& record) {
  ChunkHeader h;
  h.bytes = sizeof h + sizeof record;
  h.kind = shm::ChunkKind::loss;
  h.flags = shm::kStanding;
  h.session = 5;
  std::vector<uint64_t> chunk(h.bytes / 8);
  std::memcpy(chunk.data(), &h, sizeof h);
  std::memcpy(chunk.data() + sizeof h / 8, &record, sizeof record);
  EXPECT_EQ(shm::check_chunk(chunk), "");
  return chunk;
}

TEST(LossView, returns_an_interval_once_and_again_when_it_has_grown) {
  LossView view(shm::LossCause::file_damaged);
  LossRecord record;
  record.id = 3;
  record.words = 10;
  EXPECT_EQ(view.push(chunk_of({0})), nullptr);
  ASSERT_NE(view.push(loss_chunk_of(record)), nullptr);
  EXPECT_EQ(view.push(loss_chunk_of(record)), nullptr);
  record.words = 11;
  const LossRecord* grown = view.push(loss_chunk_of(record));
  ASSERT_NE(grown, nullptr);
  EXPECT_EQ(grown->words, 11u);
  view.finish();
  EXPECT_EQ(view.reported_count(), 1u);
  EXPECT_EQ(view.reported().at(5).at(3).words, 11u);
  EXPECT_TRUE(view.found().empty());
}

TEST(LossView, what_a_record_covers_is_not_found_again_and_the_rest_has_ids_of_its_own) {
  LossRecord of_lane_0;                // all that is missing of RISC 0
  of_lane_0.id = ChunkGaps::kFirstId;  // as of a gap that a recorder found
  of_lane_0.core_x = 1, of_lane_0.core_y = 2;
  of_lane_0.from_cycles = last_time_of(0);
  of_lane_0.to_cycles = last_time_of(2) + 1;
  LossView view(shm::LossCause::file_damaged);
  view.push(loss_chunk_of(of_lane_0));
  for (const Piece& p : std::vector<Piece>{{0}, {1, 1}, {4, 0, 3}, {5, 1, 4}}) view.push(chunk_of(p));
  view.finish();
  ASSERT_EQ(view.found().at(5).size(), 1u);
  const auto& [id, found] = *view.found().at(5).begin();
  EXPECT_EQ(found.risc, 1);
  EXPECT_EQ(found.words, 36u);
  EXPECT_EQ(found.cause, shm::LossCause::file_damaged);
  EXPECT_EQ(id, found.id);
  EXPECT_GT(id, of_lane_0.id);
  EXPECT_EQ(view.all().at(5).size(), 2u);
  EXPECT_EQ(view.missing_chunks(), 2u);
  EXPECT_EQ(view.missing_words(), 60u);
}

// A record of what the card lost may have been in the missing chunks, and no index shows that it was recorded
// again.
TEST(LossView, behind_a_gap_of_a_stream_that_broke_off_nothing_is_sure_also_where_the_end_came) {
  LossView view(shm::LossCause::not_kept);
  for (const Piece& p : std::vector<Piece>{{0}, {1, 1}, {4, 0, 1}, {5, 1, 1}}) view.push(chunk_of(p));
  LossRecord recorders;
  recorders.id = 1;
  recorders.core_x = 1, recorders.core_y = 2;
  recorders.from_cycles = last_time_of(0), recorders.to_cycles = last_time_of(0) + 10;
  view.push(loss_chunk_of(recorders));
  view.broke_off();
  view.finish();
  ASSERT_EQ(view.found().at(5).size(), 2u);  // no words are missing between the spans
  for (const auto& [id, r] : view.found().at(5)) {
    EXPECT_EQ(r.from_cycles, last_time_of(0));
    EXPECT_EQ(r.to_cycles, shm::kOpenEnd);
  }
}

TEST(ChunkGaps, of_a_lost_beginning_the_cause_may_be_another_than_of_gaps) {
  std::vector<LossRecord> lost;
  ChunkGaps gaps(shm::LossCause::not_read, [&](uint64_t, const LossRecord& r) { lost.push_back(r); });
  gaps.lost_beginning(shm::LossCause::reader_lapped);
  for (const Piece& p : std::vector<Piece>{{7, 0, 3}, {9, 0, 5}}) gaps.push(chunk_of(p));
  gaps.finish();
  ASSERT_EQ(lost.size(), 2u);
  EXPECT_EQ(lost[0].cause, shm::LossCause::reader_lapped);
  EXPECT_EQ(lost[0].to_cycles, last_time_of(2) + 1);
  EXPECT_EQ(lost[1].cause, shm::LossCause::not_read);
  EXPECT_EQ(lost[1].words, 12u);
}

TEST(LossView, looks_for_no_gaps_where_chunks_were_left_out_on_purpose) {
  LossView view(std::nullopt);
  LossRecord record;
  record.id = 3;
  view.lost_beginning();
  EXPECT_NE(view.push(loss_chunk_of(record)), nullptr);
  for (const Piece& p : std::vector<Piece>{{0}, {4, 0, 3}}) view.push(chunk_of(p));
  view.broke_off();
  view.finish();
  EXPECT_EQ(view.reported_count(), 1u);
  EXPECT_TRUE(view.found().empty());
  EXPECT_EQ(view.missing_chunks() + view.missing_words(), 0u);
}

}  // namespace
}  // namespace ttc::collect
