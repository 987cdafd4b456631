// Batches on the disk: in order, bounded, and as they were after any end of a process.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "tools/fleet/bus/spool.hpp"

namespace {

using namespace ttc::fleet;
namespace fs = std::filesystem;

SpoolEntry fleet_entry(uint64_t position, uint32_t rows = 10) {
  return {{1, 2, RowKind::ops, position}, rows, position * 100, position * 100 + 99};
}

std::string fleet_directory(const char* name) {
  return std::filesystem::temp_directory_path() / (std::string(name) + "-" + std::to_string(getpid()));
}

uint64_t bytes_in(const std::string& directory) {
  uint64_t all = 0;
  for (const auto& entry : fs::directory_iterator(directory))
    if (entry.path().extension() == ".spool") all += entry.file_size();
  return all;
}

TEST(FleetSpool, batches_come_out_in_order_and_files_go_with_them) {
  const std::string directory = fleet_directory("order");
  Spool spool(directory, 1 << 20);
  for (uint64_t i = 0; i < 100; ++i)
    spool.append(fleet_entry(i * 10), std::string(5000, static_cast<char>('a' + i % 26)));
  for (uint64_t i = 0; i < 100; ++i) {
    const auto taken = spool.take();
    ASSERT_TRUE(taken);
    EXPECT_EQ(taken->entry.name.position, i * 10);
    EXPECT_EQ(taken->batch, std::string(5000, static_cast<char>('a' + i % 26)));
    if (i % 3 == 0) {
      spool.put_back();
      ASSERT_TRUE(spool.take());
    }
    spool.done();
  }
  EXPECT_FALSE(spool.take());
  EXPECT_EQ(bytes_in(directory), 0u);
  EXPECT_TRUE(spool.take_drops().empty());
}

TEST(FleetSpool, the_next_process_has_what_was_left_and_a_torn_end_is_left_out) {
  const std::string directory = fleet_directory("next");
  {
    Spool spool(directory, 1 << 20);
    for (uint64_t i = 0; i < 3; ++i) spool.append(fleet_entry(i * 10), "batch " + std::to_string(i));
    spool.note({5, 6, 7});
    EXPECT_THROW(Spool(directory, 1 << 20), SpoolError);  // it is used
  }
  const std::string file = directory + "/0000000000000001.spool";
  fs::resize_file(file, fs::file_size(file) - 1);
  Spool spool(directory, 1 << 20);
  EXPECT_EQ(spool.batches(), 2u);
  EXPECT_EQ(spool.take()->batch, "batch 0");
  spool.done();
  EXPECT_EQ(spool.take()->batch, "batch 1");
  spool.done();
  EXPECT_EQ(spool.earlier().session, 5u);
  EXPECT_EQ(spool.earlier().epoch, 7u);
}

TEST(FleetSpool, the_oldest_make_way_and_every_row_of_them_is_accounted_for) {
  const std::string directory = fleet_directory("full");
  Spool spool(directory, 64 << 10);
  for (uint64_t i = 0; i < 100; ++i) {
    spool.append(fleet_entry(i * 10), std::string(3000, 'x'));
    ASSERT_LE(bytes_in(directory), 64u << 10);
  }
  const auto drops = spool.take_drops();
  ASSERT_EQ(drops.size(), 1u);
  EXPECT_EQ(drops[0].first.position, 0u);
  EXPECT_EQ(spool.take()->entry.name.position, drops[0].rows);
  EXPECT_EQ(drops[0].rows / 10 + spool.batches(), 100u);
  EXPECT_EQ(drops[0].to_ns, (drops[0].rows - 10) * 100 + 99);
}

TEST(FleetSpool, what_is_being_sent_does_not_make_way) {
  Spool spool(fleet_directory("sending"), 16 << 10);
  spool.append(fleet_entry(0), std::string(3000, 'x'));
  const auto sending = spool.take();
  for (uint64_t i = 1; i < 50; ++i) spool.append(fleet_entry(i * 10), std::string(3000, 'x'));
  spool.done();
  for (const DroppedRows& d : spool.take_drops()) EXPECT_GT(d.first.position, 0u);
}

TEST(FleetSpool, damage_from_outside_is_an_interval_and_no_batch) {
  const std::string directory = fleet_directory("damage");
  Spool spool(directory, 1 << 20);
  spool.append(fleet_entry(0), std::string(3000, 'x'));
  std::fstream(directory + "/0000000000000001.spool", std::ios::in | std::ios::out).seekp(200) << 'y';
  EXPECT_FALSE(spool.take());
  ASSERT_EQ(spool.take_drops().size(), 1u);
}

}  // namespace
