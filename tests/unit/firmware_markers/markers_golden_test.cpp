// Memory written by tt-metal's own device code (see TTC_GOLDEN_DIR/firmware-memory/README.md) against the log
// the firmware kept of what it did.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "firmware_markers/decoder.hpp"
#include "firmware_markers/discovery.hpp"
#include "firmware_markers/zone_names.hpp"
#include "tests/support/same_digest.hpp"

namespace ttc::markers {
namespace {

namespace fs = std::filesystem;
using Rows = std::vector<std::string>;

std::vector<uint32_t> words_of(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  EXPECT_TRUE(in) << path;
  std::stringstream bytes;
  bytes << in.rdbuf();
  const std::string text = bytes.str();
  EXPECT_EQ(text.size() % 4, 0u) << path;
  std::vector<uint32_t> words(text.size() / 4);
  std::copy_n(text.begin(), words.size() * 4, reinterpret_cast<char*>(words.data()));
  return words;
}

Rows lines_of(const fs::path& path) {
  std::ifstream in(path);
  EXPECT_TRUE(in) << path;
  Rows rows;
  for (std::string line; std::getline(in, line);) rows.push_back(line);
  return rows;
}

ZoneNames names_of(const fs::path& path) {
  ZoneNames names;
  for (const std::string& line : lines_of(path))
    if (const auto note = zone_string_in(line); !note.empty()) names.add_zone_string(note);
  return names;
}

std::string kind_of(MarkerType type) {
  switch (type) {
    case MarkerType::zone_start:
      return "START";
    case MarkerType::zone_end:
      return "END";
    case MarkerType::zone_total:
      return "TOTAL";
    case MarkerType::ts_data:
      return "DATA";
    case MarkerType::ts_event:
      return "EVENT";
    case MarkerType::ts_data_16b:
      return "DATA16";
  }
  return "?";
}

std::string name_of(const Marker& m, const ZoneNames& names) {
  if (m.type == MarkerType::ts_event) return "EVENT-" + std::to_string(m.id);
  if (m.flags & kQuickPush) return "PROFILER-NOC-QUICK-PUSH";
  const ZoneSource* source = names.find(m.id);
  return source ? source->name : "ID-" + std::to_string(m.id);
}

std::string payload_of(const Marker& m, const Batch& batch) {
  std::ostringstream out;
  out << std::hex;
  if (m.type == MarkerType::ts_data || m.type == MarkerType::ts_data_16b)
    out << "0x" << batch.payload(m.payload);
  if (m.type == MarkerType::ts_data_16b) out << ";0x" << batch.payload(m.payload + 1);
  return out.str();
}

// The rows of events.csv behind the lane columns: host id, ordinal of the frame, kind, name, time, payload.
Rows rows_of(const Batch& batch, const ZoneNames& names, bool duplicates) {
  Rows rows;
  uint32_t ordinal = 0;
  for (const Frame& frame : batch.frames()) {
    for (const Marker& m : batch.markers(frame)) {
      if ((m.flags & kStale) || (!duplicates && (m.flags & kDuplicate))) continue;
      rows.push_back(std::to_string(frame.host_id) + ',' + std::to_string(ordinal) + ',' + kind_of(m.type) +
                     ',' + name_of(m, names) + ',' + std::to_string(m.time_cycles) + ',' +
                     payload_of(m, batch));
    }
    ++ordinal;
  }
  return rows;
}

Rows sorted(Rows rows) {
  std::sort(rows.begin(), rows.end());
  return rows;
}

std::string without_ordinal(const std::string& row) {
  const size_t first = row.find(',');
  return row.substr(0, first) + row.substr(row.find(',', first + 1));
}

// Drops the frame ordinals, and with them what distinguishes quick push's repeats.
Rows distinct_events(const Rows& rows) {
  Rows out;
  for (const std::string& row : rows) out.push_back(without_ordinal(row));
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

bool same(const Batch& a, size_t a_first, const Batch& b) {
  const auto left = a.markers().subspan(a_first);
  const auto right = b.markers();
  const auto payload_words = [](const Marker& m) {
    return m.type == MarkerType::ts_data_16b                                   ? 2u
           : m.type == MarkerType::ts_data || m.type == MarkerType::zone_total ? 1u
                                                                               : 0u;
  };
  if (left.size() != right.size()) return false;
  for (size_t i = 0; i < left.size(); ++i) {
    const Marker &l = left[i], &r = right[i];
    if (l.time_cycles != r.time_cycles || l.id != r.id || l.type != r.type || l.flags != r.flags)
      return false;
    for (uint32_t p = 0; p < payload_words(l); ++p)
      if (a.payload(l.payload + p) != b.payload(r.payload + p)) return false;
  }
  return true;
}

struct AnyJudge {
  bool sat_out_ok(uint32_t) const { return true; }
  bool take(const VerifiedFrame&) { return ++frames != 0; }
  size_t frames = 0;
};

// Each frame decoded alone, from the digest of the one before, gives what decoding everything gives; so does
// starting at any frame and reading to the end.
void expect_same_from_any_frame(const Lane& lane, const FrameDigest& before,
                                std::span<const uint32_t> words) {
  LaneDecoder whole(lane);
  whole.resume(before);
  Batch all;
  whole.decode(words, all);
  LaneDecoder step(lane);
  step.resume(before);
  Batch pieces;
  const auto frames = all.frames();
  for (size_t k = 0; k < frames.size(); ++k) {
    LaneDecoder middle(lane);
    middle.resume(step.digest());
    Batch rest;
    middle.decode(words.subspan(frames[k].first_word), rest);
    ASSERT_TRUE(same(all, frames[k].first_marker, rest)) << "started at frame " << k;
    ASSERT_TRUE(same(middle.digest(), whole.digest())) << "started at frame " << k;
    const size_t end = k + 1 < frames.size() ? frames[k + 1].first_word : words.size();
    step.decode(words.subspan(frames[k].first_word, end - frames[k].first_word), pieces);
  }
  EXPECT_TRUE(same(all, 0, pieces));
  EXPECT_TRUE(same(step.digest(), whole.digest()));
}

void expect_verified(const Lane& lane, FrameDigest digest, std::span<const uint32_t> words,
                     const LaneDecoder& decoder, const Batch& batch) {
  AnyJudge judge;
  const Walk walk = verify_frames(words, lane, {}, false, digest, judge);
  EXPECT_TRUE(walk.clean) << walk.whole_words << " of " << words.size();
  EXPECT_EQ(walk.frames, batch.frames().size());
  EXPECT_EQ(judge.frames, batch.frames().size());
  EXPECT_EQ(walk.markers, batch.markers().size() - decoder.anomalies().stale_markers);
  EXPECT_TRUE(same(digest, decoder.digest()));
}

class GoldenMemory : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    if (GetParam().empty())
      GTEST_SKIP() << "no golden data: configure with -DTTC_GOLDEN=<directory that holds firmware-memory>";
    directory_ = fs::path(TTC_GOLDEN_DIR) / "firmware-memory" / GetParam();
    std::ifstream(directory_ / "meta.json") >> meta_;
    layout_ = layout_by_name(meta_["gen"].get<std::string>());
    ASSERT_NE(layout_, nullptr);
    placement_ = placement_for(meta_["arch"] == "wh" ? "wormhole_b0" : "blackhole");
  }

