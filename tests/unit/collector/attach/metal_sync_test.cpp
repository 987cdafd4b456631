// The frequency of tt-metal's own sync: its file, ours in its form, and files that are neither.
#include "collector/attach/metal_sync.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace ttc::collect {
namespace {

class MetalSync : public testing::Test {
 protected:
  MetalSync() { std::filesystem::create_directory(directory_); }
  ~MetalSync() override { std::filesystem::remove_all(directory_); }
  std::optional<double> hz(const std::string& text, uint32_t chip) const {
    std::ofstream(directory_ + "/sync_device_info.csv") << text;
    return metal_sync_hz(directory_, chip);
  }
  const std::string directory_ =
      (std::filesystem::temp_directory_path() / ("metal-sync-" + std::to_string(getpid()))).string();
};

constexpr const char* kHead =
    "device id,core_x, "
    "core_y,device,host_tracy,host_real,write_overhead,host_start,delay,frequency,tracy_ratio,"
    "tracy_base_time,device_frequency_ratio,device_shift\n";

TEST_F(MetalSync, the_last_sample_of_the_device_counts) {
  const std::string text =
      std::string(kHead) +
      "    0,    1,    2,  10,  20,  30.00, 0, 5, 1.00,   0.999000000000000,  1.0, 0,1.0,0\n"
      "    3,    1,    2,  10,  20,  30.00, 0, 5, 1.00,   1.350000000000000,  1.0, 0,1.0,0\n"
      "    0,    1,    2,  11,  21,  31.00, 0, 5, 1.00,   1.000037000000000,  1.0, 0,1.0,0\r\n";
  EXPECT_DOUBLE_EQ(hz(text, 0).value_or(0), 1.000037e9);
  EXPECT_DOUBLE_EQ(hz(text, 3).value_or(0), 1.35e9);
  EXPECT_FALSE(hz(text, 1));
}

TEST_F(MetalSync, what_is_no_sample_is_none) {
  EXPECT_FALSE(metal_sync_hz(directory_ + "/nowhere", 0));
  EXPECT_FALSE(hz("", 0));
  EXPECT_FALSE(hz(kHead, 0));
  EXPECT_FALSE(hz("a,b\n1,2\n", 0));
  EXPECT_FALSE(hz(std::string(kHead) + "0,1,2\n", 0));
  EXPECT_FALSE(hz(std::string(kHead) + "0,1,2,3,4,5,6,7,8,fast,1,0,1.0,0\n", 0));
  EXPECT_FALSE(hz(std::string(kHead) + "0,1,2,3,4,5,6,7,8,-1,1,0,1.0,0\n", 0));
}

}  // namespace
}  // namespace ttc::collect
