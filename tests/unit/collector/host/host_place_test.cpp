// Which PCI function is behind an open card, and what its link can carry.
#include "collector/host/host_place.hpp"

#include <gtest/gtest.h>

namespace ttc::collect {
namespace {

card::PciFunction function(const char* bdf, std::optional<unsigned> ordinal, const char* by_id) {
  card::PciFunction f;
  f.bdf = bdf;
  f.ordinal = ordinal;
  if (ordinal) f.node = "/dev/tenstorrent/" + std::to_string(*ordinal);
  f.by_id = by_id;
  return f;
}

std::string found(const char* spec, const char* live_name) {
  const card::PciFunction functions[] = {
      function("0000:01:00.0", {}, ""), function("0000:41:00.0", 1, "blackhole-aa"),
      function("0000:c1:00.0", 0, "wormhole-bb"), function("0000:c2:00.0", 11, "")};
  card::Identity id;
  id.spec = spec;
  id.live_name = live_name;
  const auto f = function_of(id, functions);
  return f ? f->bdf : "none";
}

TEST(FunctionOf, every_name_a_card_can_be_given) {
  EXPECT_EQ(found("1", "x"), "0000:41:00.0");
  EXPECT_EQ(found("11", "x"), "0000:c2:00.0");
  EXPECT_EQ(found("/dev/tenstorrent/0", "x"), "0000:c1:00.0");
  EXPECT_EQ(found("pci:0000:41:00.0", "x"), "0000:41:00.0");
  EXPECT_EQ(found("/dev/tenstorrent/by-id/wormhole-bb", "wormhole-bb"), "0000:c1:00.0");
}

TEST(FunctionOf, none_for_emulated_cards_and_functions_without_a_node) {
  EXPECT_EQ(found("emu:1", "emu-1"), "none");
  EXPECT_EQ(found("emu:x", ""), "none");
  EXPECT_EQ(found("pci:0000:01:00.0", "x"), "none");
  EXPECT_EQ(found("", ""), "none");
}

// Raw rates per direction (tt-umd tests/microbenchmark): 15.75, 31.5 and 63.0 GB/s.
TEST(LinkRate, is_what_is_left_after_line_coding) {
  EXPECT_NEAR(bytes_per_s_of({"8.0 GT/s PCIe", "16"}), 15.75e9, 0.01e9);
  EXPECT_NEAR(bytes_per_s_of({"16.0 GT/s PCIe", "16"}), 31.5e9, 0.02e9);
  EXPECT_NEAR(bytes_per_s_of({"32.0 GT/s PCIe", "16"}), 63.0e9, 0.05e9);
  EXPECT_NEAR(bytes_per_s_of({"2.5 GT/s PCIe", "1"}), 0.25e9, 1);
  EXPECT_EQ(bytes_per_s_of({"", ""}), 0);
  EXPECT_EQ(bytes_per_s_of({"Unknown", "16"}), 0);
}

}  // namespace
}  // namespace ttc::collect
