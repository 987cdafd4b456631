// Captures to files of every kind and to a report, by the programs themselves: with --threads 2 beside --threads 1, in turns, by the clock.
// What both wrote must be the same. A machine that others use shows less, as two threads need two CPUs. Two programs of one thread each at once
// show what two CPUs of the machine do more than one for such work, caches and memory included: threads of one program can hardly do better.
//
// TTC_BENCH_BYTES sets another size of the capture's words. All files lie in the temporary directory. An output is removed as soon as it was hashed:
// a gigabyte that the kernel has yet to write to the disk slows down the next writer.
#include <xxhash.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "bench/whole_program.hpp"

namespace {

using namespace ttc;
using namespace ttc::bench;
namespace fs = std::filesystem;

struct Work {
  const char* what;
  std::vector<std::string> command;  // the program, and its arguments but input, output and threads
  const char* output;                // the option that names it
  double target;
};

// Of the file, which is removed. 0: there is none, or it is empty.
uint64_t take_hash(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::vector<char> part(1 << 20);
  uint64_t hash = 0;
  while (file.read(part.data(), static_cast<std::streamsize>(part.size())) || file.gcount() > 0)
    hash = XXH3_64bits_withSeed(part.data(), static_cast<size_t>(file.gcount()), hash);
  fs::remove(path);
  return hash;
}

std::vector<std::string> command_of(const Work& work, const std::string& bin, const std::string& capture,
                                    int threads, const std::string& output) {
  std::vector<std::string> command = work.command;
  command.front() = bin + "/" + command.front();
  for (const std::string& word : {std::string("--from"), capture, std::string("--threads"),
                                  std::to_string(threads), std::string(work.output), output})
    command.push_back(word);
  return command;
}

// Wall time of two programs of one thread each.
uint64_t both_ns(const Work& work, const std::string& bin, const std::string& capture) {
  const std::string outputs[2] = {capture + ".both1", capture + ".both2"};
  const uint64_t begin = now_ns();
  std::thread other([&] { run(command_of(work, bin, capture, 1, outputs[1])); });
  run(command_of(work, bin, capture, 1, outputs[0]));
  other.join();
  const uint64_t took = now_ns() - begin;
  for (const std::string& output : outputs) fs::remove(output);
  return took;
}

bool measure(const Work& work, const std::string& bin, const std::string& capture) {
  Best wall[2], cpu[2], both;
  uint64_t hashes[2] = {};
  const std::string output = capture + ".out";
  bool right = true;
  for (int i = 0; i < repetitions(7); ++i) {
    for (const int threads : {1, 2}) {
      const Outcome o = run(command_of(work, bin, capture, threads, output));
      hashes[threads - 1] = take_hash(output);
      if (o.code != 0) result("  WRONG: %s ended with %d", work.what, o.code), right = false;
      wall[threads - 1].add(static_cast<uint64_t>(o.seconds * 1e9));
      cpu[threads - 1].add(static_cast<uint64_t>(o.cpu_seconds * 1e9));
    }
    both.add(both_ns(work, bin, capture));
  }
  if (hashes[0] == 0 || hashes[0] != hashes[1])
    result("  WRONG: %s differs by threads", work.what), right = false;
  const double ratio = wall[0].ns() / wall[1].ns();
  result(
      "%-18s one thread %.2f s, two %.2f s (CPU %.2f and %.2f s): ratio %.2f %s; two programs at once %.2f",
      work.what, wall[0].ns() / 1e9, wall[1].ns() / 1e9, cpu[0].ns() / 1e9, cpu[1].ns() / 1e9, ratio,
      judged(ratio, ">=", work.target).c_str(), 2 * wall[0].ns() / both.ns());
  return right;
}

const Work kWorks[] = {
    {"device-csv", {"ttexport", "--format", "device-csv"}, "-o", 1.8},
    {"device-csv --gzip", {"ttexport", "--format", "device-csv", "--gzip"}, "-o", 1.8},
    {"perfetto", {"ttexport", "--format", "perfetto"}, "-o", 1.8},
    {"chrome", {"ttexport", "--format", "chrome"}, "-o", 1.8},
    {"ops-json", {"ttexport", "--format", "ops-json"}, "-o", 1.8},
    {"report of ops", {"ttreport", "ops", "--no-summary"}, "--csv", 1.8},
};

}  // namespace

int main() {
  print_machine("threads_bench");
  const char* wish = std::getenv("TTC_BENCH_BYTES");
  const auto bytes = static_cast<size_t>(wish ? std::atof(wish) : once() ? 1e6 : 64e6);
  const std::string bin = fs::read_symlink("/proc/self/exe").parent_path();
  const std::string capture =
      fs::temp_directory_path() / ("threads_bench-" + std::to_string(getpid()) + ".ttc");
  bool right = true;
  for (const auto& [visits, span_bytes] :
       {std::pair{"busy cores", kSpanBytes}, std::pair{"a launch or two at a time", size_t{256}}}) {
    std::vector<Chunk> chunks = make_chunks({2, 16, 4}, bytes, 32, span_bytes);
    chunks.insert(chunks.begin() + 2, clock_chunk());
    write_capture(capture, chunks);
    result("%s: capture of %.1f MB, %zu chunks with %.0f MB of words, 2 to 16 zones a launch", visits,
           static_cast<double>(fs::file_size(capture)) / 1e6, chunks.size(),
           static_cast<double>(bytes) / 1e6);
    chunks = {};
    for (const Work& work : kWorks) right &= measure(work, bin, capture);
    fs::remove(capture);
  }
  return right ? 0 : 1;
}
