#include <gtest/gtest.h>

#include "tools/chip/workload.hpp"

namespace {

using namespace ttc::chip;

std::string refusal_of(std::string_view toml) {
  try {
    read_workload(toml, "w.toml");
  } catch (const WorkloadError& e) {
    return e.what();
  }
  return "";
}

TEST(ChipWorkloadFile, what_it_says_is_read) {
  const ChipWorkload w = read_workload(R"(
name = "two"
jitter = 0.1
[[op]]
code = "MatmulDeviceOperation"
pattern = "multicast"
cores = 12
blocks = 3
math_cycles = 77
host_us = 2.5
repeat = 4
inputs = [[1, 2, 64, 128], [1, 2, 128, 32]]
flops = 1048576
race = { from = 3, to = 7, slack_cycles = 900 }
[[op]]
hang = { slack_cycles = 5 }
)",
                                       "w.toml");
  EXPECT_EQ(w.name, "two");
  EXPECT_EQ(w.jitter, 0.1);
  ASSERT_EQ(w.ops.size(), 2u);
  EXPECT_EQ(w.ops[0].code, "MatmulDeviceOperation");
  EXPECT_EQ(w.ops[0].pattern, Pattern::multicast);
  EXPECT_EQ(w.ops[0].cores, 12u);
  EXPECT_EQ(w.ops[0].blocks, 3u);
  EXPECT_EQ(w.ops[0].math, 77u);
  EXPECT_EQ(w.ops[0].host_us, 2.5);
  EXPECT_EQ(w.ops[0].repeat, 4u);
  ASSERT_EQ(w.ops[0].inputs.size(), 2u);
  EXPECT_EQ(w.ops[0].inputs[1].y, 128u);
  EXPECT_EQ(w.ops[0].flops, 1048576u);
  EXPECT_EQ(w.ops[0].race.from, 3u);
  EXPECT_EQ(w.ops[0].race.to, 7u);
  EXPECT_EQ(w.ops[0].race.slack, 900u);
  EXPECT_EQ(w.ops[0].hang.slack, 0u);
  EXPECT_EQ(w.ops[1].blocks, ChipOp{}.blocks);
  EXPECT_EQ(w.ops[1].hang.from, 0u);
  EXPECT_EQ(w.ops[1].hang.to, 1u);
  EXPECT_EQ(w.ops[1].hang.slack, 5u);
}

TEST(ChipWorkloadFile, what_is_wrong_is_said_with_its_line) {
  EXPECT_EQ(refusal_of("jitter = 0.1\n"), "w.toml:1: it holds no [[op]]");
  EXPECT_EQ(refusal_of("[[op]]\nblocks = 0\n"), "w.toml:2: blocks must be a whole number from 1 to 10000");
  EXPECT_EQ(refusal_of("[[op]]\nblocks = 2.5\n"), "w.toml:2: blocks must be a whole number from 1 to 10000");
  EXPECT_EQ(refusal_of("[[op]]\n\npattern = \"star\"\n"),
            "w.toml:3: pattern 'star' is none of stream, multicast, pipeline, ring");
  EXPECT_EQ(refusal_of("jitter = 2\n[[op]]\n"), "w.toml:1: jitter must be a number from 0 to 0.9");
  EXPECT_EQ(refusal_of("jitter = nan\n[[op]]\n"), "w.toml:1: jitter must be a number from 0 to 0.9");
  EXPECT_TRUE(refusal_of("[[op]]\nbloks = 3\n").starts_with("w.toml:2: 'bloks' is not known here; "));
  EXPECT_TRUE(refusal_of("[[op]]\ninputs = [[1, 1, 32]]\n").starts_with("w.toml:2: inputs must be shapes"));
  EXPECT_TRUE(refusal_of("[[op]]\ncode = \"a`b\"\n").starts_with("w.toml:2: code holds"));
  EXPECT_EQ(refusal_of("[[op]]\nrace = 5\n"),
            "w.toml:2: race must be written as race = { from = 0, to = 1, slack_cycles = 5000 }");
  EXPECT_EQ(refusal_of("[[op]]\nhang = { from = 1, to = 1, slack_cycles = 5 }\n"),
            "w.toml:2: hang must be between two cores");
  EXPECT_TRUE(
      refusal_of("[[op]]\nhang = { slack = 5 }\n").starts_with("w.toml:2: 'slack' is not known here; "));
  EXPECT_TRUE(refusal_of("op = 3\n").starts_with("w.toml:1: op must be tables"));
  EXPECT_TRUE(refusal_of("[[op]\n").starts_with("w.toml:1: ")) << refusal_of("[[op]\n");
  EXPECT_TRUE(refusal_of("[[.p]]\n").starts_with("w.toml:1: ")) << "the parser ended the program";
  EXPECT_EQ(refusal_of("[[op]]\ncode = \"\xc3\xa4\"\n"),
            "w.toml:2: only comments may have characters beyond ASCII; write \\uXXXX in a text");
  EXPECT_EQ(refusal_of("[[op]]\nblocks = 2\xcc\xbd\n"),
            "w.toml:2: only comments may have characters beyond ASCII; write \\uXXXX in a text");
  EXPECT_NO_THROW(read_workload("# \xc3\xa4\n[[op]]\nblocks = 2 # \xc3\xa4\n", "w.toml"));
  EXPECT_TRUE(refusal_of("[[op]]\nblocks = 3\nblocks = 4\n").starts_with("w.toml:3: "));
}

TEST(ChipWorkloadFile, every_builtin_is_one) {
  EXPECT_EQ(builtin_names(), "matmul, pipeline, allreduce, imbalanced");
  for (const char* name : {"matmul", "pipeline", "allreduce", "imbalanced"})
    EXPECT_EQ(read_workload(builtin_workload(name), name).name, name);
  EXPECT_EQ(builtin_workload("other"), nullptr);
}

}  // namespace
