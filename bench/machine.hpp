// What every benchmark here shares: the machine it ran on, the short mode of ctest, clocks, percentiles, and
// the one line a result is printed on. A line has what was measured, against what, their ratio and the
// target. Nothing here fails because of a time.
#pragma once
#include <sys/mman.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

namespace ttc::bench {

// ctest runs every benchmark once, on tiny inputs, to check that it works.
inline bool once() {
  const char* set = std::getenv("TTC_BENCH_ONCE");
  return set && *set && *set != '0';
}
inline size_t working_set() {
  return once() ? size_t{1} << 20 : size_t{64} << 20;
}
inline int repetitions(int n) {
  return once() ? 1 : n;
}

inline uint64_t clock_ns(clockid_t clock) {
  timespec t{};
  clock_gettime(clock, &t);
  return static_cast<uint64_t>(t.tv_sec) * 1000000000u + static_cast<uint64_t>(t.tv_nsec);
}
inline uint64_t now_ns() {
  return clock_ns(CLOCK_MONOTONIC);
}
inline uint64_t thread_cpu_ns() {
  return clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

inline std::string cpu_model() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string text; std::getline(info, text);)
    if (text.starts_with("model name")) return text.substr(text.find(':') + 2);
  return "unknown CPU";
}

inline void print_machine(const char* name) {
  utsname u{};
  uname(&u);
#ifdef __clang__
  const char* compiler = __VERSION__;
#else
  const char* compiler = "GCC " __VERSION__;
#endif
  std::printf("%s: %s, %ld cores, %s %s, %s%s\n", name, cpu_model().c_str(), sysconf(_SC_NPROCESSORS_ONLN),
              u.sysname, u.release, compiler,
              once() ? ", TTC_BENCH_ONCE: tiny inputs, times mean nothing" : "");
}

// One result, one line.
[[gnu::format(printf, 1, 2)]] inline void result(const char* format, ...) {
  va_list args;
  va_start(args, format);
  std::printf("  ");
  std::vprintf(format, args);
  std::printf("\n");
  std::fflush(stdout);
  va_end(args);
}

// "(target >= 0.30: met)", to be put at the end of a result.
inline std::string judged(double value, const char* relation, double target) {
  const bool met = relation[0] == '>' ? value >= target : value <= target;
  char text[64];
  std::snprintf(text, sizeof text, "(target %s %g: %s)", relation, target,
                once() ? "not judged"
                : met  ? "met"
                       : "MISSED");
  return text;
}

// Others work on the machine as well: the least disturbed repetition counts.
class Best {
 public:
  template <class F>
  void time(F&& work) {
    const uint64_t begin = now_ns();
    work();
    add(now_ns() - begin);
  }
  // The same in CPU time of this thread: where others work as well, no pass of some milliseconds goes
  // uninterrupted.
  template <class F>
  void cpu_time(F&& work) {
    const uint64_t begin = thread_cpu_ns();
    work();
    add(thread_cpu_ns() - begin);
  }
  void add(uint64_t ns) { least_ = std::min(least_, ns); }
  double ns() const { return static_cast<double>(least_); }
  double gb_per_s(size_t bytes) const { return static_cast<double>(bytes) / ns(); }

 private:
  uint64_t least_ = ~uint64_t{0};
};

class Samples {
 public:
  void add(uint64_t ns) {
    values_.push_back(ns);
    sorted_ = false;
  }
  size_t count() const { return values_.size(); }
  double us(double percent) {
    if (values_.empty()) return 0;
    if (!sorted_) std::sort(values_.begin(), values_.end());
    sorted_ = true;
    const auto last = static_cast<double>(values_.size() - 1);
    return static_cast<double>(values_[static_cast<size_t>(percent / 100 * last + 0.5)]) / 1000;
  }

 private:
  std::vector<uint64_t> values_;
  bool sorted_ = false;
};

// Keeps the compiler from dropping work whose result is not used.
template <class T>
void keep(const T& value) {
  asm volatile("" : : "g"(&value) : "memory");
}

// Memory as the ring has it: shared, all pages there, so that no fault is timed.
class SharedMemory {
 public:
  explicit SharedMemory(size_t bytes) : bytes_(bytes) {
    at_ = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    if (at_ == MAP_FAILED) std::perror("mmap"), std::exit(1);
  }
  ~SharedMemory() { munmap(at_, bytes_); }
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;
  uint64_t* words() const { return static_cast<uint64_t*>(at_); }
  size_t bytes() const { return bytes_; }

 private:
  void* at_;
  size_t bytes_;
};

}  // namespace ttc::bench
