#include "ttcollect/redact.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <nlohmann/json.hpp>
#include <random>

#include "firmware_markers/zone_names.hpp"
#include "tests/support/capture_blocks.hpp"

namespace ttc::collect {
namespace {

constexpr const char* kSession =
    R"({"device":"/dev/tenstorrent/by-id/wormhole-1122334455667788","chip":0,"cores":[[1,2,3,0]],"environment":{)"
    R"("collector":{"version":"0.1.0","pid":7},"host":{"name":"alices-laptop","kernel":"Linux 6"},)"
    R"("serial":"0100018511732042","workload":{"pid":8,"command":"python /home/alice/secret.py",)"
    R"("environment":{"TT_METAL_HOME":"/home/alice"}}}})";

std::string body_text(std::span<const uint64_t> chunk) {
  const auto body = shm::body_of(chunk);
  return {body.begin(), body.end()};
}

TEST(Redact, a_session_loses_what_is_personal_and_keeps_what_readers_need) {
  const Chunk chunk = fact_chunk(shm::ChunkKind::session, 0, kSession);
  std::set<std::string> found;
  list_personal(chunk, found);
  EXPECT_EQ(found.size(), 5u);
  Redactor redactor;
  const auto redacted = redactor.redacted(chunk);
  EXPECT_EQ(shm::check_chunk(redacted), "");
  const std::string text = body_text(redacted);
  for (const char* personal : {"alice", "secret", "1122334455667788", "0100018511732042"})
    EXPECT_EQ(text.find(personal), std::string::npos) << personal;
  const auto session = nlohmann::json::parse(text);
  EXPECT_EQ(session["cores"].size(), 1u);
  EXPECT_EQ(session["environment"]["host"]["kernel"], "Linux 6");
  EXPECT_EQ(session["environment"]["collector"]["version"], "0.1.0");
  EXPECT_EQ(session["redacted"], true);
  found.clear();
  list_personal(redacted, found);
  EXPECT_TRUE(found.empty());
}

TEST(Redact, a_zone_keeps_its_id_its_name_its_line_and_the_last_name_of_its_file) {
  std::mt19937 dice(5);
  for (int i = 0; i < 40; ++i) {
    const std::string zone = "ZONE_" + std::to_string(dice()) + ",/home/alice/k" + std::to_string(i) +
                             "/reader.cpp," + std::to_string(dice() % 1000) + ",KERNEL_PROFILER";
    const std::string redacted = redacted_zone(zone);
    EXPECT_EQ(markers::hash16(redacted), markers::hash16(zone)) << zone;
    const auto before = markers::parse_zone_string(zone), after = markers::parse_zone_string(redacted);
    ASSERT_TRUE(after) << redacted;
    EXPECT_EQ(after->name, before->name);
    EXPECT_EQ(after->line, before->line);
    EXPECT_EQ(after->file.substr(0, 11), "reader.cpp~");
  }
  EXPECT_EQ(redacted_zone("A,plain.cpp,1,KERNEL_PROFILER"), "A,plain.cpp,1,KERNEL_PROFILER");
  EXPECT_EQ(redacted_zone("no zone at all"), "");
}

TEST(Redact, a_session_that_is_no_json_and_names_that_are_none_leave_nothing) {
  Redactor redactor;
  EXPECT_EQ(body_text(redactor.redacted(fact_chunk(shm::ChunkKind::session, 0, "alice {"))),
            R"({"redacted":true})");
  EXPECT_EQ(body_text(redactor.redacted(fact_chunk(shm::ChunkKind::names, 0, "alice\n,,\n"))), "");
  const Chunk words = words_chunk(1, 2, 0, {{0, 0, {1, 2, 3}}});
  EXPECT_EQ(redactor.redacted(words).data(), words.data());
}

}  // namespace
}  // namespace ttc::collect
