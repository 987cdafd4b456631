// What benchmarks of whole programs share: a capture as their input, and a program run as a child, with its time and peak memory.
#pragma once
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <span>
#include <string>
#include <vector>

#include "bench/synthetic_chunks.hpp"
#include "collector/record/capture_copy.hpp"

namespace ttc::bench {

struct Outcome {
  int code = -1;
  double seconds = 0, cpu_seconds = 0;
  double peak_mib = 0;
};

inline Outcome run(const std::vector<std::string>& command) {
  std::vector<char*> arguments;
  for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  const uint64_t begin = now_ns();
  const pid_t child = fork();
  if (child == 0) {
    const int null = open("/dev/null", O_WRONLY);
    dup2(null, STDOUT_FILENO);
    dup2(null, STDERR_FILENO);
    execvp(arguments[0], arguments.data());
    _exit(127);
  }
  int status = 0;
  rusage usage{};
  wait4(child, &status, 0, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6;
  };
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, static_cast<double>(now_ns() - begin) / 1e9,
          seconds(usage.ru_utime) + seconds(usage.ru_stime), static_cast<double>(usage.ru_maxrss) / 1024};
}

inline void write_capture(const std::string& path, std::span<const Chunk> chunks) {
  collect::CaptureCopy copy(path, 0, shm::LossCause::not_kept);
  for (const Chunk& c : chunks) copy.add(c);
  copy.finish();
}

}  // namespace ttc::bench
