// One pass over trees of files built here: sysfs, /proc and /dev as the kernel lays them out.
#include "collector/doctor/look/machine_reader.hpp"

#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>

#include "collector/doctor/doctor_report.hpp"
#include "collector/doctor/findings.hpp"
#include "collector/doctor/look/tracy_announcement.hpp"

namespace ttc::collect::doctor {
namespace {

namespace fs = std::filesystem;

class DoctorTree : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "ttc-doctor-XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    root = pattern;
    fs::create_directories(root + "/sys/bus/pci/devices");
    fs::create_directories(root + "/dev/shm");
    put("/proc/uptime", "1000.00 900.00\n");
    put("/proc/self/status", "Name:\tttcollect\nCpus_allowed_list:\t0-3\n");
    put("/proc/self/limits",
        "Max locked memory         8388608              8388608              bytes     \n");
    put("/proc/self/cgroup", "0::/user.slice/job\n");
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
  void card(unsigned n, const std::string& bdf) {
    const std::string at = "/sys/bus/pci/devices/" + bdf + "/", own = attributes(n);
    put(at + "vendor", "0x1e52\n");
    put(at + "device", "0x401e\n");
    put(at + "class", "0x120000\n");
    put(at + "numa_node", "0\n");
    put(at + "local_cpulist", "0-3\n");
    link(at + "driver", "../../../bus/pci/drivers/tenstorrent");
    link(own + "device", "../../../" + bdf);
    put("/sys/module/tenstorrent/version", "2.10.0\n");
    put("/dev/tenstorrent/" + std::to_string(n), "");
  }
  static std::string attributes(unsigned n) {
    return "/sys/class/tenstorrent/tenstorrent!" + std::to_string(n) + "/";
  }
  static std::string of(int pid) { return "/proc/" + std::to_string(pid) + "/"; }
  // Runs since 100 s, of session 10.
  void process(int pid, const std::string& name, const std::string& environment, char state = 'S',
               int parent = 10) {
    const long started = 900 * sysconf(_SC_CLK_TCK);
    put(of(pid) + "stat", std::to_string(pid) + " (odd) name) " + state + " " + std::to_string(parent) + " " +
                              std::to_string(pid) + " 10 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 " +
                              std::to_string(started) + " 0\n");
    put(of(pid) + "comm", name + "\n");
    put(of(pid) + "cmdline", name + std::string("\0--model\0", 9));
    put(of(pid) + "environ", environment);
    put(of(pid) + "maps", "");
    put(of(pid) + "status", "SigIgn:\t0000000000000000\n");
    link(of(pid) + "root", root);
    link(of(pid) + "cwd", root);
    fs::create_directories(root + of(10));  // the session's leader
  }
  void opens(int pid, int fd, const std::string& target, const std::string& flags = "0100002") {
    link(of(pid) + "fd/" + std::to_string(fd), target);
    put(of(pid) + "fdinfo/" + std::to_string(fd), "pos:\t0\nflags:\t" + flags + "\n");
  }
  void maps(int pid, const std::string& lines) { put(of(pid) + "maps", lines); }
  void library(const std::string& path, const std::string& holds) {
    put(path, std::string(5000, 'x') + std::string(1, '\0') + holds + std::string(5000, 'y'));
  }
  // A workload with profiler and Tracy on node 0.
  void workload(int pid, const std::string& more = {}) {
    process(pid, "python3",
            "HOME=/root" + std::string(1, '\0') + "TT_METAL_DEVICE_PROFILER=1" + std::string(1, '\0') +
                "TT_METAL_PROFILER_MID_RUN_DUMP=1" + std::string(1, '\0') + "TT_METAL_HOME=/opt/tt" +
                std::string(1, '\0') + more);
    opens(pid, 7, "/dev/tenstorrent/0");
    library("/opt/tt/libtt_metal.so", "TT_METAL_DEVICE_PROFILER");
    put("/opt/tt/generated/profiler/.logs/zone_src_locations.log", "");
    maps(pid,
         "7f0000000000-7f0000001000 r-xp 00000000 08:01 1 /opt/tt/libtt_metal.so\n"
         "7f0000002000-7f0000003000 r-xp 00000000 08:01 2 /opt/tt/libTracyClient.so.0.10\n");
  }
  std::string lock_bytes(uint32_t word, int pid) {
    std::string bytes(sizeof(pthread_mutex_t) + 16, '\0');
    const uint64_t marker = 0x5454554d444d5458;
    const int32_t ids[] = {pid, pid};
    std::memcpy(bytes.data(), &word, sizeof word);
    std::memcpy(bytes.data() + sizeof(pthread_mutex_t), &marker, sizeof marker);
    std::memcpy(bytes.data() + sizeof(pthread_mutex_t) + 8, ids, sizeof ids);
    return bytes;
  }

