// Typed rows without cells that are kept are those that are read from the cells, for every number of threads.
#include <gtest/gtest.h>

#include <random>
#include <sstream>

#include "tests/unit/tools/report/log_text.hpp"
#include "tools/report/metal_files/device_cells.hpp"
#include "tools/report/ops/op_table.hpp"

namespace ttc::report {
namespace {

struct InWords {
  std::ostream& to;
  void operator()(const std::string& text) const { to << '"' << text << "\" "; }
  void operator()(const uint64_t& number) const { to << number << ' '; }
  template <class T>
  void operator()(const std::optional<T>& value) const {
    if (value)
      to << *value << ' ';
    else
      to << "- ";
  }
};

std::string words_of(const OpTable& table) {
  std::ostringstream all;
  all.precision(17);
  for (const OpRow& row : table.rows) {
    each_field(row, InWords{all});
    all << '\n';
  }
  for (const std::string& remark : table.remarks) all << remark << '\n';
  all << table.damaged << table.has_arch << table.has_worker_cores << table.padded_names;
  return all.str();
}

Run run_of(const LogFile& log, TableAs table, unsigned threads) {
  RunOptions options;
  options.from = {log.path};
  options.no_host = true;
  options.table = table;
  options.threads = threads;
  return read_run(options);
}

// Programs on one or several chips, replayed or not, with and without processors that move data.
std::string random_log(std::mt19937& random) {
  const int chips = 1 + static_cast<int>(random() % 2);
  const bool replays = random() % 2;
  std::string text = k15;
  for (int chip = 0; chip < chips; ++chip) {
    uint64_t at = 1000;
    for (uint32_t host = 1; host <= 200; ++host) {
      const std::string counter = replays ? std::to_string(host % 3) : "";
      for (const char* risc : {"BRISC", "TRISC_0", "TRISC_1"})
        if (random() % 4)
          text += launch(1 + static_cast<int>(random() % 3), risc, at + random() % 50, 100 + random() % 900,
                         host, counter, chip);
      at += 500 + random() % 3000;  // programs overlap now and then
    }
  }
  return text;
}

TEST(TypedRows, are_those_of_the_cells) {
  const auto seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  for (int round = 0; round < 4; ++round) {
    const LogFile log(random_log(random));
    const std::string want = words_of(table_of(run_of(log, TableAs::cells, 1)));
    EXPECT_GT(want.size(), 10000u);
    for (const unsigned threads : {1u, 2u}) {
      const auto run = run_of(log, TableAs::typed, threads);
      EXPECT_TRUE(run.table.rows.empty());
      EXPECT_EQ(words_of(table_of(run)), want) << threads << " threads";
    }
  }
}

// The columns of a device-only table are found without making the cells of any row.
TEST(PresentColumns, are_those_that_have_a_cell_in_some_row) {
  const auto seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  const std::vector<std::string> columns = [] {
    std::vector<std::string> all = {"no such column"};
    for (const char* name :
         {"GLOBAL CALL COUNT", "DEVICE ID", "DEVICE ARCH", "CORE COUNT", "AVAILABLE WORKER CORE COUNT",
          "DEVICE FW START CYCLE", "DEVICE FW END CYCLE", "OP TO OP LATENCY [ns]",
          "OP TO OP LATENCY BR/NRISC START [ns]", "DEVICE FW DURATION [ns]", "DEVICE KERNEL DURATION [ns]",
          "DEVICE KERNEL DURATION DM START [ns]", "DEVICE KERNEL DURATION PER CORE MAX [ns]",
          "DEVICE KERNEL FIRST TO LAST START [ns]", "DEVICE COMPUTE CB WAIT FRONT [ns]", "METAL TRACE ID",
          "METAL TRACE REPLAY SESSION ID"})
      all.emplace_back(name);
    all.insert(all.end(), kRiscColumns.begin(), kRiscColumns.end());
    return all;
  }();
  for (int round = 0; round < 300; ++round) {
    const auto some = [&](auto& value) {
      if (random() % 4 == 0) value = static_cast<uint8_t>(random());
    };
    PresentColumns present;
    std::set<std::string> want;
    for (size_t rows = random() % 3; rows > 0; --rows) {
      DeviceRow d;
      for (Cycles* cycles : {&d.first_to_last_ns, &d.firmware_ns, &d.firmware_start, &d.kernel_ns, &d.dm_ns,
                             &d.dm_start, &d.core_max_ns, &d.wait_front_ns})
        some(*cycles);
      some(d.kernel_start);
      if (d.kernel_start) d.kernel_end = *d.kernel_start + random() % 2;
      some(d.gap_ns), some(d.dm_gap_ns), some(d.cores), some(d.trace_id), some(d.session);
      for (Cycles& risc : d.risc_ns) some(risc);
      if (random() % 2) d.arch = "blackhole";
      present.add(d);
      NamedCells row;
      put_device(row, d);
      put_signed_gaps(row, d, nullptr);
      for (const std::string& column : columns)
        if (row.contains(column)) want.insert(column);
    }
    for (const std::string& column : columns) EXPECT_EQ(present.has(column), want.contains(column)) << column;
  }
}

}  // namespace
}  // namespace ttc::report
