// Names of variables that are nearly right.
#include "collector/doctor/look/variables.hpp"

#include <gtest/gtest.h>

#include <set>

namespace ttc::collect::doctor {
namespace {

struct Typed {
  const char *name, *meant;
};

TEST(DoctorVariables, misspelt_names_are_traced_to_the_one_that_was_meant) {
  constexpr Typed kTyped[] = {
      {"TT_METAL_DEVICE_PROFLER", "TT_METAL_DEVICE_PROFILER"},
      {"TT_METAL_DEVICE_PROFILLER", "TT_METAL_DEVICE_PROFILER"},
      {"TT_METAL_DEVCIE_PROFILER", "TT_METAL_DEVICE_PROFILER"},
      {"TT_METAL_PROFILER_DEVICE", "TT_METAL_DEVICE_PROFILER"},
      {"TT_METAL_PROFILER", "TT_METAL_DEVICE_PROFILER"},
      {"tt_metal_device_profiler", "TT_METAL_DEVICE_PROFILER"},
      {"TTMETAL_DEVICE_PROFILER", "TT_METAL_DEVICE_PROFILER"},
      {"TT_METAL_ENABLE_DEVICE_PROFILER", "TT_METAL_DEVICE_PROFILER"},
      {"TT_METAL_DEVICE_PROFILER_NOC_EVENT", "TT_METAL_DEVICE_PROFILER_NOC_EVENTS"},
      {"TT_METAL_DEVICE_PROFILER_DISPACH", "TT_METAL_DEVICE_PROFILER_DISPATCH"},
      {"TT_METAL_PROFILER_SUPPORT_COUNT", "TT_METAL_PROFILER_PROGRAM_SUPPORT_COUNT"},
      {"TT_METAL_PROFILER_PROGRAM_SUPPORT_COUNTS", "TT_METAL_PROFILER_PROGRAM_SUPPORT_COUNT"},
      {"TT_METAL_PROFILER_MIDRUN_DUMP", "TT_METAL_PROFILER_MID_RUN_DUMP"},
      {"TT_METAL_PROFILER_TRACE_TRACKNG", "TT_METAL_PROFILER_TRACE_TRACKING"},
      {"TT_METAL_PROFILE_PERF_COUNTER", "TT_METAL_PROFILE_PERF_COUNTERS"},
      {"TT_METAL_WATCHER_NO_INLINE", "TT_METAL_WATCHER_NOINLINE"},
      {"TT_METAL_WATCHER_DELAY", "TT_METAL_WATCHER_DEBUG_DELAY"},
      {"TT_METAL_DPRINT_CORE", "TT_METAL_DPRINT_CORES"},
      {"TT_METAL_READ_DEBUG_DELAY_CORE", "TT_METAL_READ_DEBUG_DELAY_CORES"},
      {"TT_METAL_SLOW_DISPATCH", "TT_METAL_SLOW_DISPATCH_MODE"},
      {"TT_METAL_VISIBLE_DEVICE", "TT_METAL_VISIBLE_DEVICES"},
  };
  for (const Typed& t : kTyped) {
    EXPECT_EQ(nearest_name(t.name), t.meant) << t.name;
    EXPECT_EQ(names_in_question({{t.name, "1"}}), std::vector<std::string>{t.name});
  }
}

TEST(DoctorVariables, a_name_that_is_right_or_far_from_any_is_no_misspelling) {
  for (const std::string_view name : known_names()) {
    EXPECT_TRUE(names_in_question({{std::string(name), "1"}}).empty()) << name;
    EXPECT_EQ(nearest_name(name), name);
  }
  EXPECT_EQ(nearest_name("TT_METAL_MY_OWN_THING"), "");
  EXPECT_EQ(nearest_name("PATH"), "");
}

TEST(DoctorVariables, no_name_stands_twice) {
  const auto names = known_names();
  EXPECT_EQ(std::set<std::string_view>(names.begin(), names.end()).size(), names.size());
}

// Programs of the same family have variables of their own.
TEST(DoctorVariables, names_of_other_programs_are_not_in_question) {
  EXPECT_TRUE(names_in_question({{"TT_LOGGER_LEVEL", "debug"},
                                 {"TT_VISIBLE_DEVICES", "0"},
                                 {"TT_RUN_RANK", "1"},
                                 {"TTNN_CONFIG_OVERRIDES", "{}"},
                                 {"TT_MESH_ID", "0"},
                                 {"TTXLA_LOGGER_LEVEL", "debug"},
                                 {"HOME", "/root"},
                                 {"TRACY_PORT", "8086"}})
                  .empty());
}

TEST(DoctorVariables, what_switches_the_profiler_on_is_read_as_tt_metal_reads_it) {
  EXPECT_FALSE(profiler_on({}));
  EXPECT_TRUE(profiler_on({{"TT_METAL_DEVICE_PROFILER", "1"}}));
  EXPECT_FALSE(profiler_on({{"TT_METAL_DEVICE_PROFILER", "true"}}));
  EXPECT_TRUE(profiler_on({{"TT_METAL_DEVICE_PROFILER_NOC_EVENTS", "1"}}));
  EXPECT_TRUE(profiler_on({{"TT_METAL_PROFILE_PERF_COUNTERS", "7"}}));
  EXPECT_FALSE(profiler_on({{"TT_METAL_PROFILE_PERF_COUNTERS", "0x1f"}}));
  EXPECT_TRUE(profiler_on({{"TT_METAL_DEVICE_DEBUG_DUMP_ENABLED", "10"}}));
  EXPECT_FALSE(profiler_on({{"TT_METAL_DEVICE_DEBUG_DUMP_ENABLED", "2"}}));
  EXPECT_TRUE(watcher_on({{"TT_METAL_WATCHER", "0"}}));
}

}  // namespace
}  // namespace ttc::collect::doctor