  MachineState look(int only_pid = 0, bool read_chips = true) {
    return look_at_machine({root, only_pid, read_chips, 1});
  }
  std::string ids(int only_pid = 0) {
    std::string all;
    for (const Finding& f : findings_of(look(only_pid))) all += (all.empty() ? "" : " ") + f.id;
    return all;
  }

  std::string root;
};

TEST_F(DoctorTree, a_healthy_machine_has_no_findings) {
  card(0, "0000:01:00.0");
  workload(100);
  const MachineState m = look();
  EXPECT_EQ(ids(), "") << to_text(m, findings_of(m));
  ASSERT_EQ(m.processes.size(), 1u);
  const ProcessState& p = m.processes[0];
  EXPECT_EQ(p.name, "python3");
  EXPECT_EQ(p.command, "python3 --model");
  EXPECT_EQ(p.age_s, 100);
  EXPECT_EQ(p.parent, 10);
  EXPECT_EQ(p.holds, std::vector<std::string>{"/dev/tenstorrent/0"});
  EXPECT_EQ(p.metal_library, "/opt/tt/libtt_metal.so");
  EXPECT_TRUE(p.tracy_library);
  EXPECT_TRUE(p.has_zone_logs);
  EXPECT_EQ(m.host.memlock, 8388608u);
  EXPECT_EQ(m.host.allowed, (CpuSet{0, 1, 2, 3}));
  EXPECT_TRUE(m.hidden.empty());
}

TEST_F(DoctorTree, nothing_is_read_from_a_chip_that_nobody_asked_for) {
  card(0, "0000:01:00.0");
  put(attributes(0) + "tt_heartbeat", "5\n");
  EXPECT_EQ(look(0, false).chip_reads, 0u);
  EXPECT_TRUE(look(0, false).cards[0].heartbeat.empty());
}

TEST_F(DoctorTree, firmware_that_stands_still_and_sensors_at_their_limits) {
  card(0, "0000:01:00.0");
  put(attributes(0) + "tt_heartbeat", "5\n");
  put(attributes(0) + "tt_therm_trip_count", "1\n");
  put("/sys/bus/pci/devices/0000:01:00.0/hwmon/hwmon2/temp1_input", "80000\n");
  put("/sys/bus/pci/devices/0000:01:00.0/hwmon/hwmon2/temp1_max", "75000\n");
  const MachineState m = look();
  EXPECT_EQ(m.chip_reads, 6 + 1 + 1 + 2 + 2u);  // description, reset, trips, sensor, heartbeat
  std::string all;
  for (const Finding& f : findings_of(m)) all += f.id + " ";
  EXPECT_EQ(all, "firmware-stands-still throttled thermal-trip ");
}

TEST_F(DoctorTree, a_misspelt_name_that_the_build_reads_is_none) {
  card(0, "0000:01:00.0");
  workload(100, "TT_METAL_DEVICE_PROFLER=1");
  EXPECT_EQ(ids(), "variable-misspelt");
  library("/opt/tt/libtt_metal.so", "TT_METAL_DEVICE_PROFLER");
  EXPECT_EQ(ids(), "");
}

TEST_F(DoctorTree, a_build_without_tracy_says_so_in_its_library) {
  card(0, "0000:01:00.0");
  workload(100);
  maps(100, "7f0000000000-7f0000001000 r-xp 00000000 08:01 1 /opt/tt/libtt_metal.so\n");
  EXPECT_EQ(ids(), "");
  library("/opt/tt/libtt_metal.so", "TT_METAL_DEVICE_PROFILER requires a Tracy-enabled build of tt-metal.");
  EXPECT_EQ(ids(), "built-without-tracy");
}

TEST_F(DoctorTree, versions_of_what_a_workload_runs) {
  card(0, "0000:01:00.0");
  workload(100);
  const std::string packages = "/venv/lib/python3.10/site-packages";
  maps(100, "7f0000000000-7f0000001000 r-xp 00000000 08:01 1 " + packages +
                "/ttnn/lib/libtt_metal.so\n"
                "7f0000002000-7f0000003000 r-xp 00000000 08:01 2 " +
                packages + "/ttnn/lib/libtracy.so.0.10.0\n");
  for (const char* info : {"ttnn-0.62.1", "tt_perf_report-1.3.0", "numpy-1.26.4", "tt"})
    put(packages + "/" + info + ".dist-info/METADATA", "");
  put("/checkout/tt_metal/hw/x.h", "");
  const MachineState m = look();
  const ProcessState& p = *m.process(100);
  EXPECT_EQ(p.tracy_version, "0.10.0");
  EXPECT_EQ(p.packages_at, packages);
  using Packages = std::vector<std::pair<std::string, std::string>>;
  EXPECT_EQ(p.packages, (Packages{{"tt_perf_report", "1.3.0"}, {"ttnn", "0.62.1"}}));
  const auto with_home = [&](const std::string& home) {
    std::string environ;
    for (const std::string& one :
         {std::string("TT_METAL_DEVICE_PROFILER=1"), std::string("TT_METAL_PROFILER_MID_RUN_DUMP=1"),
          std::string("TT_METAL_PROFILER_DIR=/opt/tt/generated/profiler"), home})
      if (!one.empty()) environ += one + std::string(1, '\0');
    put(of(100) + "environ", environ);
    return ids();
  };
  EXPECT_EQ(with_home(""), "") << "no variable names another tree";
  EXPECT_EQ(with_home("TT_METAL_HOME=/checkout"), "metal-home-differs");
  EXPECT_EQ(with_home("TT_METAL_HOME=/nowhere"), "") << "what is not there is not used";
  EXPECT_EQ(with_home("TT_METAL_RUNTIME_ROOT=" + packages + "/ttnn"), "");
}

TEST_F(DoctorTree, a_library_that_was_replaced) {
  card(0, "0000:01:00.0");
  workload(100);
  maps(100,
       "7f0000000000-7f0000001000 r-xp 00000000 08:01 1 /opt/tt/libtt_metal.so (deleted)\n"
       "7f0000002000-7f0000003000 r-xp 00000000 08:01 2 /opt/tt/libtracy.so\n");
  EXPECT_EQ(ids(), "library-replaced");
}

TEST_F(DoctorTree, stopped_orphaned_and_nohup_holders) {
  card(0, "0000:01:00.0");
  workload(100);
  const std::string rest = " 0 -1 0 0 0 0 0 0 0 0 0 0 20 0 1 0 90000 0\n";
  put(of(100) + "stat", "100 (python3) T 10 100 10" + rest);
  EXPECT_EQ(look().process(100)->state, 'T');
  EXPECT_EQ(ids(), "stale-holder");
  put(of(100) + "stat", "100 (python3) S 1 100 77" + rest);  // session 77 has no leader
  EXPECT_EQ(ids(), "stale-holder");
  put(of(100) + "status", "SigIgn:\t0000000000000001\n");
  EXPECT_EQ(ids(), "");
}

TEST_F(DoctorTree, who_waits_for_the_lock_is_seen_by_the_address_of_its_futex) {
  card(0, "0000:01:00.0");
  workload(100);
  put("/dev/shm/TT_UMD_LOCK.CHIP_IN_USE_0_PCIe", lock_bytes(0x80000000u | 100, 100));
  process(200, "pytest", "TT_METAL_DEVICE_PROFILER=1");
  maps(200, "7f1000000000-7f1000001000 rw-s 00000000 00:17 9 /dev/shm/TT_UMD_LOCK.CHIP_IN_USE_0_PCIe\n");
  const std::string futex = std::to_string(SYS_futex);
  put(of(200) + "task/200/syscall", futex + " 0x7f1000000000 0x189 0x80000064 0x0 0x0 0x0 0x7ffc 0x7f\n");
  const MachineState m = look();
  ASSERT_NE(m.process(200), nullptr);
  EXPECT_EQ(m.process(200)->waits_for_chip, std::vector<unsigned>{0});
  EXPECT_EQ(ids(), "chip-in-use");
  // Another futex, another call, running: it does not wait for the lock. A thread does, by the mutex's word.
  for (const std::string& call :
       {futex + " 0x7f2000000000 0x189", std::string("0 0x7f1000000000 0x1"), std::string("running")}) {
    put(of(200) + "task/200/syscall", call + "\n");
    EXPECT_TRUE(look().process(200)->waits_for_chip.empty()) << call;
  }
  put("/dev/shm/TT_UMD_LOCK.CHIP_IN_USE_0_PCIe", lock_bytes(100, 100));
  EXPECT_EQ(ids(), "");
}

TEST_F(DoctorTree, an_exclusive_open_is_seen_by_its_flags) {
  card(0, "0000:01:00.0");
  workload(100);
  opens(100, 8, "/dev/tenstorrent/0", "02100202");  // O_EXCL
  EXPECT_EQ(ids(), "exclusive-holder");
}

TEST_F(DoctorTree, ports_and_their_owners) {
  const std::string head =
      "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n";
  card(0, "0000:01:00.0");
  workload(100);
  process(500, "influxd", "");
  opens(500, 3, "socket:[4711]");
  opens(100, 9, "socket:[4712]");
  put("/proc/net/tcp", head +
                           "   0: 0100007F:1F96 00000000:0000 0A 00000000:00000000 00:00000000 00000000     "
                           "0        0 4711 1\n");
  put("/proc/net/tcp6",
      head +
          "   0: 00000000000000000000000000000000:1F97 00000000000000000000000000000000:0000 0A "
          "00000000:00000000 00:00000000 00000000     0        0 4712 1\n"
          "   1: 0000000000000000FFFF00000100007F:1F97 0000000000000000FFFF00000100007F:A0F2 01 "
          "00000000:00000000 00:00000000 00000000     0        0 4713 1\n");
  const MachineState m = look();
  ASSERT_EQ(m.listeners.size(), 2u);
  EXPECT_EQ(m.listeners[0].port, 8086u);
  EXPECT_EQ(m.listeners[0].name, "influxd");
  EXPECT_EQ(m.listeners[1].port, 8087u);
  EXPECT_EQ(m.listeners[1].pid, 100);
  EXPECT_EQ(m.listeners[1].connections, 1u);
  EXPECT_EQ(ids(), "tracy-port-foreign");
}

TEST_F(DoctorTree, kernels_of_a_cache_are_examined_until_one_decides) {
  card(0, "0000:01:00.0");
  workload(100);
  fs::remove_all(root + "/opt/tt/generated/profiler/.logs");
  fs::create_directories(root + "/opt/tt/generated/profiler/.logs");
  const std::string cache = "/root/.cache/tt-metal-cache/3f/1234/",
                    kernel = cache + "kernels/reader/77/brisc/brisc.elf";
  const auto hours_ago = [&](const std::string& path) {
    fs::last_write_time(root + path, fs::file_time_type::clock::now() - std::chrono::hours(5));
  };
  EXPECT_EQ(ids(), "no-zone-names");
  put(kernel,
      "\x7f"
      "ELF _start kernel_main src/kernel_profiler.hpp");
  put(cache + "firmware/brisc/brisc.elf", "_start _ZN15kernel_profiler6wIndexE");  // is no kernel
  hours_ago(kernel);
  EXPECT_EQ(ids(), "cached-without-profiler");
  put(cache + "kernels/writer/12/ncrisc/ncrisc.elf", "stripped");
  hours_ago(cache + "kernels/writer/12/ncrisc/ncrisc.elf");
  EXPECT_EQ(ids(), "no-zone-names");
  fs::remove_all(root + cache + "kernels/writer");
  put(cache + "kernels/compute/12/trisc0/trisc0.elf", "_start _ZN15kernel_profiler6wIndexE");
  hours_ago(cache + "kernels/compute/12/trisc0/trisc0.elf");
  EXPECT_EQ(ids(), "no-zone-names");
  put(cache + "kernels/compute/12/trisc0/trisc0.elf", "_start");  // since the process was started
  EXPECT_EQ(ids(), "no-zone-names");
}

TEST_F(DoctorTree, the_cache_that_a_variable_names_is_the_only_one) {
  card(0, "0000:01:00.0");
  workload(100, "TT_METAL_CACHE=/scratch" + std::string(1, '\0'));
  fs::remove_all(root + "/opt/tt/generated/profiler/.logs");
  fs::create_directories(root + "/opt/tt/generated/profiler/.logs");
  put("/root/.cache/tt-metal-cache/1/kernels/a/1/brisc/brisc.elf", "_start");
  EXPECT_EQ(look().processes.at(0).kernels.at, "");
  put("/scratch/tt-metal-cache/1/kernels/a/1/brisc/brisc.elf", "_start");
  EXPECT_EQ(look().processes.at(0).kernels.at, "/scratch/tt-metal-cache");
  EXPECT_EQ(look().processes.at(0).kernels.kernels, 0u);
  EXPECT_TRUE(look().processes.at(0).kernels.grew);
}

TEST(TracyAnnouncement, is_found_by_version_port_and_pid) {
  const auto word = [](uint64_t version, uint64_t port, uint64_t protocol) {
    return version | port << 16 | protocol << 32;
  };
  const std::vector<uint64_t> bytes{word(3, 8087, 82), 0,    word(3, 9000, 82), 4711, word(2, 8087, 82), 4711,
                                    word(3, 8087, 0),  4711, word(3, 8087, 66), 17};
  EXPECT_FALSE(find_announcement(bytes, {8087}, {4711}));
  const auto found = find_announcement(bytes, {8086, 8087}, {4711, 17});
  ASSERT_TRUE(found);
  EXPECT_EQ(found->protocol, 66u);
  EXPECT_FALSE(find_announcement({bytes.data(), 9}, {8086, 8087}, {4711, 17}));  // cut off
}

TEST_F(DoctorTree, emulated_cards_and_their_processes) {
  put("/proc/net/unix",
      "Num       RefCount Protocol Flags    Type St Inode Path\n"
      "0000000000000000: 00000002 00000000 00010000 0005 01 51 @ttemu.demo\n"
      "0000000000000000: 00000003 00000000 00000000 0005 03 52 @ttemu.demo\n");
  process(300, "ttemu", "TT_METAL_WATCHR=1");
  opens(300, 4, "socket:[51]");
  const MachineState m = look();
  ASSERT_EQ(m.emulated.size(), 1u);
  EXPECT_EQ(m.emulated[0].name, "demo");
  EXPECT_EQ(m.emulated[0].holder_pid, 300);
  EXPECT_EQ(ids(), "variable-misspelt");
}

TEST_F(DoctorTree, limits_of_a_container_are_the_least_of_all_groups_it_is_in) {
  card(0, "0000:01:00.0");
  put("/sys/fs/cgroup/user.slice/job/cpu.max", "max 100000\n");
  put("/sys/fs/cgroup/user.slice/cpu.max", "50000 100000\n");
  put("/sys/fs/cgroup/user.slice/job/memory.max", "1000000000\n");
  put("/sys/fs/cgroup/user.slice/job/memory.current", "990000000\n");
  put("/proc/sys/kernel/io_uring_disabled", "2\n");
  put("/proc/self/limits",
      "Max locked memory         65536                65536                bytes     \n");
  put("/sys/devices/system/cpu/cpu1/cpufreq/scaling_governor", "powersave\n");
  put("/sys/devices/system/cpu/cpu1/cpuidle/state2/name", "C6\n");
  put("/sys/devices/system/cpu/cpu1/cpuidle/state2/latency", "133\n");
  put("/sys/devices/system/cpu/cpu1/cpuidle/state2/disable", "0\n");
  put("/var/lib/dkms/tenstorrent/2.11.0/source", "");
  EXPECT_EQ(look().host.cpu_quota, 0.5);
  EXPECT_EQ(ids(),
            "cpu-quota driver-not-reloaded memlock-small memory-limit io-uring-off cpu-governor deep-idle");
  put("/sys/devices/system/cpu/cpu1/cpuidle/state2/disable", "1\n");
  put("/sys/devices/system/cpu/cpu1/cpufreq/scaling_governor", "performance\n");
  EXPECT_EQ(ids(), "cpu-quota driver-not-reloaded memlock-small memory-limit io-uring-off");
}

TEST_F(DoctorTree, limits_of_control_groups_of_version_1_are_those_of_this_process) {
  card(0, "0000:01:00.0");
  put("/proc/self/cgroup", "4:memory:/job/part\n2:cpu,cpuacct:/job\n1:cpuset:/other\n0::/\n");
  put("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n");
  put("/sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
  put("/sys/fs/cgroup/cpu/job/cpu.cfs_quota_us", "25000\n");
  put("/sys/fs/cgroup/cpu/job/cpu.cfs_period_us", "100000\n");
  put("/sys/fs/cgroup/cpu/other/cpu.cfs_quota_us", "1000\n");
  put("/sys/fs/cgroup/cpu/other/cpu.cfs_period_us", "100000\n");
  put("/sys/fs/cgroup/memory/job/part/memory.limit_in_bytes", "9223372036854771712\n");
  put("/sys/fs/cgroup/memory/job/part/memory.usage_in_bytes", "4096\n");
  put("/sys/fs/cgroup/memory/job/memory.limit_in_bytes", "67108864\n");
  put("/sys/fs/cgroup/memory/job/memory.usage_in_bytes", "4096\n");
  EXPECT_EQ(look().host.cpu_quota, 0.25);
  EXPECT_EQ(look().host.memory_left, 67104768u);
  EXPECT_EQ(ids(), "cpu-quota memory-limit");
}

TEST_F(DoctorTree, a_process_that_is_not_there) {
  EXPECT_THROW(look(4242), NoSuchProcess);
}

TEST_F(DoctorTree, a_process_that_is_asked_for_need_not_hold_a_card) {
  card(0, "0000:01:00.0");
  process(200, "python3", "TT_METAL_DEVICE_PROFLER=1");
  library("/opt/tt/libtt_metal.so", "");
  maps(200, "7f0000000000-7f0000001000 r-xp 00000000 08:01 1 /opt/tt/libtt_metal.so\n");
  EXPECT_EQ(ids(), "");
  EXPECT_EQ(ids(200), "variable-misspelt");
}

// Root again at the end, also after an exception.
struct DoctorAsAnotherUser {
  DoctorAsAnotherUser() { EXPECT_EQ(seteuid(65534), 0); }
  ~DoctorAsAnotherUser() { EXPECT_EQ(seteuid(0), 0); }
};

TEST_F(DoctorTree, what_another_user_may_not_see_is_said_and_is_no_finding) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root to become another user";
  card(0, "0000:01:00.0");
  workload(100, "TT_METAL_DEVICE_PROFLER=1");
  put("/proc/driver/tenstorrent/0/pids", "100\n");
  fs::permissions(root, fs::perms(0755));
  for (const char* file : {"environ", "maps", "fd"}) fs::permissions(root + of(100) + file, fs::perms::none);
  MachineState m;
  {
    const DoctorAsAnotherUser other;
    m = look();
  }
  EXPECT_TRUE(findings_of(m).empty()) << to_text(m, findings_of(m));
  std::string hidden;
  for (const std::string& what : m.hidden) hidden += what + "\n";
  EXPECT_NE(hidden.find("open files of 1 processes"), std::string::npos) << hidden;
  EXPECT_NE(hidden.find("environment and libraries of pid 100"), std::string::npos) << hidden;
}

}  // namespace
}  // namespace ttc::collect::doctor
