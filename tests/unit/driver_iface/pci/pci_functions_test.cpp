// What is found on a machine, on trees of files built here: sysfs, /proc and /dev as the kernel lays them
// out.
#include "driver_iface/pci_functions.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>

namespace ttc::card {
namespace {

namespace fs = std::filesystem;

class Machine : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "ttc-machine-XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    root = pattern;
    chmod(pattern.c_str(), 0755);
    fs::create_directories(root + "/sys/bus/pci/devices");
    fs::create_directories(root + "/proc");
    fs::create_directories(root + "/dev");
  }
  void TearDown() override { fs::remove_all(root); }

  void put(const std::string& path, const std::string& text) {
    fs::create_directories(fs::path(root + path).parent_path());
    std::ofstream(root + path, std::ios::binary) << text;
  }
  void link(const std::string& path, const std::string& target) {
    fs::create_directories(fs::path(root + path).parent_path());
    fs::create_symlink(target, root + path);
  }
  std::string function(const std::string& bdf, const std::string& device,
                       const std::string& vendor = "0x1e52") {
    std::string at = "/sys/bus/pci/devices/" + bdf + "/";
    put(at + "vendor", vendor + "\n");
    put(at + "device", device + "\n");
    put(at + "class", "0x120000\n");
    return at;
  }
  // A function with tt-kmd and node N.
  void card(const std::string& bdf, const std::string& device, unsigned n) {
    const std::string at = function(bdf, device);
    link(at + "driver", "../../../bus/pci/drivers/tenstorrent");
    const std::string own = attributes(n);
    link(own + "device", "../../../" + bdf);
    put("/dev/tenstorrent/" + std::to_string(n), "");
  }
  static std::string attributes(unsigned n) {
    return "/sys/class/tenstorrent/tenstorrent!" + std::to_string(n) + "/";
  }
  void process(int pid, const std::string& name, const std::string& opens, const std::string& flags) {
    const std::string at = "/proc/" + std::to_string(pid) + "/";
    put(at + "comm", name + "\n");
    if (opens.empty()) return;
    link(at + "fd/7", opens);
    put(at + "fdinfo/7", "pos:\t0\nflags:\t" + flags + "\nmnt_id:\t15\n");
  }
  void umd_lock(unsigned n, uint32_t lock_word, int pid, uint64_t marker = 0x5454554d444d5458) {
    std::string bytes(sizeof(pthread_mutex_t) + 16, '\0');
    const int32_t ids[] = {pid + 1, pid};
    std::memcpy(bytes.data(), &lock_word, sizeof lock_word);
    std::memcpy(bytes.data() + sizeof(pthread_mutex_t), &marker, sizeof marker);
    std::memcpy(bytes.data() + sizeof(pthread_mutex_t) + 8, ids, sizeof ids);
    put("/dev/shm/TT_UMD_LOCK.CHIP_IN_USE_" + std::to_string(n) + "_PCIe", bytes);
  }
  std::vector<PciFunction> found() const { return tenstorrent_functions(roots_below(root)); }
  PciFunction only() const {
    const auto functions = found();
    EXPECT_EQ(functions.size(), 1u);
    return functions.empty() ? PciFunction{} : functions.front();
  }
  static std::string all(const std::vector<std::string>& texts) {
    std::string joined;
    for (const std::string& text : texts) joined += text + "\n";
    return joined;
  }

  std::string root;
};

TEST_F(Machine, without_a_pci_bus_has_no_card) {
  fs::remove_all(root + "/sys/bus");
  EXPECT_TRUE(found().empty());
}

TEST_F(Machine, other_vendors_are_not_listed) {
  function("0000:00:02.0", "0x401e", "0x8086");
  EXPECT_TRUE(found().empty());
}

// They were shown as "Unknown x0, at best Unknown x255", with a note that the link runs below its best.
TEST_F(Machine, a_link_that_the_function_does_not_tell_is_not_known) {
  card("0000:01:00.0", "0x401e", 0);
  const std::string at = "/sys/bus/pci/devices/0000:01:00.0/";
  put(at + "current_link_speed", "Unknown\n");
  put(at + "current_link_width", "0\n");
  put(at + "max_link_speed", "Unknown speed\n");
  put(at + "max_link_width", "255\n");
  const PciFunction f = only();
  EXPECT_EQ(f.link.speed + f.link.width + f.best_link.speed + f.best_link.width, "");
  for (const std::string& note : f.remarks) EXPECT_EQ(note.find("below its best"), std::string::npos);
}

