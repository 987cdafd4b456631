#include "collector/doctor/look/kernel_cache.hpp"

#include <filesystem>
#include <fstream>
#include <iterator>

namespace ttc::collect::doctor {
namespace {

namespace fs = std::filesystem;

constexpr unsigned kMostKernels = 2000, kMostEntries = 50'000;
constexpr uint64_t kLargestKernel = uint64_t{4} << 20;
// The namespace of the profiler's device side in mangled names (tt-metal tools/profiler/kernel_profiler.hpp); in the names of
// source files, which any build has, no length precedes it.
constexpr std::string_view kProfilerCode = "15kernel_profiler";

constexpr std::string_view kAnyName = "_start";  // a program without it was stripped of its names

std::string bytes_of(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

bool is_kernel(const fs::directory_entry& entry) {
  std::error_code gone;
  return entry.path().extension() == ".elf" && entry.path().string().find("/kernels/") != std::string::npos &&
         entry.is_regular_file(gone) && entry.file_size(gone) <= kLargestKernel && !gone;
}

// A path of a process that may have another root.
std::string seen_by(const std::string& process, const std::string& path) {
  std::string seen = process;
  return seen.append("/root").append(path);
}

// tt-metal appends a directory of its own to both (jit_build/build.cpp).
std::string place_of(const std::string& process, const Environment& environment) {
  std::error_code none;
  const std::string asked = value_in(environment, "TT_METAL_CACHE"), home = value_in(environment, "HOME");
  const std::string below_home = asked.empty() && !home.empty() ? home + "/.cache/tt-metal-cache" : "";
  for (const std::string& place : {asked.empty() ? "" : asked + "/tt-metal-cache", asked, below_home})
    if (place.starts_with('/') && fs::is_directory(seen_by(process, place), none)) return place;
  return "";
}

}  // namespace

KernelCache look_at_kernel_cache(const std::string& process, const Environment& environment, double age_s) {
  KernelCache cache;
  cache.at = place_of(process, environment);
  if (cache.at.empty()) return cache;
  const auto started =
      fs::file_time_type::clock::now() -
      std::chrono::duration_cast<fs::file_time_type::duration>(std::chrono::duration<double>(age_s));
  std::error_code error;
  fs::recursive_directory_iterator at(seen_by(process, cache.at),
                                      fs::directory_options::skip_permission_denied, error);
  unsigned entries = 0;
  for (; !error && at != fs::recursive_directory_iterator(); at.increment(error)) {
    if (++entries > kMostEntries || cache.kernels == kMostKernels) {
      cache.examined_all = false;
      return cache;
    }
    if (!is_kernel(*at)) continue;
    std::error_code gone;
    const auto written = at->last_write_time(gone);
    if (gone) continue;
    const std::string bytes = bytes_of(at->path());
    cache.grew = written >= started;
    cache.profiled = bytes.find(kProfilerCode) != std::string::npos;
    if (cache.grew || cache.profiled) return cache;
    cache.examined_all = cache.examined_all && bytes.find(kAnyName) != std::string::npos;
    ++cache.kernels;
  }
  cache.examined_all = cache.examined_all && !error;
  return cache;
}

}  // namespace ttc::collect::doctor
