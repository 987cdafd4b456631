// Names of zones: the hash, the note lines of the compiler, ambiguity.
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "firmware_markers/zone_names.hpp"

namespace ttc::markers {
namespace {

constexpr char kFwNote[] = "BRISC-FW,fw/brisc.cc,417,KERNEL_PROFILER";

TEST(ZoneNames, hash_is_the_one_of_tt_metal) {
  static_assert(hash16(kFwNote) == 0x2F6D);
  EXPECT_EQ(hash16(""), (2166136261u & 0xffff) ^ (2166136261u >> 16));
  EXPECT_EQ(hash16("\xff"), hash16(std::string_view("\xff", 1)));
  EXPECT_NE(hash16("\xff"), hash16("\x7f"));
}

TEST(ZoneNames, finds_the_note_inside_a_compiler_line) {
  const std::string line = std::string("a/b.hpp:30:22: note: '#pragma message: ") + kFwNote + "'";
  EXPECT_EQ(zone_string_in(line), kFwNote);
  EXPECT_EQ(zone_string_in(line + "\r"), kFwNote);
  EXPECT_EQ(zone_string_in(line + "\r\n"), kFwNote);
  EXPECT_EQ(zone_string_in("'#pragma message: x'"), "x");
}

TEST(ZoneNames, a_line_without_a_note_gives_none) {
  for (const char* line : {"", "note: something", "#pragma message: no quote before",
                           "'#pragma message: ", "'#pragma message: '"})
    EXPECT_TRUE(zone_string_in(line).empty()) << line;
}

TEST(ZoneNames, takes_a_note_apart) {
  const auto source = parse_zone_string(kFwNote);
  ASSERT_TRUE(source);
  EXPECT_EQ(*source, (ZoneSource{"BRISC-FW", "fw/brisc.cc", 417}));
}

TEST(ZoneNames, a_file_may_contain_commas) {
  const auto source = parse_zone_string("NAME,dir,with,commas/a,b.cpp,12,KERNEL_PROFILER");
  ASSERT_TRUE(source);
  EXPECT_EQ(*source, (ZoneSource{"NAME", "dir,with,commas/a,b.cpp", 12}));
}

TEST(ZoneNames, malformed_notes_are_counted_and_refused) {
  ZoneNames names;
  uint64_t refused = 0;
  for (const char* note :
       {"", ",", ",,", "NAME", "NAME,KERNEL_PROFILER", "NAME,12,KERNEL_PROFILER", "NAME,f.cpp,12",
        "NAME,f.cpp,12,kernel_profiler", "NAME,f.cpp,,KERNEL_PROFILER", "NAME,f.cpp,12x,KERNEL_PROFILER",
        "NAME,f.cpp,-1,KERNEL_PROFILER", "NAME,f.cpp, 12,KERNEL_PROFILER",
        "NAME,f.cpp,4294967296,KERNEL_PROFILER", "NAME,f.cpp,12,KERNEL_PROFILER ", ",KERNEL_PROFILER"}) {
    EXPECT_FALSE(names.add_zone_string(note)) << note;
    EXPECT_EQ(names.malformed(), ++refused) << note;
  }
  EXPECT_EQ(names.size(), 0u);
}

TEST(ZoneNames, the_same_note_twice_is_one_name) {
  ZoneNames names;
  EXPECT_TRUE(names.add_zone_string(kFwNote));
  EXPECT_FALSE(names.add_zone_string(kFwNote));
  EXPECT_EQ(names.size(), 1u);
  EXPECT_EQ(names.malformed(), 0u);
  EXPECT_FALSE(names.ambiguous(0x2F6D));
  ASSERT_NE(names.find(0x2F6D), nullptr);
  EXPECT_EQ(names.find(0x2F6D)->name, "BRISC-FW");
  EXPECT_EQ(names.find(0x2F6E), nullptr);
  EXPECT_FALSE(names.ambiguous(0x2F6E));
}

TEST(ZoneNames, two_strings_of_one_hash_are_both_kept_and_ambiguous) {
  // Some hundred lines of one file already hold a collision, by the birthday rule.
  std::map<uint16_t, uint32_t> line_of;
  std::string first, second;
  for (uint32_t line = 1; first.empty() && line < 70000; ++line) {
    const auto note = [](uint32_t n) { return "ZONE,kernel.cpp," + std::to_string(n) + ",KERNEL_PROFILER"; };
    const auto [seen, fresh] = line_of.emplace(hash16(note(line)), line);
    if (fresh) continue;
    first = note(seen->second);
    second = note(line);
  }
  ASSERT_FALSE(first.empty()) << "70000 strings cannot have 70000 different 16-bit hashes";
  ASSERT_NE(first, second);
  const uint16_t hash = hash16(first);
  ASSERT_EQ(hash, hash16(second));

  ZoneNames names;
  EXPECT_TRUE(names.add_zone_string(first));
  EXPECT_FALSE(names.ambiguous(hash));
  EXPECT_TRUE(names.add_zone_string(second));
  EXPECT_TRUE(names.ambiguous(hash));
  EXPECT_EQ(names.size(), 2u);
  EXPECT_EQ(*names.find(hash), *parse_zone_string(first)) << "the first source read";
}

TEST(ZoneNames, a_name_that_begins_with_a_processor_runs_on_no_other) {
  EXPECT_TRUE(could_run_on("BRISC-FW", "BRISC"));
  EXPECT_FALSE(could_run_on("BRISC-FW", "NCRISC"));
  EXPECT_FALSE(could_run_on("NCRISC-KERNEL", "BRISC"));
  EXPECT_TRUE(could_run_on("TRISC-KERNEL", "TRISC_2"));
  EXPECT_FALSE(could_run_on("TRISC-KERNEL", "ERISC"));
  EXPECT_TRUE(could_run_on("ACTIVE-ERISC-FW", "ERISC"));
  EXPECT_FALSE(could_run_on("ACTIVE-ERISC-FW", "BRISC"));
  EXPECT_TRUE(could_run_on("TRISC-FW", "TENSIX_RISC_AGG"));
  EXPECT_FALSE(could_run_on("ERISC-FW", "TENSIX_RISC_AGG"));
  for (const char* anywhere : {"MATMUL", "", "BRISC", "BRISCUIT", "MY-BRISC-FW"})
    EXPECT_TRUE(could_run_on(anywhere, "TRISC_0")) << anywhere;
}

TEST(ZoneNames, choosing_between_strings_of_one_hash) {
  const auto note = [](const std::string& name, uint32_t line) {
    return name + ",kernel.cpp," + std::to_string(line) + ",KERNEL_PROFILER";
  };
  const uint16_t hash = hash16(note("BRISC-FW", 1));
  const auto colliding = [&](const std::string& name) {
    for (uint32_t line = 1;; ++line)
      if (hash16(note(name, line)) == hash) return note(name, line);
  };
  ZoneNames names;
  EXPECT_EQ(names.choose(hash, "BRISC").source, nullptr);
  names.add_zone_string(note("BRISC-FW", 1));
  EXPECT_EQ(names.choose(hash, "NCRISC").source->name, "BRISC-FW") << "the only one there is";
  EXPECT_FALSE(names.choose(hash, "NCRISC").undecided);
  names.add_zone_string(colliding("NCRISC-FW"));
  EXPECT_EQ(names.choose(hash, "NCRISC").source->name, "NCRISC-FW");
  EXPECT_FALSE(names.choose(hash, "NCRISC").undecided);
  EXPECT_EQ(names.choose(hash, "TRISC_1").source->name, "BRISC-FW") << "none fits: the first read";
  EXPECT_TRUE(names.choose(hash, "TRISC_1").undecided);
  names.add_zone_string(colliding("STEP"));
  EXPECT_TRUE(names.choose(hash, "NCRISC").undecided) << "STEP may run anywhere";
  EXPECT_EQ(names.choose(hash, "TRISC_1").source->name, "STEP");
  EXPECT_FALSE(names.choose(hash, "TRISC_1").undecided);
  EXPECT_EQ(names.sources(hash).size(), 3u);
}

}  // namespace
}  // namespace ttc::markers