TEST_F(Machine, everything_the_kernel_tells_of_a_card) {
  card("0000:01:00.0", "0x401e", 0);
  const std::string at = "/sys/bus/pci/devices/0000:01:00.0/";
  put(at + "current_link_speed", "8.0 GT/s PCIe\n");
  put(at + "current_link_width", "16\n");
  put(at + "max_link_speed", "16.0 GT/s PCIe\n");
  put(at + "max_link_width", "16\n");
  put(at + "numa_node", "1\n");
  put(at + "local_cpulist", "16-31,48-63\n");
  put(at + "hwmon/hwmon3/temp1_input", "47250\n");
  put(attributes(0) + "tt_card_type", "n150\n");
  put(attributes(0) + "tt_serial", "0100018511732042\n");
  put(attributes(0) + "tt_asic_id", "1122334455667788\n");
  put(attributes(0) + "tt_fw_bundle_ver", "18.5.0.0\n");
  put(attributes(0) + "tt_aiclk", "1000\n");
  put("/sys/module/tenstorrent/version", "2.10.0\n");
  link("/dev/tenstorrent/by-id/wormhole-1122334455667788", "../0");
  const PciFunction f = only();
  EXPECT_EQ(f.bdf, "0000:01:00.0");
  EXPECT_EQ(f.arch, "wormhole_b0");
  EXPECT_EQ(f.driver, "tenstorrent");
  EXPECT_EQ(f.ordinal, 0u);
  EXPECT_EQ(f.node, "/dev/tenstorrent/0");
  EXPECT_EQ(f.by_id, "wormhole-1122334455667788");
  EXPECT_EQ(f.chip, 0u);
  EXPECT_EQ(f.driver_version, "2.10.0");
  EXPECT_EQ(f.firmware, "18.5.0.0");
  EXPECT_EQ(f.board, "n150");
  EXPECT_EQ(f.serial, "0100018511732042");
  EXPECT_EQ(f.asic_id, "1122334455667788");
  EXPECT_EQ(f.aiclk_mhz, 1000u);
  EXPECT_EQ(f.temperature_c, 47.25);
  EXPECT_EQ(f.link.speed, "8.0 GT/s PCIe");
  EXPECT_EQ(f.best_link.width, "16");
  EXPECT_EQ(f.numa_node, 1);
  EXPECT_EQ(f.local_cpus, "16-31,48-63");
  EXPECT_TRUE(f.openers.empty());
  EXPECT_EQ(f.umd_owner_pid, 0);
  EXPECT_TRUE(f.hidden.empty()) << all(f.hidden);
  EXPECT_NE(all(f.remarks).find("below its best"), std::string::npos);
}

TEST_F(Machine, chips_are_counted_by_pci_address_and_not_by_node) {
  card("0000:c1:00.0", "0x401e", 0);
  card("0000:41:00.0", "0xb140", 1);
  card("0001:01:00.0", "0xb140", 2);
  function("0000:02:00.0", "0x401e");  // without a driver: UMD does not list it
  const auto functions = found();
  ASSERT_EQ(functions.size(), 4u);
  const struct {
    const char* bdf;
    std::optional<unsigned> node, chip;
  } kExpected[] = {
      {"0000:02:00.0", {}, {}}, {"0000:41:00.0", 1, 0}, {"0000:c1:00.0", 0, 1}, {"0001:01:00.0", 2, 2}};
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(functions[i].bdf, kExpected[i].bdf);
    EXPECT_EQ(functions[i].ordinal, kExpected[i].node) << i;
    EXPECT_EQ(functions[i].chip, kExpected[i].chip) << i;
  }
  EXPECT_EQ(functions[1].arch, "blackhole");
}

TEST_F(Machine, a_function_without_a_driver_is_listed_and_said_so) {
  function("0000:01:00.0", "0xb140");
  // What the driver would publish for node 0 belongs to another function.
  link(attributes(0) + "device", "../../../0000:09:00.0");
  put(attributes(0) + "tt_aiclk", "1350\n");
  const PciFunction f = only();
  EXPECT_EQ(f.driver, "");
  EXPECT_FALSE(f.ordinal);
  EXPECT_FALSE(f.aiclk_mhz);
  EXPECT_NE(all(f.remarks).find("no driver is bound"), std::string::npos);
}

