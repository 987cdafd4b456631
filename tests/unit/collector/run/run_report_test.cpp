#include "collector/run/run_report.hpp"

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

TEST(RunReport, summary_sums_by_op_and_lists_the_slowest_calls) {
  const std::string text = ops_summary(
      R"({"verdict":"device-bound","rows":[
        {"op_code":"Matmul","device_us":3000,"global_call_count":1024,"device":0},
        {"op_code":"start","signpost":true,"device_us":null},
        {"op_code":"Add","device_us":500,"global_call_count":2048,"device":1},
        {"op_code":"Matmul","device_us":1000,"global_call_count":3072,"device":0}]})");
  EXPECT_EQ(text,
            "3 ops, 4.500 ms of device time; device-bound\n"
            "  device time   share  count  op\n"
            "     4.000 ms   88.9 %      2  Matmul\n"
            "     0.500 ms   11.1 %      1  Add\n"
            "slowest:\n"
            "     3.000 ms   66.7 %  Matmul, call 1024 on device 0\n"
            "     1.000 ms   22.2 %  Matmul, call 3072 on device 0\n"
            "     0.500 ms   11.1 %  Add, call 2048 on device 1\n");
}

TEST(RunReport, no_summary_of_no_op_nor_of_what_is_no_report) {
  EXPECT_EQ(ops_summary(R"({"rows":[]})"), "");
  EXPECT_EQ(ops_summary("[1, 2"), "");
}

TEST(RunReport, folder_is_that_of_the_vendors_tools) {
  setenv("TZ", "UTC", 1);
  const ReportPlace named = report_place("/out", "demo", 1'700'000'000);
  EXPECT_EQ(named.capture(), "/out/reports/demo/2023_11_14_22_13_20/run.ttc");
  EXPECT_EQ(report_place("/out", "", 1'700'000'000).folder, "/out/reports/2023_11_14_22_13_20");
}

}  // namespace
