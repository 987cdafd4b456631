// Chunks of the host's side into zones and messages: what comes before its name, what is missing, what several processes send.
#include "tools/report/host/host_stream.hpp"

#include <gtest/gtest.h>

#include <random>

#include "tests/support/host_chunks.hpp"

namespace ttc::report {
namespace {

using collect::EventKind;
using tests::HostChunk;

class Lines : public HostListener {
 public:
  void message(const HostMessage& m) override {
    all.push_back("message " + std::to_string(m.process) + " " + std::to_string(m.ns) + " " +
                  std::string(m.text));
  }
  void zone(const HostZone& z) override {
    all.push_back("zone " + std::to_string(z.process) + " " + z.source->shown() + " " +
                  std::to_string(z.start_ns) + " " + std::to_string(z.end_ns) + " " + z.text.value_or("-") +
                  " " + z.parent_text.value_or("-"));
  }
  std::vector<std::string> all;
};

using Strings = std::vector<std::string>;

TEST(HostStream, what_comes_before_its_name_waits_for_it) {
  Lines lines;
  HostStream stream(lines);
  HostChunk().source(1, "first").push_names(stream);
  HostChunk().zone(9, 1, 1010, 1020).zone(9, 2, 1030, 1040).message(1050, "behind").push(stream, 0);
  HostChunk().add(EventKind::literal, 9, 1060, 77).zone(9, 1, 1070, 1080).push(stream, 1);
  EXPECT_EQ(lines.all, Strings{"zone 0 first 20 40 - -"});
  HostChunk().source(2, "second").push_names(stream);
  EXPECT_EQ(lines.all,
            (Strings{"zone 0 first 20 40 - -", "zone 0 second 60 80 - -", "message 0 100 behind"}));
  HostChunk().add(EventKind::string, 0, 0, 77, "a literal").push_names(stream);
  EXPECT_EQ(lines.all.size(), 5u);
  EXPECT_EQ(lines.all[3], "message 0 120 a literal");
  EXPECT_EQ(lines.all[4], "zone 0 first 140 160 - -");
  EXPECT_EQ(stream.remarks(), Strings());
}

TEST(HostStream, names_that_never_come_hold_nothing_back_at_the_end) {
  Lines lines;
  HostStream stream(lines);
  HostChunk().zone(9, 5, 1010, 1020).message(1050, "behind").push(stream, 0);
  HostChunk().add(EventKind::literal, 9, 1060, 77).push(stream, 1);
  EXPECT_EQ(lines.all, Strings());
  stream.end();
  EXPECT_EQ(lines.all, (Strings{"zone 0  20 40 - -", "message 0 100 behind", "message 0 120 "}));
}

// One process that waits does not hold up another.
TEST(HostStream, processes_wait_by_themselves) {
  Lines lines;
  HostStream stream(lines);
  HostChunk(0).zone(9, 5, 1010, 1020).push(stream, 0);
  HostChunk(1).message(1050, "of the second").push(stream, 1);
  EXPECT_EQ(lines.all, Strings{"message 1 10100 of the second"});
}

// Those of another process that began earlier are negative.
TEST(HostStream, times_are_on_the_first_process_line) {
  Lines lines;
  HostStream stream(lines);
  HostChunk(1).message(1000, "first").push(stream, 0);
  HostChunk(0).message(1000, "earlier").push(stream, 1);
  EXPECT_EQ(lines.all, (Strings{"message 1 0 first", "message 0 -10000 earlier"}));
}

TEST(HostStream, missing_chunks_end_no_zone_also_where_events_wait) {
  Lines lines;
  HostStream stream(lines);
  HostChunk().add(EventKind::zone_begin, 9, 1010, 5).push(stream, 0);
  HostChunk().add(EventKind::zone_end, 9, 1090).zone(9, 5, 1100, 1110).push(stream, 2);  // 1 is missing
  HostChunk().source(5, "late").push_names(stream);
  EXPECT_EQ(lines.all, Strings{"zone 0 late 200 220 - -"});
  EXPECT_EQ(stream.remarks().size(), 2u);  // and an end without a beginning
}

TEST(HostStream, zones_within_an_op_have_its_whole_text) {
  Lines lines;
  HostStream stream(lines);
  HostChunk()
      .source(1, "TT_DNN_DEVICE_OP")
      .source(2, "CompileProgram")
      .source(3, "other")
      .add(EventKind::zone_begin, 9, 1010, 1)
      .zone(9, 3, 1011, 1012)
      .add(EventKind::zone_begin, 9, 1013, 3)
      .zone(9, 2, 1014, 1015)
      .add(EventKind::zone_end, 9, 1016)
      .add(EventKind::zone_text, 9, 0, 0, "id:7")
      .add(EventKind::zone_end, 9, 1020)
      .zone(9, 2, 1030, 1031)
      .push(stream, 0);
  EXPECT_EQ(lines.all,
            (Strings{"zone 0 other 22 24 - -", "zone 0 other 26 32 - -", "zone 0 CompileProgram 28 30 - id:7",
                     "zone 0 TT_DNN_DEVICE_OP 20 40 id:7 -", "zone 0 CompileProgram 60 62 - -"}));
}

TEST(HostStream, facts_of_a_process) {
  Lines lines;
  HostStream stream(lines);
  const std::string text = std::string("python3") + '\0' + "a machine" + '\0' + "rank=3" + '\0' +
                           "chips=2,5" + '\0' + "new=1" + '\0';
  HostChunk(4).add(EventKind::process, 0, 0, 1234, text).push_names(stream);
  const HostProcess& process = stream.processes().at(4);
  EXPECT_EQ(process.label(), "1234 python3 rank 3");
  EXPECT_EQ(process.chips, (std::vector<uint32_t>{2, 5}));
}

// In whatever order names come, and however chunks are cut, the zones are the same.
TEST(HostStream, any_delay_of_names_gives_the_same) {
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    std::mt19937_64 random(seed);
    const size_t sources = 1 + random() % 6;
    std::vector<std::pair<int64_t, uint64_t>> zones;
    for (size_t i = 0; i < 40; ++i)
      zones.emplace_back(1000 + 10 * static_cast<int64_t>(i), 1 + random() % sources);
    Lines at_once, delayed;
    {
      HostStream stream(at_once);
      HostChunk names, events;
      for (uint64_t s = 1; s <= sources; ++s) names.source(s, ("zone " + std::to_string(s)).c_str());
      for (const auto& [at, source] : zones) events.zone(9, source, at, at + 3);
      names.push_names(stream);
      events.push(stream, 0);
      stream.end();
    }
    HostStream stream(delayed);
    uint64_t named = 0, sequence = 0;
    for (size_t i = 0; i < zones.size();) {
      HostChunk events;
      for (size_t n = 1 + random() % 7; n > 0 && i < zones.size(); --n, ++i)
        events.zone(9, zones[i].second, zones[i].first, zones[i].first + 3);
      events.push(stream, sequence++);
      if (random() % 3 == 0 && named < sources) {
        ++named;
        HostChunk().source(named, ("zone " + std::to_string(named)).c_str()).push_names(stream);
      }
    }
    while (named++ < sources)
      HostChunk().source(named, ("zone " + std::to_string(named)).c_str()).push_names(stream);
    stream.end();
    ASSERT_EQ(delayed.all, at_once.all) << "seed " << seed;
  }
}

}  // namespace
}  // namespace ttc::report
