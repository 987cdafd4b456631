// Discovery on L1 images typed by hand: what is accepted, and that every refusal says why.
#include <gtest/gtest.h>

#include <ostream>
#include <string>
#include <vector>

#include "firmware_markers/discovery.hpp"

namespace ttc::markers {
namespace {

constexpr uint32_t kFlat = 37;

const Layout& layout(const char* name) {
  return *layout_by_name(name);
}

struct Image {
  explicit Image(const char* arch) : placement(*placement_for(arch)), words(kDiscoveryBytes / 4 + 16) {}

  uint32_t& at(uint32_t address) {
    return words.at((address - placement.place(ttc::markers::CoreKind::tensix).mailbox_base) / 4);
  }
  // A core after one recorded run, its control vector behind a magic word at `magic`.
  uint32_t place(const Layout& l, uint32_t magic) {
    const device::Format& f = l.format;
    at(magic) = kWorkerMagic;
    const uint32_t control =
        control_address_after(magic, placement.place(ttc::markers::CoreKind::tensix).mailbox_base);
    at(control + 4 * f.host_end) = 16;
    at(control + 4 * f.device_end) = 16;
    at(control + 4 * f.dram_address) = placement.dram_base;
    at(control + 4 * f.run_counter) = 1;
    at(control + 4 * f.noc_x) = 18;
    at(control + 4 * f.noc_y) = 21;
    at(control + 4 * f.flat_id) = kFlat;
    at(control + 4 * f.core_count_per_dram) = 8;
    at(control + 4 * f.done) = 1;
    at(control + 4 * f.control_words + 8) = f.identity(0, kFlat, 0);
    return control;
  }
  Discovery discover(const Layout* only = nullptr) const {
    return markers::discover({placement.place(ttc::markers::CoreKind::tensix).mailbox_base, words}, placement,
                             CoreKind::tensix, only);
  }

