#include "tools/viewers/host/host_writer.hpp"

#include "collector/draw/colours.hpp"

namespace ttc::tools {

std::string_view title_of(std::string_view message) {
  constexpr size_t kMostBytes = 120;
  if (message.size() > 1 && message.starts_with('`') && message.ends_with('`'))
    message = message.substr(1, message.size() - 2);
  std::string_view title = message.substr(0, message.find('\n'));
  if (title.ends_with(" ->")) title.remove_suffix(3);
  if (title.size() <= kMostBytes) return title;
  title = title.substr(0, kMostBytes);
  while (!title.empty() && (title.back() & 0xc0) == 0x80)
    title.remove_suffix(1);  // of a character that is cut
  if (!title.empty() && (title.back() & 0x80)) title.remove_suffix(1);
  return title;
}

uint32_t colour_of(HostRowKind kind) {
  switch (kind) {
    case HostRowKind::frames:
      return draw::kFrameColour;
    case HostRowKind::lock:
      return draw::kLockColour;
    case HostRowKind::waits:
      return draw::kWaitColour;
  }
  return draw::kLossColour;
}

uint64_t HostPids::of(const HostProcess& process) {
  const bool own = process.pid > reserved_ && process.pid <= kBeyond && taken_.insert(process.pid).second;
  return own ? process.pid : next_++;
}

}  // namespace ttc::tools
