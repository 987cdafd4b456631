#include "collector/run/report/run_report.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace {

using namespace ttc::collect;

// Two runs that began in one second wrote into one folder.
TEST(RunReport, runs_of_one_second_have_folders_of_their_own_and_empty_ones_go) {
  const std::filesystem::path root =
      std::filesystem::temp_directory_path() / ("places-" + std::to_string(getpid()));
  {
    const ClaimedPlace first(root.string(), "n", 1'700'000'000), second(root.string(), "n", 1'700'000'000);
    const ClaimedPlace other(root.string(), "", 1'700'000'000);
    EXPECT_NE(first.place().folder, second.place().folder);
    EXPECT_EQ(second.place().stamp, report_place(root.string(), "n", 1'700'000'001).stamp);
    EXPECT_EQ(other.place().stamp, first.place().stamp);
    EXPECT_TRUE(std::filesystem::is_directory(second.place().folder));
    std::ofstream(second.place().capture()) << "kept";
  }
  EXPECT_EQ(std::distance(std::filesystem::recursive_directory_iterator(root),
                          std::filesystem::recursive_directory_iterator()),
            4);  // reports, n, the second's folder and its file
  std::filesystem::remove_all(root);
}

TEST(RunReport, folder_is_that_of_the_vendors_tools) {
  setenv("TZ", "UTC", 1);
  const ReportPlace named = report_place("/out", "demo", 1'700'000'000);
  EXPECT_EQ(named.capture(), "/out/reports/demo/2023_11_14_22_13_20/run.ttc");
  EXPECT_EQ(report_place("/out", "", 1'700'000'000).folder, "/out/reports/2023_11_14_22_13_20");
}

}  // namespace
