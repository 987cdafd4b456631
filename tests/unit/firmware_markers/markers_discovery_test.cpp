// Discovery on L1 images typed by hand: what is accepted, and that every refusal has a reason.
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
  // Make G3 fit as well: its identity word is inside G4's vector, in the unused end indices.
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

// --- known and not read: each by its name

struct Refusal : testing::Test {
  Image image{"wormhole_b0"};
  uint32_t control = 0;

  uint32_t& word(uint32_t index) { return image.at(control + 4 * index); }
  void refused_as(std::string_view name, const char* advice) const {
    const Discovery d = image.discover();
    EXPECT_FALSE(d);
    EXPECT_EQ(d.known_as, name) << joined(d.evidence);
    EXPECT_NE(joined(d.evidence).find(advice), std::string::npos) << joined(d.evidence);
  }
};

TEST_F(Refusal, g0_has_its_words_elsewhere_and_no_magic_word) {
  control = 0x10 + mailbox_by_name("M0")->tensix_offset;
  word(0) = 64, word(6) = 16, word(7) = 12;
  word(14) = 0x40000;  // an allocated buffer
  word(15) = 1, word(16) = 1, word(17) = 2, word(18) = kFlat, word(20) = 1;
  refused_as("G0", "late 2024 or newer");
}

TEST_F(Refusal, g3b_by_an_address_one_word_further) {
  control = image.place(layout("G3"), 0x10 + 2784);
  for (uint32_t w = 22; w < 27; ++w) word(w) = image.placement.dram_base;
  refused_as("G3b", "July 2026");
}

TEST_F(Refusal, g3b_by_the_flag_of_a_dispatch_core) {
  control = image.place(layout("G3"), 0x10 + 2784);
  word(21) = 1;
  refused_as("G3b", "July 2026");
}

TEST_F(Refusal, debug_dump_by_a_stalled_or_a_second_buffer) {
  for (const char* name : {"G3", "G4"})
    for (const uint32_t address : {0xffffffffu, 0x200000u}) {
      image.words.assign(image.words.size(), 0);
      control = image.place(layout(name), 0x10 + 2784);
      word(layout(name).format.risc_dram_address + 2u) = address;
      refused_as("debug dump", "TT_METAL_DEVICE_DEBUG_DUMP_ENABLED");
    }
}

TEST_F(Refusal, a_results_read_leaves_addresses_that_are_no_debug_dump) {
  for (const char* name : {"G3", "G4"}) {
    image.words.assign(image.words.size(), 0);
    control = image.place(layout(name), 0x10 + 2784);
    const device::Format& f = layout(name).format;
    for (uint32_t w = 0; w < f.risc_dram_address_count; ++w)
      word(f.risc_dram_address + w) = image.placement.dram_base;
    EXPECT_EQ(image.discover().layout, &layout(name));
  }
}

TEST_F(Refusal, streaming_by_its_rings) {
  control = control_address_after(0x10 + 2784, 0x10);
  image.at(0x10 + 2784) = kWorkerMagic;
  word(24) = 40, word(48) = 1, word(49) = 2u << 16 | 1;
  refused_as("streaming profiler", "TT_METAL_STREAMING_PROFILER");
}

TEST_F(Refusal, streaming_without_a_relay_whose_words_nobody_takes) {
  control = control_address_after(0x10 + 2784, 0x10);
  image.at(0x10 + 2784) = kWorkerMagic;
  word(24) = word(25) = 100'000;
  refused_as("streaming profiler", "TT_METAL_STREAMING_PROFILER");
  EXPECT_EQ(image.discover().control_address, control);
}

TEST_F(Refusal, g4_without_a_log_is_not_taken_for_rings) {
  control = image.place(layout("G4"), 0x10 + 2784);
  const device::Format& f = layout("G4").format;
  word(f.dram_address) = 0;
  word(f.host_end) = word(f.device_end) = 28;
  word(f.run_counter) = word(f.done) = 1;
  refused_as(kProfilerOff, "no DRAM address");
}

TEST_F(Refusal, g4_diagnostic_by_g4_identities_behind_a_short_vector) {
  control = image.place(layout("G3"), 0x10 + 2784);
  word(32 + 2) = layout("G4").format.identity(0, kFlat, 0);
  refused_as("G4 diagnostic build", "PR 52549");
}

