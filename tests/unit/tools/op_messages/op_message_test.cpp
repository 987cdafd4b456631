#include "tools/op_messages/op_message.hpp"

#include <gtest/gtest.h>

namespace ttc::tools {
namespace {

TEST(OpMessage, both_forms_of_its_fields) {
  const auto now = op_message(R"(TT_DNN_DEVICE_OP: "Matmul", 18446744073709551615, 3, false, 1027)");
  ASSERT_TRUE(now);
  EXPECT_EQ(now->code, "Matmul");
  EXPECT_EQ(now->program_hash, ~uint64_t{0});
  EXPECT_EQ(now->device, 3u);
  EXPECT_EQ(now->cache_hit, false);
  EXPECT_EQ(now->call_count, 1027u);
  const auto before = op_message(R"(TT_DNN_DEVICE_OP: "a, b", 5, 0, 17)");
  ASSERT_TRUE(before);
  EXPECT_EQ(before->code, "a, b");
  EXPECT_EQ(before->cache_hit, std::nullopt);
  EXPECT_EQ(before->call_count, 17u);
}

TEST(OpMessage, what_has_other_fields_is_none) {
  for (const char* text :
       {"", "TT_DNN_DEVICE_OP", R"(TT_DNN_DEVICE_OP: "A", 5, 0)", R"(TT_DNN_DEVICE_OP: "A", 5, 0, maybe, 17)",
        R"(TT_DNN_DEVICE_OP: "A", x, 0, 17)", R"(TT_DNN_DEVICE_OP: "A", 5, -1, 17)",
        R"(TT_DNN_DEVICE_OP: "A", 5, 0, true, 4294967296)"})
    EXPECT_FALSE(op_message(text)) << text;
}

TEST(NamedOp, of_messages_with_json_and_without) {
  const auto described =
      named_op("`TT_DNN_DEVICE_OP: \"Add \\\"x\\\"\", 5, 1, false, 7 ->\n{\"op_code\": \"other\"}`");
  ASSERT_TRUE(described);
  EXPECT_EQ(described->name, "Add \"x\"");
  EXPECT_EQ(described->device, 1u);
  EXPECT_EQ(described->call_count, 7u);
  const auto cached = named_op("TT_DNN_DEVICE_OP: \"Add\", 5, 0, true, 8");
  ASSERT_TRUE(cached);
  EXPECT_EQ(cached->name, "Add");
}

TEST(NamedOp, by_its_json_where_the_fields_have_another_form) {
  const auto op = named_op(
      "`TT_DNN_DEVICE_OP: ->\n{\"op_code\": \"Softmax\", \"device_id\": 2, \"global_call_count\": 9}`");
  ASSERT_TRUE(op);
  EXPECT_EQ(op->name, "Softmax");
  EXPECT_EQ(op->device, 2u);
  EXPECT_EQ(op->call_count, 9u);
}

TEST(NamedOp, none_of_what_is_no_device_op) {
  for (const char* text :
       {"`TT_SIGNPOST: \"A\", 5, 0, 17`", "`TT_DNN_FALL_BACK_OP: \"A\", 5, 0, 17`", "`", "``",
        "TT_DNN_DEVICE_OP: ->\n{\"op_code\": 5, \"device_id\": 2, \"global_call_count\": 9}",
        "TT_DNN_DEVICE_OP: ->\n{\"op_code\": \"A\", \"device_id\": -2, \"global_call_count\": 9}"})
    EXPECT_FALSE(named_op(text)) << text;
}

}  // namespace
}  // namespace ttc::tools
