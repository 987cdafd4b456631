// Device logs as text for the tests of reports, and the run that is read from one.
#pragma once
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "tools/report/ops/run.hpp"

namespace ttc::report {

inline constexpr const char* k15 =
    "ARCH: wormhole_b0, CHIP_FREQ[MHz]: 1000, Max Compute Cores: 64\n"
    "PCIe slot, core_x, core_y, RISC processor type, timer_id, time[cycles since reset], data, run host ID, "
    "trace id, "
    "trace id counter, zone name, type, source line, source file, meta data\n";
inline constexpr const char* k13 =
    "ARCH: wormhole_b0, CHIP_FREQ[MHz]: 1000\n"
    "PCIe slot, core_x, core_y, RISC processor type, timer_id, time[cycles since reset], data, run host ID,  "
    "zone name, "
    "type, source line, source file, meta data\n";

// A log in a file that goes away.
class LogFile {
 public:
  explicit LogFile(const std::string& text)
      : path(std::filesystem::temp_directory_path() /
             ("report_log-" + std::to_string(getpid()) + "-" + std::to_string(next_++) + ".csv")) {
    std::ofstream(path, std::ios::binary) << text;
  }
  ~LogFile() { std::filesystem::remove(path); }
  const std::string path;

 private:
  static inline int next_ = 0;
};

inline Run read(const std::string& text, size_t budget = OpBuilder::kDefaultBudget,
                const RunListeners& listeners = {}, const std::string& host = "") {
  const LogFile file(text), messages(host);
  RunOptions options;
  options.from = {file.path};
  options.host = messages.path;
  options.no_host = host.empty();
  options.budget = budget;
  return read_run(options, listeners);
}

inline std::string row15(int x, const char* risc, int id, uint64_t time, uint32_t host,
                         const std::string& name, const char* type, const std::string& counter = "",
                         const std::string& meta = "", int chip = 0) {
  return std::to_string(chip) + "," + std::to_string(x) + ",1," + risc + "," + std::to_string(id) + "," +
         std::to_string(time) + ",0," + std::to_string(host) + "," + (counter.empty() ? "" : "5") + "," +
         counter + "," + name + "," + type + ",1,f.cc," + meta + "\n";
}

// FW around KERNEL on one processor.
inline std::string launch(int x, const char* risc, uint64_t begin, uint64_t length, uint32_t host,
                          const std::string& counter = "", int chip = 0) {
  const std::string name = std::string(risc).substr(0, std::string(risc).find('_'));
  return row15(x, risc, 10, begin, host, name + "-FW", "ZONE_START", counter, "", chip) +
         row15(x, risc, 11, begin + 100, host, name + "-KERNEL", "ZONE_START", counter, "", chip) +
         row15(x, risc, 11, begin + 100 + length, host, name + "-KERNEL", "ZONE_END", counter, "", chip) +
         row15(x, risc, 10, begin + 200 + length, host, name + "-FW", "ZONE_END", counter, "", chip);
}

inline std::string row13(int x, const char* risc, int id, uint64_t time, uint32_t host, const char* name,
                         const char* type, const std::string& meta = "") {
  return "0," + std::to_string(x) + ",1," + risc + "," + std::to_string(id) + "," + std::to_string(time) +
         ",0," + std::to_string(host) + "," + name + "," + type + ",1,f.cc," + meta + "\n";
}

}  // namespace ttc::report