  const Placement& placement;
  std::vector<uint32_t> words;
};

struct Case {
  const char* arch;
  const char* layout;
};
void PrintTo(const Case& c, std::ostream* out) {
  *out << c.arch << ' ' << c.layout;
}
class Discover : public testing::TestWithParam<Case> {
 protected:
  Image image{GetParam().arch};
  const Layout& expected = layout(GetParam().layout);
  uint32_t magic = image.placement.place(ttc::markers::CoreKind::tensix).mailbox_base + 2784;
};

TEST_P(Discover, finds_generation_and_addresses) {
  const uint32_t control = image.place(expected, magic);
  const Discovery d = image.discover();
  ASSERT_TRUE(d) << joined(d.evidence);
  EXPECT_EQ(d.layout, &expected);
  EXPECT_EQ(d.control_address, control);
  EXPECT_EQ(d.buffer_address, control + 4u * expected.format.control_words);
  EXPECT_EQ(d.vector.flat_id, kFlat);
  EXPECT_FALSE(d.evidence.empty());
}

TEST_P(Discover, finds_it_at_every_place_of_the_magic_word) {
  for (uint32_t offset = 0; offset < kMagicSearchBytes; offset += 4) {
    Image one(GetParam().arch);
    const uint32_t control =
        one.place(expected, one.placement.place(ttc::markers::CoreKind::tensix).mailbox_base + offset);
    const Discovery d = one.discover();
    ASSERT_EQ(d.layout, &expected) << offset << ": " << joined(d.evidence);
    EXPECT_EQ(d.control_address, control);
  }
}

TEST_P(Discover, a_core_that_has_not_run_yet_is_found) {
  const uint32_t control = image.place(expected, magic);
  const device::Format& f = expected.format;
  for (const uint32_t word : {f.host_end, f.device_end, f.run_counter, f.noc_x, f.noc_y, f.done})
    image.at(control + 4u * word) = 0;
  image.at(control + 4u * f.control_words + 8) = 0xdeadbeef;
  EXPECT_EQ(image.discover().layout, &expected);
}

TEST_P(Discover, accepts_only_the_generation_the_user_named) {
  image.place(expected, magic);
  EXPECT_EQ(image.discover(&expected).layout, &expected);
  const Layout& other = layout(expected.format.generation == 3 ? "G4" : "G3");
  const Discovery d = image.discover(&other);
  EXPECT_FALSE(d);
  EXPECT_NE(joined(d.evidence).find(other.name), std::string::npos);
}

TEST_P(Discover, refuses_each_field_that_does_not_fit_and_says_so) {
  const device::Format& f = expected.format;
  const struct {
    uint32_t word;
    uint32_t value;
    const char* says;
  } kBad[] = {{f.dram_address, 0, "DRAM address"},
              {f.dram_address, 0xffffffff, "DRAM address"},
              {f.flat_id, 256, "flat id"},
              {f.core_count_per_dram, 0, "cores per DRAM bank"},
              {f.core_count_per_dram, 21, "cores per DRAM bank"},
              {f.noc_x, 64, "NoC"},
              {f.noc_y, 64, "NoC"},
              {f.dropped, 32, "dropped"},
              {f.done, 2, "PROFILER_DONE"},
              {f.device_end, 15, "device end"},
              {f.device_end + 4u, 518, "device end"},
              {f.host_end + 4u, 13, "host end"}};
  for (const auto& bad : kBad) {
    Image one(GetParam().arch);
    const uint32_t control = one.place(expected, magic);
    one.at(control + 4 * bad.word) = bad.value;
    const Discovery d = one.discover(&expected);
    EXPECT_FALSE(d) << bad.says;
    EXPECT_EQ(d.layout, nullptr);
    EXPECT_NE(joined(d.evidence).find(bad.says), std::string::npos) << joined(d.evidence);
  }
}

TEST_P(Discover, refuses_a_buffer_that_names_another_core) {
  const uint32_t control = image.place(expected, magic);
  const uint32_t identity = control + 4u * expected.format.control_words + 8;
  for (const uint32_t wrong :
       {expected.format.identity(0, kFlat + 1, 0), expected.format.identity(1, kFlat, 0), 0xffffffffu}) {
    image.at(identity) = wrong;
    const Discovery d = image.discover();
    EXPECT_FALSE(d);
    EXPECT_NE(joined(d.evidence).find("identity"), std::string::npos) << joined(d.evidence);
  }
}

TEST_P(Discover, accepts_an_end_index_that_overran) {
  const uint32_t control = image.place(expected, magic);
  image.at(control + 4u * expected.format.device_end) = 514;
  EXPECT_EQ(image.discover().layout, &expected);
}

TEST_P(Discover, a_stray_magic_word_before_the_real_one_does_no_harm) {
  image.at(image.placement.place(ttc::markers::CoreKind::tensix).mailbox_base + 64) = kWorkerMagic;
  const uint32_t control = image.place(expected, magic);
  EXPECT_EQ(image.discover().control_address, control);
}

TEST_P(Discover, a_second_magic_word_for_the_same_control_vector_is_no_contradiction) {
  const uint32_t control = image.place(expected, magic);
  image.at(magic - 4) = kWorkerMagic;
  ASSERT_EQ(
      control_address_after(magic - 4, image.placement.place(ttc::markers::CoreKind::tensix).mailbox_base),
      control);
  const Discovery d = image.discover();
  EXPECT_EQ(d.layout, &expected) << joined(d.evidence);
}

INSTANTIATE_TEST_SUITE_P(Generations, Discover,
                         testing::Values(Case{"wormhole_b0", "G3"}, Case{"wormhole_b0", "G4"},
                                         Case{"blackhole", "G3"}, Case{"blackhole", "G4"}),
                         [](const auto& p) { return std::string(p.param.arch) + "_" + p.param.layout; });

TEST(Discovery, an_image_without_the_magic_word_is_refused_with_the_place_searched) {
  const Discovery d = Image("wormhole_b0").discover();
  EXPECT_FALSE(d);
  EXPECT_NE(joined(d.evidence).find("no worker magic word"), std::string::npos);
  EXPECT_NE(joined(d.evidence).find("0x10"), std::string::npos);
}

TEST(Discovery, an_image_that_ends_before_the_control_vector_is_refused) {
  Image image("wormhole_b0");
  const uint32_t control = image.place(layout("G4"), 0x10 + 2784);
  image.words.resize((control - 0x10) / 4 + 63);
  const Discovery d = image.discover(layout_by_name("G4"));
  EXPECT_FALSE(d);
  EXPECT_NE(joined(d.evidence).find("outside"), std::string::npos) << joined(d.evidence);
}

TEST(Discovery, an_image_that_does_not_reach_the_buffers_is_accepted_by_its_control_vector) {
  Image image("wormhole_b0");
  const uint32_t control = image.place(layout("G4"), 0x10 + 2784);
  image.words.resize((control - 0x10) / 4 + 64);
  EXPECT_EQ(image.discover().layout, layout_by_name("G4"));
}

TEST(Discovery, an_image_may_begin_before_or_behind_the_mailbox) {
  Image image("wormhole_b0");
  const uint32_t control = image.place(layout("G3"), 0x10 + 2784);
  std::vector<uint32_t> from_zero(4);
  from_zero.insert(from_zero.end(), image.words.begin(), image.words.end());
  EXPECT_EQ(discover({0, from_zero}, image.placement).control_address, control);
  const std::span<const uint32_t> behind = std::span(image.words).subspan(256);
  EXPECT_EQ(discover({0x10 + 1024, behind}, image.placement).control_address, control);
  EXPECT_FALSE(discover({0x10, {}}, image.placement));
}

TEST(Discovery, two_generations_that_fit_are_refused_until_one_is_named) {
  Image image("wormhole_b0");
  image.place(layout("G3"), 0x10 + 2784);
  const uint32_t control = image.place(layout("G4"), 0x10 + 2784);
  // Make G3 fit as well: its identity word lies inside G4's vector, in the unused end indices.
  image.at(control + 4 * layout("G3").format.control_words + 8) = layout("G3").format.identity(0, kFlat, 0);
  image.at(control + 4 * layout("G4").format.device_end) = 0;  // G3 has a DRAM address there
  const Discovery d = image.discover();
  EXPECT_FALSE(d);
  EXPECT_NE(joined(d.evidence).find("both G3 and G4 fit"), std::string::npos) << joined(d.evidence);
}

TEST(Discovery, a_core_of_the_other_architecture_is_refused) {
  Image image("wormhole_b0");
  image.place(layout("G4"), 0x10 + 2784);
  EXPECT_FALSE(discover({0x10, image.words}, *placement_for("blackhole")));
}

}  // namespace
}  // namespace ttc::markers
