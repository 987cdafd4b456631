#include "tools/watcher/build.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>

namespace ttc::watcher {
namespace {

constexpr uint32_t kFirmware = 4700;
constexpr uint32_t kProfiler = 1500;
constexpr uint32_t kInlineCopies = 600;  // of the watcher's helpers, unless they are kept out of line
constexpr struct {
  const char* feature;
  uint32_t bytes;
} kParts[] = {{"NOC_SANITIZE", 1300}, {"ASSERT", 180},      {"PAUSE", 120},
              {"RING_BUFFER", 140},   {"STACK_USAGE", 160}, {"WAYPOINT", 260}};

uint32_t text_bytes(const Settings& s, const BuildOptions& o) {
  uint32_t bytes = kFirmware + (o.profiler ? kProfiler : 0);
  if (!s.watcher) return bytes;
  if (!s.noinline_helpers) bytes += kInlineCopies;
  for (const auto& part : kParts)
    if (!s.disabled.contains(part.feature)) bytes += part.bytes;
  return bytes;
}

void link(uint32_t bytes, const BuildOptions& o) {
  if (bytes <= o.brisc_text_bytes) return;
  throw BuildError(
      "ld: brisc.elf section `.text' will not fit in region `BRISC_CODE'\nld: region `BRISC_CODE' overflowed "
      "by " +
      std::to_string(bytes - o.brisc_text_bytes) +
      " bytes\ncollect2: error: ld returned 1 exit status\nTT_THROW: brisc build failed");
}

// FNV-1a: a name for a file.
std::string name_of(const std::string& key) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const char c : key) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  std::string name(16, '0');
  for (size_t i = name.size(); i-- > 0; hash >>= 4) name[i] = "0123456789abcdef"[hash & 15];
  return name;
}

[[noreturn]] void cannot(const std::string& path, const char* what) {
  throw std::runtime_error("the cache of built files " + path + " cannot be " + what + ": " +
                           std::strerror(errno));
}

}  // namespace

std::string build_key(const Settings& s, const BuildOptions& o) {
  std::string key = o.arch;
  key += o.profiler ? " profiler" : "";
  key += s.watcher ? " watcher" : "";
  key += s.noinline_helpers ? " noinline" : "";
  for (const std::string& feature : s.disabled) {
    key += " no-";
    key += feature;
  }
  for (size_t t = 0; t < kTransactions && !o.key_lacks_delay; ++t) {
    key += ' ';
    key += kTransactionNames[t];
    key += '=';
    key += s.delays[t].enabled ? std::to_string(s.delay_cycles) : "false";
  }
  return key;
}

Built build(const Settings& s, const BuildOptions& o) {
  Built built{s.watcher, s.sanitises(), s.delay_cycles, text_bytes(s, o), false};
  const std::string path = o.cache.empty() ? "" : o.cache + "/" + name_of(build_key(s, o)) + ".built";
  if (std::ifstream before(path); !path.empty() && before) {
    if (!(before >> built.delay_cycles)) cannot(path, "read");
    built.from_cache = true;
    return built;
  }
  link(built.brisc_text_bytes, o);
  if (path.empty()) return built;
  std::filesystem::create_directories(o.cache);
  // Several processes may build: each uses a name of its own until the file is whole.
  const std::string pending = path + "." + std::to_string(getpid());
  std::ofstream after(pending, std::ios::trunc);
  after << built.delay_cycles << '\n';
  after.close();
  if (!after || std::rename(pending.c_str(), path.c_str()) != 0) {
    const int why = errno;
    std::remove(pending.c_str());
    errno = why;
    cannot(path, "written");
  }
  return built;
}

}  // namespace ttc::watcher
