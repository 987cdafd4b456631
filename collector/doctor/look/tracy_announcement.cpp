#include "collector/doctor/look/tracy_announcement.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <vector>

#include "driver_iface/card/fd.hpp"
#include "driver_iface/pci/kernel_file.hpp"

namespace ttc::collect::doctor {
namespace {

constexpr uint64_t kVersion = 3;
constexpr uint64_t kMostBytes = uint64_t{256} << 20;
constexpr size_t kPieceWords = size_t{1} << 17;  // 1 MiB

struct Range {
  uint64_t begin = 0, end = 0;
};

// Private mappings that may be written: data of a file, and what is zeroed behind it (.bss), which has no file.
std::vector<Range> data_of(const std::string& process) {
  std::ifstream maps(process + "/maps");
  std::vector<Range> found;
  uint64_t behind_file = 0;
  for (std::string line; std::getline(maps, line);) {
    char* end = nullptr;
    Range range{std::strtoull(line.c_str(), &end, 16), 0};
    if (*end == '-') range.end = std::strtoull(end + 1, &end, 16);
    const bool file = line.find('/') != std::string::npos, data = std::string_view(end).starts_with(" rw-p");
    const bool nameless = line.find_first_of("/[") == std::string::npos;
    if (data && (file || (nameless && range.begin == behind_file))) found.push_back(range);
    behind_file = file ? range.end : 0;
  }
  return found;
}

// Its numbers in all PID namespaces that it is in.
std::set<uint64_t> numbers_of(const std::string& process) {
  const std::string status = card::read_kernel_file(process + "/status").text;
  const size_t at = status.find("NSpid:");
  std::set<uint64_t> pids{std::strtoull(process.c_str() + process.rfind('/') + 1, nullptr, 10)};
  if (at == std::string::npos) return pids;
  std::istringstream numbers(status.substr(at + 6, status.find('\n', at) - at - 6));
  for (uint64_t pid = 0; numbers >> pid;) pids.insert(pid);
  return pids;
}

}  // namespace

std::optional<TracyAnnouncement> find_announcement(std::span<const uint64_t> bytes,
                                                   const std::set<unsigned>& ports,
                                                   const std::set<uint64_t>& pids) {
  for (size_t i = 0; i + 1 < bytes.size(); ++i) {
    const uint64_t word = bytes[i];
    if ((word & 0xffff) != kVersion) continue;
    const auto port = static_cast<unsigned>(word >> 16 & 0xffff),
               protocol = static_cast<unsigned>(word >> 32);
    if (protocol != 0 && ports.contains(port) && pids.contains(bytes[i + 1]))
      return TracyAnnouncement{port, protocol};
  }
  return std::nullopt;
}

std::optional<TracyAnnouncement> read_announcement(const std::string& process,
                                                   const std::set<unsigned>& ports, MemoryAccess& access) {
  const card::Fd memory(open((process + "/mem").c_str(), O_RDONLY | O_CLOEXEC));
  access = memory.get() < 0 ? MemoryAccess::refused : MemoryAccess::readable;
  if (memory.get() < 0) return std::nullopt;
  const std::set<uint64_t> pids = numbers_of(process);
  std::vector<uint64_t> piece(kPieceWords + 1);
  uint64_t left = kMostBytes;
  for (const Range& range : data_of(process))
    for (uint64_t at = range.begin; at + 16 <= range.end && left != 0; at += kPieceWords * 8) {
      // A word more than the step: the announcement may lie across the end of a piece.
      const size_t wanted = std::min<uint64_t>(range.end - at, piece.size() * 8);
      const ssize_t n = pread(memory.get(), piece.data(), wanted, static_cast<off_t>(at));
      if (n < 16) break;  // unmapped meanwhile
      left -= std::min<uint64_t>(left, static_cast<uint64_t>(n));
      if (const auto found =
              find_announcement(std::span(piece.data(), static_cast<size_t>(n) / 8), ports, pids))
        return found;
    }
  return std::nullopt;
}

std::string tracy_of_protocol(unsigned protocol) {
  switch (protocol) {
    case 63:
      return "0.9";
    case 64:
      return "0.10";
    case 66:
      return "0.11.0, or Tenstorrent's fork of 0.10";
    case 69:
      return "0.11.1";
    case 74:
      return "0.12";
    case 76:
      return "0.13, or a branch of Tenstorrent's fork";
    case 79:
      return "Tenstorrent's fork of 0.13";
    case 82:
      return "0.14";
    case 83:
      return "Tenstorrent's fork of 0.14";
    default:
      return "no release";
  }
}

}  // namespace ttc::collect::doctor
