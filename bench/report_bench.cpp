// Measures the report of ops from a device log of 2 GB, and from a capture of the same: rows a second of CPU time
// (others work on the machine as well) and peak memory of the program itself. The baseline is pandas grouping the
// same file (Debian's python3-pandas).
//
// Measures the same report from tables of ops of 16 and 128 MB: CPU time and peak memory, which must be no more than
// 40 MiB and must not grow with the rows. The baseline is tt-perf-report where it is installed.
//
// TTC_BENCH_BYTES sets another size of the log. All files lie in the temporary directory and are removed.
#include <filesystem>
#include <fstream>

#include "bench/machine.hpp"
#include "bench/whole_program.hpp"
#include "tools/formats/device_csv.hpp"
#include "tools/pipeline/pipeline.hpp"

namespace {

using namespace ttc;
using namespace ttc::bench;
namespace fs = std::filesystem;

constexpr double kBytesPerRow = 88;  // of the log, about
constexpr double kBytesPerMarker = 9;

// What a straightforward script does: the whole table into memory, first and last time of every program.
constexpr const char* kPandas = R"(
import sys, time
try:
    import pandas
except ImportError:
    sys.exit(77)
begin = time.time()
t = pandas.read_csv(sys.argv[1], skiprows=1, skipinitialspace=True)
k = t[t['zone name'].str.endswith('-KERNEL')]
g = k.groupby(['PCIe slot', 'run host ID'])['time[cycles since reset]'].agg(['min', 'max'])
print(len(g), (g['max'] - g['min']).sum(), file=sys.stderr)
)";

struct Made {
  std::string log, capture;
  uint64_t rows = 0;
  double log_mb = 0, capture_mb = 0;
};

Made make_files(double log_bytes, const std::string& name) {
  const fs::path directory = fs::temp_directory_path();
  Made m{directory / ("report_bench-" + std::to_string(getpid()) + name + ".csv"),
         directory / ("report_bench-" + std::to_string(getpid()) + name + ".ttc")};
  const auto words = static_cast<size_t>(log_bytes / kBytesPerRow * kBytesPerMarker);
  const auto chunks = make_chunks({4, 4, 4}, words, 32);
  write_capture(m.capture, chunks);
  tools::Output out(m.log, true);
  tools::Pipeline pipeline({}, false);
  tools::DeviceCsv csv(out, {});
  for (const Chunk& chunk : chunks) pipeline.push(chunk, csv);
  csv.end();
  out.commit();
  m.rows = pipeline.markers();
  m.log_mb = static_cast<double>(fs::file_size(m.log)) / 1e6;
  m.capture_mb = static_cast<double>(fs::file_size(m.capture)) / 1e6;
  return m;
}

// A joined table with the columns that a report needs, and attributes and sources as long as real ones.
std::string make_table(double bytes, const std::string& name) {
  const std::string path =
      fs::temp_directory_path() / ("report_bench-" + std::to_string(getpid()) + name + ".csv");
  std::ofstream out(path);
  out << "OP CODE,OP TYPE,GLOBAL CALL COUNT,DEVICE ID,ATTRIBUTES,MATH FIDELITY,CORE COUNT,HOST START TS,HOST "
         "END "
         "TS,HOST DURATION [ns],DEVICE FW START CYCLE,DEVICE FW END CYCLE,OP TO OP LATENCY [ns],DEVICE FW "
         "DURATION "
         "[ns],DEVICE KERNEL DURATION [ns],DEVICE BRISC KERNEL DURATION [ns],DEVICE NCRISC KERNEL DURATION "
         "[ns],"
         "INPUT_0_W_PAD[LOGICAL],INPUT_0_Z_PAD[LOGICAL],INPUT_0_Y_PAD[LOGICAL],INPUT_0_X_PAD[LOGICAL],"
         "INPUT_0_LAYOUT,INPUT_0_DATATYPE,INPUT_0_MEMORY,INPUT_1_W_PAD[LOGICAL],INPUT_1_Z_PAD[LOGICAL],"
         "INPUT_1_Y_PAD[LOGICAL],INPUT_1_X_PAD[LOGICAL],INPUT_1_LAYOUT,INPUT_1_DATATYPE,INPUT_1_MEMORY,"
         "OUTPUT_0_W_PAD[LOGICAL],OUTPUT_0_Z_PAD[LOGICAL],OUTPUT_0_Y_PAD[LOGICAL],OUTPUT_0_X_PAD[LOGICAL],"
         "OUTPUT_0_LAYOUT,OUTPUT_0_DATATYPE,OUTPUT_0_MEMORY,COMPUTE KERNEL SOURCE\r\n";
  constexpr const char* kCodes[] = {"Matmul", "LayerNorm", "BinaryNgDeviceOperation", "Softmax", "Reshape"};
  const std::string attributes(400, 'a'), source(200, 's');
  const auto rows = static_cast<uint64_t>(bytes / 1000);
  for (uint64_t i = 0; i < rows; ++i) {
    const uint64_t ns = 5000 + i * 7919 % 90000, at = i * 100000;
    out << kCodes[i % 5] << ",tt_dnn_device," << i * 1024 << ",0,{'k': '" << attributes << "'},HiFi2,64,"
        << at << ',' << at + 900 << ",900," << at << ',' << at + ns + 500 << ",1200," << ns + 500 << ',' << ns
        << ',' << ns << ',' << ns
        << ",1[1],1[1],32[32],2048[2048],TILE,BFLOAT16,DEV_0_DRAM_INTERLEAVED,1[1],1[1],2048[2048],5120[5120]"
           ","
           "TILE,BFLOAT8_B,DEV_0_DRAM_INTERLEAVED,1[1],1[1],32[32],5120[5120],TILE,BFLOAT16,"
           "DEV_0_L1_INTERLEAVED,['"
        << source << "']\r\n";
  }
  return path;
}

