// Rows of devices: which runs a table can hold.
#include "tools/tables/device_tables.hpp"

#include <gtest/gtest.h>

#include "tools/pipeline/source.hpp"

namespace ttc::tools {
namespace {

Session run_of(uint64_t id, uint32_t chip) {
  Session s;
  s.id = id;
  s.device = "emu:x" + std::to_string(chip);
  s.chip = chip;
  s.compute_cores = {{1, 2}};
  return s;
}

TEST(DeviceTables, a_second_run_of_a_device_is_refused) {
  Tables tables;
  DeviceTables devices(tables, TTCOLLECT_ALL_TABLES);
  devices.begin(run_of(1, 0));
  devices.begin(run_of(1, 0));
  devices.begin(run_of(2, 1));
  EXPECT_THROW(devices.begin(run_of(3, 0)), SourceError);
}

TEST(DeviceTables, a_loss_has_the_kind_of_its_core_or_none) {
  Tables tables;
  DeviceTables devices(tables, TTCOLLECT_ALL_TABLES);
  devices.begin(run_of(1, 0));
  shm::LossRecord record;
  record.core_x = 1, record.core_y = 2;
  devices.loss(record);
  record.core_y = 3;
  devices.loss(record);
  ASSERT_EQ(tables.losses.size(), 2u);
  EXPECT_EQ(tables.losses[0].core_kind, 0);
  EXPECT_EQ(tables.losses[1].core_kind, TTCOLLECT_UNKNOWN_KIND);
}

}  // namespace
}  // namespace ttc::tools