TEST_F(Machine, config_space_is_not_touched) {
  function("0000:01:00.0", "0xb140");
  // Opening it would not return: no process ever writes to this pipe.
  ASSERT_EQ(mkfifo((root + "/sys/bus/pci/devices/0000:01:00.0/config").c_str(), 0600), 0);
  ASSERT_EQ(mkfifo((root + "/sys/bus/pci/devices/0000:01:00.0/resource0").c_str(), 0600), 0);
  EXPECT_EQ(only().arch, "blackhole");
}

TEST_F(Machine, a_look_at_the_place_alone_makes_the_driver_read_no_chip) {
  card("0000:01:00.0", "0x401e", 0);
  put("/sys/bus/pci/devices/0000:01:00.0/numa_node", "1\n");
  put("/sys/bus/pci/devices/0000:01:00.0/hwmon/hwmon3/temp1_input", "40000\n");
  put(attributes(0) + "tt_aiclk", "1000\n");
  put(attributes(0) + "tt_serial", "0100018511732042\n");
  process(100, "workload", "/dev/tenstorrent/0", "0100002");
  umd_lock(0, 101, 100);
  const auto functions = tenstorrent_functions(roots_below(root), Detail::place);
  ASSERT_EQ(functions.size(), 1u);
  EXPECT_EQ(functions[0].numa_node, 1);
  EXPECT_EQ(functions[0].node, "/dev/tenstorrent/0");
  EXPECT_EQ(functions[0].umd_owner_pid, 100);
  EXPECT_TRUE(functions[0].openers.empty());
  EXPECT_FALSE(functions[0].aiclk_mhz);
  EXPECT_FALSE(functions[0].temperature_c);
  EXPECT_EQ(functions[0].serial, "");
  EXPECT_EQ(only().aiclk_mhz, 1000u);
}

TEST_F(Machine, another_driver_grayskull_and_an_unknown_id_are_named) {
  link(function("0000:01:00.0", "0x401e") + "driver", "../../../bus/pci/drivers/vfio-pci");
  function("0000:02:00.0", "0xfaca");
  function("0000:03:00.0", "0xbeef");
  link(function("0000:04:00.0", "0xb140") + "driver", "../../../bus/pci/drivers/tenstorrent");
  const auto functions = found();
  ASSERT_EQ(functions.size(), 4u);
  const char* kSays[] = {"bound to vfio-pci", "Grayskull is not supported", "device id", "kernel log"};
  for (size_t i = 0; i < 4; ++i)
    EXPECT_NE(all(functions[i].remarks).find(kSays[i]), std::string::npos) << all(functions[i].remarks);
}

TEST_F(Machine, a_function_that_vanishes_while_looking_is_left_out) {
  function("0000:01:00.0", "0x401e");
  fs::remove(root + "/sys/bus/pci/devices/0000:01:00.0/vendor");
  function("0000:02:00.0", "0xb140");
  const auto functions = found();
  ASSERT_EQ(functions.size(), 1u);
  EXPECT_EQ(functions[0].bdf, "0000:02:00.0");
}

TEST_F(Machine, a_bus_that_makes_no_sense_is_an_error_and_not_the_end_of_the_process) {
  fs::create_directories(root + "/sys/bus/pci/devices/what-is-this");
  EXPECT_THROW(found(), InventoryError);
}

TEST_F(Machine, values_that_are_no_numbers_are_not_believed) {
  card("0000:01:00.0", "0x401e", 0);
  put("/sys/bus/pci/devices/0000:01:00.0/numa_node", "-1\n");
  put(attributes(0) + "tt_aiclk", "fast\n");
  put(attributes(0) + "tt_serial", "0000043100000000\n");  // product 0x43
  const PciFunction f = only();
  EXPECT_EQ(f.numa_node, -1);
  EXPECT_FALSE(f.aiclk_mhz);
  EXPECT_EQ(f.board, "p100a");
}

TEST_F(Machine, who_has_it_open_by_open_files) {
  card("0000:01:00.0", "0x401e", 3);
  process(100, "workload", "/dev/tenstorrent/3", "0100002");
  process(200, "observer", "/dev/tenstorrent/3", "02106000");
  process(300, "other", "/dev/tenstorrent/33", "0100002");
  process(400, "idle", "", "");
  const PciFunction f = only();
  ASSERT_EQ(f.openers.size(), 2u);
  EXPECT_EQ(f.openers[0].pid, 100);
  EXPECT_EQ(f.openers[0].name, "workload");
  EXPECT_FALSE(f.openers[0].observer);
  EXPECT_EQ(f.openers[1].pid, 200);
  EXPECT_TRUE(f.openers[1].observer);
}

