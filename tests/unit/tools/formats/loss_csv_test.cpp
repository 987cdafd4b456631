// The table of losses beside a device CSV, to the letter, and where it goes.
#include "tools/formats/loss_csv.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "tools/formats/device_csv.hpp"

namespace ttc::tools {
namespace {

Session chip(uint32_t number) {
  Session s;
  s.chip = number, s.arch = "blackhole", s.aiclk_mhz = 1350, s.max_compute_cores = 140;
  s.compute_cores = {{1, 2}};
  return s;
}

shm::LossRecord loss(uint32_t device, uint8_t x, uint8_t risc, shm::LossCause cause,
                     shm::LossPrecision precision) {
  shm::LossRecord r;
  r.device = device, r.core_x = x, r.core_y = 2, r.risc = risc, r.cause = cause, r.precision = precision;
  r.from_cycles = 100, r.to_cycles = 200, r.words = 12, r.launches = 3;
  return r;
}

TEST(LossCsv, each_kind_of_row_as_it_is_documented) {
  LossCsv table;
  table.begin(chip(0));
  table.begin(chip(1));
  std::vector<shm::LossRecord> losses{
      loss(0, 1, 0, shm::LossCause::unparsable, shm::LossPrecision::exact_words),
      loss(1, 1, 4, shm::LossCause::dropped_on_card, shm::LossPrecision::bounded_launches),
      loss(1, 9, 0, shm::LossCause::card_gone, shm::LossPrecision::unknown)};
  losses[2].to_cycles = shm::kOpenEnd;
  EXPECT_EQ(table.text(losses),
            "ARCH: blackhole, CHIP_FREQ[MHz]: 1350, Max Compute Cores: 140\n"
            "PCIe slot, core_x, core_y, RISC processor type, cause, precision, from[cycles since reset], "
            "to[cycles since reset], words, launches\n"
            "0,1,2,BRISC,unparsable,exact,100,200,12,\n"
            "1,1,2,TRISC_2,dropped on card,bounded,100,200,,3\n"
            "1,9,2,ERISC,card gone,unknown,100,,,\n");
}

TEST(LossCsv, it_stands_beside_files_only) {
  const std::filesystem::path file =
      std::filesystem::path(testing::TempDir()) / ("loss-csv-" + std::to_string(getpid()) + ".csv");
  std::filesystem::path beside = file;
  beside.replace_extension(".losses.csv");
  EXPECT_EQ(path_beside(file), beside.string()) << "a file that is still to be made";
  std::ofstream(file) << "x";
  EXPECT_EQ(path_beside(file), beside.string());
  std::filesystem::remove(file);
  EXPECT_EQ(path_beside("-"), "");
  EXPECT_EQ(path_beside("/dev/null"), "");
}

// A program that reads a device CSV must not get an additional row.
TEST(LossCsv, the_device_csv_itself_does_not_change) {
  const std::string path = testing::TempDir() + "loss-csv-same-" + std::to_string(getpid()) + ".csv";
  std::string without, with;
  for (std::string* to : {&without, &with}) {
    Output out(path, false);
    DeviceCsv csv(out, {});
    csv.begin(chip(0));
    if (to == &with) csv.loss(loss(0, 1, 0, shm::LossCause::unparsable, shm::LossPrecision::exact_words));
    csv.end();
    out.commit();
    std::ifstream in(path);
    to->assign(std::istreambuf_iterator<char>(in), {});
  }
  EXPECT_EQ(with, without);
  EXPECT_FALSE(with.empty());
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace ttc::tools
