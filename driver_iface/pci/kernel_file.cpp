#include "driver_iface/pci/kernel_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <filesystem>

#include "driver_iface/card/fd.hpp"

namespace ttc::card {
namespace {
constexpr size_t kLongest = 1 << 20;  // an attribute is a page; lists of processes may be longer
}

bool KernelFile::missing() const {
  return error == ENOENT || error == ENOTDIR;
}

KernelFile read_binary_file(const std::string& path) {
  const Fd file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.get() < 0) return {{}, errno};
  KernelFile read_so_far;
  char buffer[4096];
  for (;;) {
    const ssize_t got = read(file.get(), buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return {{}, errno};
    if (got == 0 || read_so_far.text.size() > kLongest) break;
    read_so_far.text.append(buffer, static_cast<size_t>(got));
  }
  return read_so_far;
}

KernelFile read_kernel_file(const std::string& path) {
  KernelFile file = read_binary_file(path);
  std::string& text = file.text;
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ' || text.back() == '\0')) text.pop_back();
  return file;
}

std::string link_target_name(const std::string& path) {
  std::error_code none;  // a missing link is an empty result
  return std::filesystem::read_symlink(path, none).filename().string();
}

std::optional<unsigned> as_number(const std::string& text) {
  unsigned value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || text.empty() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace ttc::card
