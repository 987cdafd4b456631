#include "tools/ttemu/truth_files.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <initializer_list>

namespace ttc::emulation {
namespace {

// Nanoseconds since the card was made; in virtual time, of a clock at its nominal rate.
uint64_t host_ns_of(const std::vector<card::ClockPiece>& pieces, uint64_t cycles) {
  size_t i = pieces.size() - 1;
  while (i > 0 && cycles < pieces[i].cycles) --i;
  const card::ClockPiece& p = pieces[i];
  const uint64_t since = cycles - std::min(cycles, p.cycles);
  const auto ns =
      p.hz == 0 ? 0 : static_cast<uint64_t>(static_cast<unsigned __int128>(since) * 1'000'000'000 / p.hz);
  return p.host_ns - pieces.front().host_ns + ns;
}

// The name that tt-metal gives to a process's folder if there are several.
std::string rank_directory(const std::string& directory, unsigned rank) {
  char host[256]{};
  if (gethostname(host, sizeof host - 1) != 0 || *host == 0) std::strcpy(host, "localhost");
  return directory + "/" + host + "_rank_" + std::to_string(rank);
}

std::string row(std::initializer_list<uint64_t> cells) {
  std::string text;
  for (const uint64_t cell : cells) text += (text.empty() ? "" : ",") + std::to_string(cell);
  return text + "\n";
}

template <class Rows, class Text>
void write_table(const std::string& path, const char* head, const Rows& rows, Text text) {
  chip::TextFile file(path);
  file.write(std::string(head) + "\n");
  for (const auto& one : rows) file.write(text(one));
  file.close();
}

}  // namespace

std::string file_beside(const std::string& truth, const char* what) {
  const std::filesystem::path file(truth);
  return (file.parent_path() / (file.stem().string() + "." + what + ".csv")).string();
}

void write_clock(const std::string& path, const std::vector<card::ClockPiece>& pieces) {
  write_table(path, "host_ns,cycles,hz", pieces, [](const card::ClockPiece& p) {
    return row({p.host_ns, p.cycles, p.hz});
  });
}

void write_delays(const std::string& path, const ChipPlayer::Delays& delays) {
  write_table(path, "core_x,core_y,reads,writes,atomics", delays, [](const auto& delayed) {
    const auto& [tile, times] = delayed;
    return row({tile.x, tile.y, times[0], times[1], times[2]});
  });
}

void write_streamed(const std::string& path, const std::vector<ChipPlayer::StreamedZone>& zones) {
  write_table(path, "core_x,core_y,risc,program,id,begin,end", zones, [](const ChipPlayer::StreamedZone& z) {
    return row({z.at.x, z.at.y, z.risc, z.program, z.id, z.begin, z.end});
  });
}

void ChipFiles::close() {
  if (path) path->close();
  if (output) output->close();
  if (host) host->close();
}

void open_chip_files(const Options& o, const card::EmulatedCard& card, ChipFiles& files) {
  bool any = o.work.chip != nullptr;
  for (const Options& next : o.following) any |= next.work.chip != nullptr;
  if (!any && !o.host_files.empty())
    throw program::UsageError("--host-files goes with --workload; the plain workload has no ops to describe");
  if (!any) return;
  if (!o.truth.empty()) {
    files.path.emplace(file_beside(o.truth, "critical-path"));
    files.output.emplace(file_beside(o.truth, "outputs"));
  }
  if (o.host_files.empty()) {
    if (!o.host_style.events.empty() || o.host_style.signposts || o.host_rank)
      throw program::UsageError("--host-events, --host-signposts and --host-rank go with --host-files");
    return;
  }
  const std::string directory = o.host_rank ? rank_directory(o.host_files, *o.host_rank) : o.host_files;
  std::filesystem::create_directories(directory);
  std::vector<card::ClockPiece> pieces{{0, o.card.start_cycles, o.card.hz}};
  if (!o.card.virtual_time) pieces = card.clock_pieces();
  files.host.emplace(
      directory, [pieces](chip::Cycles cycles) { return host_ns_of(pieces, cycles); }, o.host_style);
}

}  // namespace ttc::emulation
