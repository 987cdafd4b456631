// Captures to files of every kind and to a report, by the programs themselves: with --threads 2 beside --threads 1, in turns, by the clock.
// What both wrote must be the same. Two programs of one thread each at once show what two CPUs of the machine do more than one for such work, caches and
// memory included: threads of one program can hardly do better.
//
// Two CPUs of a virtual machine are at times two threads of one core, which do 1.2 times the work of one, whatever the program. A round counts only if a
// loop in registers runs on both at once as fast as on one, before and behind it. Where no such round came, all count, and the line reports it.
//
// TTC_BENCH_BYTES sets another size of the capture's words. All files lie in the temporary directory. An output is removed as soon as it was hashed:
// a gigabyte that the kernel has yet to write to the disk slows down the next writer.
#include <xxhash.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

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

uint64_t loop_ns() {
  const uint64_t begin = now_ns();
  uint64_t x = 1;
  for (int i = 0; i < 2'000'000; ++i) x ^= x << 13, x ^= x >> 7, x ^= x << 17;
  static std::atomic<uint64_t> kept;
  kept = x;
  return now_ns() - begin;
}

// Both CPUs have a core each just now. The fastest of three: a thread takes a while to be moved to an idle CPU.
bool cpus_are_two() {
  uint64_t alone = ~uint64_t{0}, beside = ~uint64_t{0};
  for (int i = 0; i < 3; ++i) {
    alone = std::min(alone, loop_ns());
    uint64_t one = 0, other = 0;
    std::thread second([&] { other = loop_ns(); });
    one = loop_ns();
    second.join();
    beside = std::min(beside, std::max(one, other));
  }
  return static_cast<double>(beside) < 1.15 * static_cast<double>(alone);
}

struct Round {
  Outcome by_threads[2];
  uint64_t both_ns = 0;
  bool counts = false;
};

// False: a program failed, or the outputs differ.
bool one_round(const Work& work, const std::string& bin, const std::string& capture, Round& round) {
  uint64_t hashes[2] = {};
  const std::string output = capture + ".out";
  bool right = true;
  round.counts = cpus_are_two();
  for (const int threads : {1, 2}) {
    const Outcome& o = round.by_threads[threads - 1] = run(command_of(work, bin, capture, threads, output));
    hashes[threads - 1] = take_hash(output);
    if (o.code != 0) result("  WRONG: %s ended with %d", work.what, o.code), right = false;
  }
  round.both_ns = both_ns(work, bin, capture);
  round.counts &= cpus_are_two();
  if (hashes[0] == 0 || hashes[0] != hashes[1])
    result("  WRONG: %s differs by threads", work.what), right = false;
  return right;
}

bool measure(const Work& work, const std::string& bin, const std::string& capture) {
  const int wanted = repetitions(7), most = repetitions(21);
  std::vector<Round> rounds;
  bool right = true;
  const auto counting = [&] {
    return std::count_if(rounds.begin(), rounds.end(), [](const Round& r) { return r.counts; });
  };
  while (counting() < wanted && static_cast<int>(rounds.size()) < most)
    right &= one_round(work, bin, capture, rounds.emplace_back());
  const auto count = counting();
  Best wall[2], cpu[2], both;
  for (const Round& round : rounds) {
    if (count != 0 && !round.counts) continue;
    for (const int i : {0, 1}) {
      wall[i].add(static_cast<uint64_t>(round.by_threads[i].seconds * 1e9));
      cpu[i].add(static_cast<uint64_t>(round.by_threads[i].cpu_seconds * 1e9));
    }
    both.add(round.both_ns);
  }
  const double ratio = wall[0].ns() / wall[1].ns();
  result(
      "%-18s one thread %.2f s, two %.2f s (CPU %.2f and %.2f s): ratio %.2f %s; two programs at once %.2f; "
      "%s",
      work.what, wall[0].ns() / 1e9, wall[1].ns() / 1e9, cpu[0].ns() / 1e9, cpu[1].ns() / 1e9, ratio,
      judged(ratio, ">=", work.target).c_str(), 2 * wall[0].ns() / both.ns(),
      count ? (std::to_string(count) + " of " + std::to_string(rounds.size()) + " rounds count").c_str()
            : "the CPUs were one core throughout");
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