TEST_F(Machine, who_has_it_open_by_the_drivers_own_list) {
  card("0000:01:00.0", "0x401e", 0);
  process(100, "workload", "/dev/tenstorrent/0", "0100002");
  process(200, "foreign", "", "");  // its descriptors cannot be read
  put("/proc/driver/tenstorrent/0/pids", "200\n100\n100\n0\n");
  put("/sys/kernel/debug/tenstorrent/0/mappings",
      "Warning\n\nPID      Comm             Type           Mapping Details\n"
      "100      workload         OPEN_FD\n"
      "100      workload         TLB-alloc      ID: 156\n"
      "100      workload         TLB-alloc      ID: 157\n");
  const PciFunction f = only();
  ASSERT_EQ(f.openers.size(), 3u);
  EXPECT_EQ(f.openers[0].pid, 0);
  EXPECT_EQ(f.openers[1].pid, 100);
  EXPECT_EQ(f.openers[1].descriptors, 2u);
  EXPECT_EQ(f.openers[1].windows, 2u);
  EXPECT_EQ(f.openers[2].name, "foreign");
  EXPECT_FALSE(f.openers[2].observer);
}

TEST_F(Machine, a_umd_workload_owns_the_card_while_it_lives_and_holds_the_lock) {
  card("0000:01:00.0", "0x401e", 0);
  EXPECT_EQ(only().umd_owner_pid, 0);
  process(100, "workload", "", "");
  umd_lock(0, 101, 100);
  EXPECT_EQ(only().umd_owner_pid, 100);
  umd_lock(0, 0x80000000u | 101, 100);  // others wait for it
  EXPECT_EQ(only().umd_owner_pid, 100);
  umd_lock(0, 0, 100);  // released
  EXPECT_EQ(only().umd_owner_pid, 0);
  umd_lock(0, 101, 100, 0);  // not initialised yet
  EXPECT_EQ(only().umd_owner_pid, 0);
  umd_lock(0, 501, 500);  // its owner was killed
  EXPECT_EQ(only().umd_owner_pid, 0);
}

// The file ends in the owner's pid, and one byte of it may be a blank.
TEST_F(Machine, a_pid_that_ends_in_the_byte_of_a_blank_was_cut) {
  constexpr int kPid = 0x2056;
  card("0000:01:00.0", "0x401e", 0);
  process(kPid, "workload", "", "");
  umd_lock(0, kPid + 1, kPid);
  EXPECT_EQ(only().umd_owner_pid, kPid);
}

// Root again at the end, also after an exception.
struct AnotherUser {
  AnotherUser() { EXPECT_EQ(seteuid(65534), 0); }
  ~AnotherUser() { EXPECT_EQ(seteuid(0), 0); }
};

TEST_F(Machine, what_this_user_may_not_see_is_said) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root to become another user";
  card("0000:01:00.0", "0x401e", 0);
  put(attributes(0) + "tt_aiclk", "1000\n");
  put(attributes(0) + "tt_serial", "0000043100000000\n");
  umd_lock(0, 1, 1);
  process(100, "workload", "/dev/tenstorrent/0", "0100002");
  for (const std::string& path : {attributes(0) + "tt_aiclk", attributes(0) + "tt_serial",
                                  std::string("/dev/shm/TT_UMD_LOCK.CHIP_IN_USE_0_PCIe")})
    ASSERT_EQ(chmod((root + path).c_str(), 0), 0);
  ASSERT_EQ(chmod((root + "/proc/100/fd").c_str(), 0), 0);
  const auto functions = [this] {
    const AnotherUser other;
    return found();
  }();
  ASSERT_EQ(functions.size(), 1u);
  const std::string hidden = all(functions[0].hidden);
  EXPECT_NE(hidden.find("tt_serial, tt_aiclk (Permission denied)"), std::string::npos) << hidden;
  EXPECT_NE(hidden.find("1 processes of other users"), std::string::npos) << hidden;
  EXPECT_NE(hidden.find("UMD's lock"), std::string::npos) << hidden;
}

TEST(BoardOfSerial, takes_the_product_code_and_nothing_else) {
  EXPECT_EQ(board_of_serial(0x0100018511732042), "n150");
  EXPECT_EQ(board_of_serial(uint64_t{0x14} << 36), "n300");
  EXPECT_EQ(board_of_serial(uint64_t{0x40} << 36 | 0xfffffffff), "p150a");
  EXPECT_EQ(board_of_serial(0), "");
}

}  // namespace
}  // namespace ttc::card