  fs::path epoch(unsigned e) const {
    char name[16];
    std::snprintf(name, sizeof name, "epoch%04u", e);
    return directory_ / name;
  }
  static std::string at(const nlohmann::json& core) {
    char text[16];
    std::snprintf(text, sizeof text, "%02u_%02u", core["x"].get<unsigned>(), core["y"].get<unsigned>());
    return text;
  }

  // visit(core, risc, epoch, lane, words)
  template <class Visit>
  void each_lane(Visit&& visit) const {
    for (const auto& core : meta_["cores"])
      for (uint8_t risc = 0; risc < device::kMaxRiscs; ++risc)
        for (unsigned e = 0; e < meta_["epochs"].get<unsigned>(); ++e) {
          const auto path = epoch(e) / ("dram_" + at(core) + "_r" + std::to_string(risc) + ".bin");
          if (!fs::exists(path)) continue;
          const Lane lane{&layout_->format, risc, core["flat"].get<uint8_t>()};
          visit(core, risc, e, lane, words_of(path));
        }
  }

  fs::path directory_;
  nlohmann::json meta_;
  const Layout* layout_ = nullptr;
  const Placement* placement_ = nullptr;
};

TEST_P(GoldenMemory, decodes_to_exactly_what_the_firmware_did) {
  const ZoneNames names = names_of(directory_ / "zone_src_locations.log");
  Rows found, found_once;
  Anomalies seen;
  std::map<std::pair<unsigned, unsigned>, FrameDigest> digests;
  each_lane([&](const nlohmann::json& core, uint8_t risc, unsigned, const Lane& lane,
                const std::vector<uint32_t>& words) {
    FrameDigest& digest = digests[{lane.flat_id, risc}];
    LaneDecoder decoder(lane);
    decoder.resume(digest);
    Batch batch;
    decoder.decode(words, batch);
    digest = decoder.digest();
    seen.add(decoder.anomalies());
    const std::string prefix = std::to_string(core["x"].get<unsigned>()) + ',' +
                               std::to_string(core["y"].get<unsigned>()) + ',' + std::to_string(risc) + ',';
    for (const auto& row : rows_of(batch, names, true)) found.push_back(prefix + row);
    for (const auto& row : rows_of(batch, names, false)) found_once.push_back(prefix + without_ordinal(row));
  });
  const Rows expected = lines_of(directory_ / "events.csv");
  EXPECT_EQ(sorted(found), sorted(expected));  // repeats of quick push included, frame by frame
  // Without the flagged repeats every event is there once. The lane prefix holds three more commas.
  Rows once;
  for (const std::string& row : expected) {
    size_t lane_end = 0;
    for (int comma = 0; comma < 3; ++comma) lane_end = row.find(',', lane_end) + 1;
    once.push_back(row.substr(0, lane_end) + without_ordinal(row.substr(lane_end)));
  }
  std::sort(once.begin(), once.end());
  once.erase(std::unique(once.begin(), once.end()), once.end());
  EXPECT_EQ(sorted(found_once), once);

  EXPECT_EQ(seen.duplicate_markers, expected.size() - once.size());
  EXPECT_EQ(seen.unparsable_words, 0u);
  EXPECT_EQ(seen.resyncs, 0u);
  EXPECT_EQ(seen.damaged_sentinels, 0u);
  EXPECT_EQ(seen.overrun_frames, 0u);
  EXPECT_EQ(seen.truncated_packets, 0u);
  EXPECT_EQ(seen.unknown_packets, 0u);
  EXPECT_EQ(seen.repaired_times, 0u);
  EXPECT_EQ(seen.backward_times, 0u);
}

TEST_P(GoldenMemory, starting_at_any_frame_with_the_digest_before_it_decodes_the_same) {
  std::map<std::pair<unsigned, unsigned>, FrameDigest> digests;
  each_lane([&](const nlohmann::json&, uint8_t risc, unsigned e, const Lane& lane,
                const std::vector<uint32_t>& words) {
    SCOPED_TRACE("flat " + std::to_string(lane.flat_id) + " RISC " + std::to_string(risc) + " epoch " +
                 std::to_string(e));
    FrameDigest& digest = digests[{lane.flat_id, risc}];
    expect_same_from_any_frame(lane, digest, words);
    LaneDecoder decoder(lane);
    decoder.resume(digest);
    Batch batch;
    decoder.decode(words, batch);
    digest = decoder.digest();
  });
}

TEST_P(GoldenMemory, verifies_clean_with_the_digest_the_decoder_reaches) {
  std::map<std::pair<unsigned, unsigned>, FrameDigest> digests;
  each_lane([&](const nlohmann::json&, uint8_t risc, unsigned e, const Lane& lane,
                const std::vector<uint32_t>& words) {
    SCOPED_TRACE("flat " + std::to_string(lane.flat_id) + " RISC " + std::to_string(risc) + " epoch " +
                 std::to_string(e));
    FrameDigest& digest = digests[{lane.flat_id, risc}];
    LaneDecoder decoder(lane);
    decoder.resume(digest);
    Batch batch;
    decoder.decode(words, batch);
    expect_verified(lane, digest, words, decoder, batch);
    digest = decoder.digest();
  });
}

TEST_P(GoldenMemory, control_vectors_say_how_long_the_logs_are_and_where_they_lie) {
  for (const auto& core : meta_["cores"]) {
    const uint32_t flat = core["flat"];
    const LogPlace place = log_place(flat, 0, meta_["C"], placement_->dram_base, meta_["P"]);
    EXPECT_EQ(place.bank, core["bank"].get<uint32_t>());
    EXPECT_EQ(place.address, core["dram_addr"].get<uint64_t>());
    for (unsigned e = 0; e < meta_["epochs"].get<unsigned>(); ++e) {
      const auto words = words_of(epoch(e) / ("cv_" + at(core) + ".bin"));
      ASSERT_EQ(words.size(), layout_->format.control_words);
      const ControlVector v = parse_control_vector(words, *layout_);
      EXPECT_EQ(disagreement(v, *placement_), std::nullopt);
      EXPECT_EQ(v.flat_id, flat);
      EXPECT_EQ(v.core_count_per_dram, meta_["C"].get<uint32_t>());
      EXPECT_EQ(v.dropped, 0u);
      for (unsigned r = 0; r < device::kMaxRiscs; ++r) {
        const auto log = epoch(e) / ("dram_" + at(core) + "_r" + std::to_string(r) + ".bin");
        EXPECT_EQ(v.host_end[r], fs::exists(log) ? fs::file_size(log) / 4 : 0) << log;
      }
    }
  }
}

TEST_P(GoldenMemory, is_discovered_where_the_compiler_put_it) {
  const auto& at_layout = meta_["layout"];
  const uint32_t base = placement_->place(CoreKind::tensix).mailbox_base;
  ASSERT_EQ(base, at_layout["MAILBOX_BASE"].get<uint32_t>());
  for (const auto& core : meta_["cores"])
    for (unsigned e = 0; e < meta_["epochs"].get<unsigned>(); ++e) {
      std::vector<uint32_t> image(0x4000);
      const auto put = [&](uint32_t address, const std::vector<uint32_t>& words) {
        std::copy(words.begin(), words.end(), image.begin() + (address - base) / 4);
      };
      put(at_layout["CORE_INFO_ADDR"].get<uint32_t>() + at_layout["OFF_MAGIC"].get<uint32_t>(),
          {kWorkerMagic});
      put(at_layout["CV_ADDR"], words_of(epoch(e) / ("cv_" + at(core) + ".bin")));
      put(at_layout["BUF_ADDR"], words_of(epoch(e) / ("l1_" + at(core) + ".bin")));
      const Discovery d = discover({base, image}, *placement_);
      ASSERT_TRUE(d) << joined(d.evidence);
      EXPECT_EQ(d.layout, layout_);
      EXPECT_EQ(d.control_address, at_layout["CV_ADDR"].get<uint32_t>());
      EXPECT_EQ(d.buffer_address, at_layout["BUF_ADDR"].get<uint32_t>());
      const std::span<const uint32_t> just_enough = std::span(image).first(kDiscoveryBytes / 4);
      EXPECT_EQ(discover({base, just_enough}, *placement_).layout, layout_);
    }
}

std::vector<std::string> golden_directories() {
  std::vector<std::string> found;
  std::error_code none;
  const std::string golden = TTC_GOLDEN_DIR;
  if (!golden.empty())
    for (const auto& entry : fs::directory_iterator(fs::path(golden) / "firmware-memory", none))
      if (entry.is_directory()) found.push_back(entry.path().filename());
  std::sort(found.begin(), found.end());
  if (found.empty()) found.push_back("");
  return found;
}

INSTANTIATE_TEST_SUITE_P(Directories, GoldenMemory, testing::ValuesIn(golden_directories()),
                         [](const auto& param) { return param.param.empty() ? "none" : param.param; });

// One lane of that data, kept here: quick push, stale tail, full packets (tests/data/README.md).
class OneFirmwareLane : public testing::Test {
 protected:
  const fs::path directory_ = fs::path(TTC_TEST_DATA) / "firmware_lane";
  const Lane lane_{&device::kG4, 1, 49};
  const std::vector<uint32_t> words_ = words_of(directory_ / "lane.bin");
};

TEST_F(OneFirmwareLane, decodes_to_exactly_what_the_firmware_did) {
  LaneDecoder decoder(lane_);
  Batch batch;
  decoder.decode(words_, batch);
  const ZoneNames names = names_of(directory_ / "zone_src_locations.log");
  const Rows expected = lines_of(directory_ / "events.csv");
  EXPECT_EQ(sorted(rows_of(batch, names, true)), sorted(expected));
  const Rows once = rows_of(batch, names, false);
  EXPECT_EQ(once.size(), distinct_events(once).size());
  EXPECT_EQ(distinct_events(once), distinct_events(expected));
  EXPECT_GT(decoder.anomalies().stale_markers, 0u);
  EXPECT_EQ(decoder.anomalies().duplicate_markers, expected.size() - once.size());
  EXPECT_GT(decoder.anomalies().duplicate_markers, 0u);
}

TEST_F(OneFirmwareLane, starting_at_any_frame_with_the_digest_before_it_decodes_the_same) {
  expect_same_from_any_frame(lane_, {}, words_);
}

TEST_F(OneFirmwareLane, verifies_clean_with_the_digest_the_decoder_reaches) {
  LaneDecoder decoder(lane_);
  Batch batch;
  decoder.decode(words_, batch);
  expect_verified(lane_, {}, words_, decoder, batch);
}

}  // namespace
}  // namespace ttc::markers