int tables(const std::string& program) {
  const double bytes = once() ? 1e6 : 16e6;
  const std::string small = make_table(bytes, "-table"), large = make_table(8 * bytes, "-tables");
  const auto report = [&](const std::string& table) {
    Outcome best;
    for (int i = 0; i < repetitions(3); ++i) {
      const Outcome o = run({program, "ops", table, "--csv", "/dev/null", "--no-summary"});
      if (i == 0 || o.cpu_seconds < best.cpu_seconds) best = o;
    }
    return best;
  };
  const Outcome one = report(small), eight = report(large);
  result(
      "table of %.0f MB to ops report: %.2f s of CPU time, peak %.1f MiB %s; of eight times the rows %.2f s, "
      "%.1f MiB",
      bytes / 1e6, one.cpu_seconds, one.peak_mib, judged(one.peak_mib, "<=", 40).c_str(), eight.cpu_seconds,
      eight.peak_mib);
  const std::string out = small + ".out";
  const Outcome theirs = run({"tt-perf-report", small, "--csv", out, "--no-summary"});
  if (theirs.code == 127)
    result("no tt-perf-report here; no ratio");
  else if (theirs.code != 0)
    result("tt-perf-report ended with %d; no ratio", theirs.code);
  else
    result("tt-perf-report on the same table: %.2f s of CPU time, peak %.0f MiB; ratio of ttreport %.1f",
           theirs.cpu_seconds, theirs.peak_mib, theirs.cpu_seconds / one.cpu_seconds);
  for (const std::string& path : {small, large, out}) fs::remove(path);
  return one.code != 0 || eight.code != 0;
}

void remove(const Made& m) {
  fs::remove(m.log);
  fs::remove(m.capture);
}

}  // namespace

int main() {
  print_machine("report_bench");
  const char* wish = std::getenv("TTC_BENCH_BYTES");
  const double bytes = wish ? std::atof(wish) : once() ? 4e6 : 2e9;
  const std::string program = fs::read_symlink("/proc/self/exe").parent_path() / "ttreport";
  // First: what a process took before it became another program counts as that one's peak.
  int code = tables(program);
  const Made small = make_files(bytes / 8, "-small"), large = make_files(bytes, "");
  result("log of %.0f MB, capture of %.0f MB, %.1f M rows", large.log_mb, large.capture_mb,
         static_cast<double>(large.rows) / 1e6);
  double log_seconds = 0;
  for (const bool capture : {false, true}) {
    Outcome best;
    for (int i = 0; i < repetitions(3); ++i) {
      const Outcome o =
          run({program, "ops", capture ? large.capture : large.log, "--csv", "/dev/null", "--no-summary"});
      if (i == 0 || o.cpu_seconds < best.cpu_seconds) best = o;
    }
    const Outcome eighth =
        run({program, "ops", capture ? small.capture : small.log, "--csv", "/dev/null", "--no-summary"});
    if (best.code != 0 || eighth.code != 0) code = 1;
    if (!capture) log_seconds = best.cpu_seconds;
    const double rate = static_cast<double>(large.rows) / best.cpu_seconds / 1e6;
    result(
        "%s to ops report: %.2f s of CPU time (%.2f s by the clock), %.1f M rows/s %s; peak %.0f MiB, of an "
        "eighth of it %.0f MiB",
        capture ? "capture" : "log", best.cpu_seconds, best.seconds, rate,
        judged(rate, ">=", capture ? 25 : 5).c_str(), best.peak_mib, eighth.peak_mib);
  }
  const Outcome pandas = run({"/usr/bin/python3", "-c", kPandas, large.log});
  if (pandas.code == 77)
    result("no pandas here (Debian: python3-pandas); no ratio");
  else
    result("pandas group-by of the log: %.2f s of CPU time, peak %.0f MiB; ratio of ttreport %.1f",
           pandas.cpu_seconds, pandas.peak_mib, pandas.cpu_seconds / log_seconds);
  remove(small);
  remove(large);
  return code;
}