TEST_F(Refusal, a_fork_by_buffers_64_bytes_further) {
  control = image.place(layout("G4"), 0x10 + 2784);
  word(64 + 2) = 0;
  word(80 + 2) = layout("G4").format.identity(0, kFlat, 0);
  refused_as("fork with an 80-word control vector", "upstream");
}

TEST_F(Refusal, a_profiler_that_is_off_by_an_address_nobody_wrote) {
  control = control_address_after(0x10 + 2784, 0x10);
  image.at(0x10 + 2784) = kWorkerMagic;
  refused_as(kProfilerOff, "no DRAM address");
}

TEST(Discovery, generations_that_are_not_read_have_a_reason_by_name) {
  for (const char* name : {"g0", "G0", "g3b"})
    EXPECT_NE(why_not_read(name).find("use a tt-metal"), std::string::npos);
  for (const Layout& layout : layouts()) EXPECT_EQ(why_not_read(layout.name), "");
}

TEST_F(Refusal, memory_that_tells_nothing_has_no_name) {
  refused_as("", "no worker magic word");
}

// --- without a magic word

struct BlindCase {
  const char* arch;
  const char* mailbox;
  const char* layout;
};
void PrintTo(const BlindCase& c, std::ostream* out) {
  *out << c.arch << ' ' << c.mailbox << ' ' << c.layout;
}
class Blind : public testing::TestWithParam<BlindCase> {
 protected:
  Image image{GetParam().arch};
  const Layout& expected = layout(GetParam().layout);
  const CorePlace& place = image.placement.place(CoreKind::tensix);
  // M1-early is where Blackhole had the other base.
  uint32_t base = GetParam().mailbox == std::string_view("M1-early") && place.mailbox_base_2025
                      ? place.mailbox_base_2025
                      : place.mailbox_base;
  uint32_t control = base + mailbox_by_name(GetParam().mailbox)->tensix_offset;

  // Writes what `place` has, but without the magic word.
  void put() {
    image.place(expected, control - 16);
    image.at(control - 16) = 0;
    const device::Format& f = expected.format;
    const uint32_t host = f.host_id.shift ? 5u << f.host_id.shift : 5u;
    image.at(control + 4u * f.control_words + 4 * device::kIdHost) = host;
    image.at(control + 4u * f.control_words + 8) = f.identity(0, kFlat, f.trace.bits ? 3 : 0);
  }
};

TEST_P(Blind, finds_generation_and_place_and_says_that_it_is_weak_evidence) {
  put();
  const Discovery d = image.discover();
  ASSERT_TRUE(d) << joined(d.evidence);
  EXPECT_EQ(d.layout, &expected) << d.layout->name;
  EXPECT_EQ(d.control_address, control);
  EXPECT_FALSE(d.anchored);
}

TEST_P(Blind, an_allocated_buffer_anywhere_is_believed_at_a_known_place_only) {
  put();
  image.at(control + 4u * expected.format.dram_address) = 0x123400;
  EXPECT_EQ(image.discover().control_address, control);
  image.at(control + 4u * expected.format.dram_address) = 0x123410;  // not a multiple of 32
  EXPECT_FALSE(image.discover());
}

TEST_P(Blind, accepts_the_generation_that_was_named) {
  put();
  EXPECT_EQ(image.discover(&expected).layout, &expected);
}

INSTANTIATE_TEST_SUITE_P(
    Mailboxes, Blind,
    testing::Values(BlindCase{"wormhole_b0", "M0", "G1-16"}, BlindCase{"wormhole_b0", "M0", "G1"},
                    BlindCase{"wormhole_b0", "M1-early", "G1"}, BlindCase{"blackhole", "M1-early", "G1"},
                    BlindCase{"wormhole_b0", "M1", "G1"}, BlindCase{"blackhole", "M1", "G2"},
                    BlindCase{"wormhole_b0", "M2-2025", "G2"}, BlindCase{"blackhole", "M2-2025", "G2"}),
    [](const auto& p) {
      std::string name = std::string(p.param.arch) + "_" + p.param.mailbox + "_" + p.param.layout;
      for (char& c : name)
        if (c == '-') c = '_';
      return name;
    });

