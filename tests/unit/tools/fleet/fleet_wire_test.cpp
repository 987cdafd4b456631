// Subjects, rows and commands on the bus: what goes in comes out, and what others send is refused with a reason.
#include <gtest/gtest.h>

#include <map>

#include "tools/fleet/wire/batch.hpp"
#include "tools/fleet/wire/control.hpp"
#include "tools/fleet/wire/identity.hpp"

namespace {

using namespace ttc::fleet;

Identity fleet_identity(const std::map<std::string, std::string>& variables, const std::string& host,
                        const TypedIdentity& typed = {}) {
  return identity_of(
      [&](const char* name) {
        const auto it = variables.find(name);
        return it == variables.end() ? nullptr : it->second.c_str();
      },
      host, typed);
}

TEST(FleetWire, ranks_are_named_by_their_launchers) {
  EXPECT_EQ(fleet_identity({}, "node7.example.org").prefix(), "local.default.node7.0");
  EXPECT_EQ(
      fleet_identity({{"SLURM_JOB_ID", "42"}, {"SLURM_PROCID", "3"}, {"SLURM_CLUSTER_NAME", "big"}}, "n")
          .prefix(),
      "big.42.n.3");
  EXPECT_EQ(fleet_identity({{"TT_RUN_RANK", "5"}, {"SLURM_PROCID", "3"}}, "n").name(), "n_rank_5");
  EXPECT_EQ(fleet_identity({{"OMPI_COMM_WORLD_RANK", "nonsense"}, {"PMI_RANK", "6"}}, "n").rank, 6u);
  EXPECT_EQ(fleet_identity({{"PMIX_RANK", "6"}}, "n", {"c", "j", "h", 9}).prefix(), "c.j.h.9");
}

TEST(FleetWire, hostile_names_become_tokens_and_stay_apart) {
  const std::string names[] = {"a.b", "a b", "a.*.>", "", "\r\nPUB x", std::string(200, 'x'), "ü"};
  for (const std::string& text : names) {
    EXPECT_TRUE(is_token(token_of(text))) << text;
    EXPECT_NE(token_of(text), token_of(text + "!"));
  }
  EXPECT_EQ(token_of("node-1_a"), "node-1_a");
  EXPECT_NE(token_of("a.b"), token_of("a*b"));
}

TEST(FleetWire, subjects_say_whose_rows_they_are) {
  Identity who;
  std::string kind;
  ASSERT_TRUE(parse_rows_subject("tt.c.j.h.12.ops", who, kind));
  EXPECT_EQ(who.prefix(), "c.j.h.12");
  EXPECT_EQ(rows_subject(who, kind), "tt.c.j.h.12.ops");
  for (const char* text : {"", "tt", "tt.c.j.h.ops", "tt.c.j.h.12.ops.x", "xx.c.j.h.1.ops", "tt.c.j.h.-1.ops",
                           "tt.c.j.h.99999999999.ops", "tt..j.h.1.ops", "tt.c.*.h.1.ops", "tt.c.j.h.1."})
    EXPECT_FALSE(parse_rows_subject(text, who, kind)) << text;
}

std::vector<OpRow> fleet_rows(size_t count) {
  std::vector<OpRow> rows(count);
  for (size_t i = 0; i < count; ++i)
    rows[i].begin_ns = i * 1000, rows[i].host_id = static_cast<uint32_t>(i % 7);
  return rows;
}

TEST(FleetWire, batches_come_back_as_they_were) {
  const auto rows = fleet_rows(5000);
  const std::string bytes = encode_batch(RowKind::ops, 77, 3, 123456, rows);
  EXPECT_LT(bytes.size(), rows.size() * sizeof(OpRow) / 3);
  std::string wrong;
  const auto batch = decode_batch(bytes, wrong);
  ASSERT_TRUE(batch) << wrong;
  EXPECT_EQ(batch->header.session, 77u);
  EXPECT_EQ(batch->header.position, 123456u);
  const auto back = batch->rows<OpRow>();
  ASSERT_EQ(back.size(), rows.size());
  EXPECT_EQ(back[4999].begin_ns, rows[4999].begin_ns);
}

TEST(FleetWire, rows_of_a_later_version_are_read_as_far_as_they_are_known) {
  struct Longer {
    OpRow row;
    uint64_t more = 9;
  };
  std::vector<Longer> rows(3);
  rows[2].row.host_id = 5;
  std::string wrong;
  const auto batch =
      decode_batch(encode_batch(RowKind::ops, 1, 0, 0, rows.data(), rows.size(), sizeof(Longer)), wrong);
  ASSERT_TRUE(batch) << wrong;
  EXPECT_EQ(batch->rows<OpRow>()[2].host_id, 5u);
}

TEST(FleetWire, damaged_batches_are_refused) {
  const std::string bytes = encode_batch(RowKind::ops, 77, 3, 1, fleet_rows(50));
  std::string wrong;
  for (size_t size = 0; size < bytes.size(); ++size) EXPECT_FALSE(decode_batch(bytes.substr(0, size), wrong));
  for (const size_t at : {0u, 4u, 5u, 6u, 20u, 32u, 60u, 70u}) {
    std::string other = bytes;
    other[at] = static_cast<char>(other[at] ^ 0x55);
    EXPECT_FALSE(decode_batch(other, wrong)) << at;
    EXPECT_FALSE(wrong.empty());
  }
}

TEST(FleetWire, batches_have_names) {
  const BatchName name{0xabcdef, 7, RowKind::telemetry, 99};
  EXPECT_EQ(text_of(name), "0000000000abcdef-7-telemetry-99");
  EXPECT_EQ(parse_batch_name(text_of(name)), name);
  for (const char* text : {"", "x", "0000000000abcdef-7-telemetry-", "0000000000abcdef-7-what-1",
                           "0000000000abcdef-7-ops-1 ", "abc-7-ops-1"})
    EXPECT_FALSE(parse_batch_name(text)) << text;
}

TEST(FleetWire, commands_are_what_they_say_or_nothing) {
  Command dump;
  dump.kind = CommandKind::dump, dump.by = "me@here", dump.id = "d1", dump.at_common_ns = 5, dump.last_ns = 6;
  std::string wrong;
  const auto back = parse_command(to_text(dump), wrong);
  ASSERT_TRUE(back) << wrong;
  EXPECT_EQ(back->last_ns, 6u);
  for (const char* text :
       {"", "{", "[]", "{}", R"({"cmd":"rm"})", R"({"cmd":"dump","id":"../x","last_ns":1})",
        R"({"cmd":"dump","id":"x"})", R"({"cmd":"dump","id":"x","last_ns":-1})",
        R"({"cmd":"fetch","id":"a/b","length":1})", R"({"cmd":"fetch","id":"a","length":99999999})",
        R"({"cmd":"arm"})", R"({"cmd":7})"})
    EXPECT_FALSE(parse_command(text, wrong)) << text;
  EXPECT_FALSE(
      parse_command("{\"cmd\":\"ls\",\"by\":\"" + std::string(kMostCommandBytes, 'x') + "\"}", wrong));
}

TEST(FleetWire, states_answers_and_pieces_come_back) {
  AgentState state;
  state.session = ~uint64_t{0}, state.clock_offset_ns = -5, state.triggers = {"step>1s"};
  std::string wrong;
  const auto back = parse_state(to_text(state), wrong);
  ASSERT_TRUE(back) << wrong;
  EXPECT_EQ(back->session, state.session);
  EXPECT_EQ(back->clock_offset_ns, -5);
  Answer answer;
  answer.ok = true, answer.digest = ~uint64_t{0};
  answer.clock.reference = 4;
  answer.clock.points.add({1'000, -7, 3});
  EXPECT_EQ(parse_answer(to_text(answer), wrong)->digest, answer.digest);
  EXPECT_EQ(parse_answer(to_text(answer), wrong)->clock.points.all(), answer.clock.points.all());
  const std::string piece = encode_chunk(10, 20, "0123456789");
  ASSERT_TRUE(parse_chunk(piece));
  EXPECT_EQ(parse_chunk(piece)->bytes, "0123456789");
  EXPECT_FALSE(parse_chunk(piece + "x"));
  EXPECT_FALSE(parse_chunk(encode_chunk(15, 20, "0123456789")));
  EXPECT_FALSE(parse_clock(encode_clock({1, 10, 9, 0, 0, 0})));  // sent before it was received
  EXPECT_FALSE(parse_clock(encode_clock({1, 1, 2, 0, INT64_MIN, 0})));
  EXPECT_EQ(parse_progress(encode_progress({4, 5, 6, 7}))->ops, 5u);
}

}  // namespace