// Its replay counter is in the identity of a launch at most, and the mailbox may be that of either.
TEST(Discovery, trace_only_firmware_without_a_magic_word_is_known_by_what_it_waits_for) {
  for (const uint32_t waits : {device::kExpectFwStart, device::kExpectKernelStart, device::kExpectEnds}) {
    Image image("wormhole_b0");
    const uint32_t control =
        image.placement.place(CoreKind::tensix).mailbox_base + mailbox_by_name("M1")->tensix_offset;
    image.place(layout("G1"), control - 16);
    image.at(control - 16) = 0;
    image.at(control + 4u * device::kG2.trace_status) = waits;
    const Discovery d = image.discover();
    ASSERT_TRUE(d) << joined(d.evidence);
    EXPECT_EQ(d.layout, layout_by_name("G2"));
    EXPECT_EQ(d.mode, device::Mode::trace_only);
  }
}

TEST(Discovery, a_vector_without_a_magic_word_is_found_at_any_step_of_16_bytes) {
  for (uint32_t control = 0x10; control < 0x10 + kMagicSearchBytes - 16; control += 16) {
    Image image("wormhole_b0");
    if (control < 0x20) continue;  // the magic word that `place` writes would lie before the mailbox
    image.place(layout("G1"), control - 16);
    image.at(control - 16) = 0;
    const Discovery d = image.discover();
    ASSERT_TRUE(d) << control << ": " << joined(d.evidence);
    ASSERT_EQ(d.control_address, control);
  }
}

// --- Ethernet cores

struct KindCase {
  const char* arch;
  CoreKind kind;
  const char* layout;
};
void PrintTo(const KindCase& c, std::ostream* out) {
  *out << c.arch << ' ' << to_string(c.kind) << ' ' << c.layout;
}
class Ethernet : public testing::TestWithParam<KindCase> {
 protected:
  const Placement& placement = *placement_for(GetParam().arch);
  const CorePlace& place = placement.place(GetParam().kind);
  const Layout& expected = layout(GetParam().layout);
  std::vector<uint32_t> words = std::vector<uint32_t>(kDiscoveryBytes / 4 + 16);
  uint32_t control = place.mailbox_base + mailbox_by_name("M4")->offset(GetParam().kind, place.riscs);

  void put(uint32_t magic) {
    const device::Format& f = expected.format;
    const auto at = [&](uint32_t address) -> uint32_t& {
      return words.at((address - place.mailbox_base) / 4);
    };
    at(control - 16) = magic;
    at(control + 4 * f.dram_address) = placement.dram_base;
    at(control + 4 * f.flat_id) = 200;
    at(control + 4 * f.core_count_per_dram) = 8;
  }
};

TEST_P(Ethernet, finds_the_vector_of_its_own_kind) {
  put(place.magic);
  const Discovery d = discover({place.mailbox_base, words}, placement, GetParam().kind, &expected);
  ASSERT_TRUE(d) << joined(d.evidence);
  EXPECT_EQ(d.control_address, control);
  EXPECT_EQ(d.vector.flat_id, 200u);
  EXPECT_TRUE(d.anchored);
}

// Both kinds of Blackhole begin at one address: only the magic word shows which firmware runs there.
TEST_P(Ethernet, the_other_kind_does_not_take_it) {
  const CoreKind other =
      GetParam().kind == CoreKind::active_ethernet ? CoreKind::idle_ethernet : CoreKind::active_ethernet;
  put(placement.place(other).magic);
  const Discovery d = discover({place.mailbox_base, words}, placement, GetParam().kind);
  EXPECT_FALSE(d.anchored);
  EXPECT_NE(d.layout, &expected) << joined(d.evidence);
}

INSTANTIATE_TEST_SUITE_P(Kinds, Ethernet,
                         testing::Values(KindCase{"wormhole_b0", CoreKind::active_ethernet, "G3"},
                                         KindCase{"wormhole_b0", CoreKind::active_ethernet, "G4"},
                                         KindCase{"wormhole_b0", CoreKind::idle_ethernet, "G4"},
                                         KindCase{"blackhole", CoreKind::active_ethernet, "G4"},
                                         KindCase{"blackhole", CoreKind::idle_ethernet, "G3"}),
                         [](const auto& p) {
                           return std::string(p.param.arch) +
                                  (p.param.kind == CoreKind::idle_ethernet ? "_idle_" : "_active_") +
                                  p.param.layout;
                         });

}  // namespace
}  // namespace ttc::markers
