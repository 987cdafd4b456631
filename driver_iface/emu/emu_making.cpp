// How an emulated card is made: its memory, its clock, and what of it is fused off.
#include <fcntl.h>
#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <new>

#include "driver_iface/emu/emulated_card_impl.hpp"

namespace ttc::card {

void emulated_card_fails(const std::string& what) {
  throw OpenError("emulated card: " + what + ": " + std::strerror(errno));
}

namespace {

using namespace emu;

Fd anonymous_memory(const char* name, uint64_t bytes) {
  Fd fd(memfd_create(name, MFD_CLOEXEC));
  if (!fd || ftruncate(fd.get(), static_cast<off_t>(bytes)) != 0) emulated_card_fails("memory");
  return fd;
}

// A second descriptor of the same memory with less rights.
Fd read_only(const Fd& fd) {
  Fd copy(open(("/proc/self/fd/" + std::to_string(fd.get())).c_str(), O_RDONLY | O_CLOEXEC));
  if (!copy) emulated_card_fails("read-only descriptor");
  return copy;
}

uint8_t* map(const Fd& fd, uint64_t bytes) {
  void* p = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd.get(), 0);
  if (p == MAP_FAILED) emulated_card_fails("mapping");
  return static_cast<uint8_t*>(p);
}

void copy_text(char (&to)[16], const std::string& from) {
  std::memcpy(to, from.data(), std::min(from.size(), sizeof to - 1));
}

}  // namespace

EmulatedCard::Impl::Impl(const EmulatedCardOptions& o) : options(o) {
  arch = arch_by_name(o.arch);
  const Board* board = board_by_name(o.board);
  if (!arch) throw OpenError("architecture '" + o.arch + "' is not known; try wormhole_b0 or blackhole");
  if (!board || board->arch != o.arch)
    throw OpenError("board '" + o.board + "' is not a board of " + o.arch + "; try n150 or p150");
  total_bytes = memory_bytes(*arch);
  memory_fd = anonymous_memory("ttemu-memory", total_bytes);
  memory_read_only = read_only(memory_fd);
  memory = map(memory_fd, total_bytes);
  page_fd = anonymous_memory("ttemu-page", sizeof(Page));
  page_read_only = read_only(page_fd);
  page = new (map(page_fd, sizeof(Page))) Page;
  describe(*board);
}

EmulatedCard::Impl::~Impl() {
  if (server.joinable()) {
    stopping = true;
    const uint64_t one = 1;
    if (write(wake.get(), &one, sizeof one) != sizeof one) std::terminate();  // cannot fail on an eventfd
    server.join();
  }
  clients.clear();
  munmap(memory, total_bytes);
  munmap(page, sizeof(Page));
}

void EmulatedCard::Impl::describe(const Board& board) {
  copy_text(page->arch, options.arch);
  copy_text(page->board, options.board);
  page->contradictions = options.contradictions;
  page->aiclk_mhz = contradicts(Contradiction::aiclk_wrong) ? options.aiclk_mhz / 10 * 11 : options.aiclk_mhz;
  page->workload_pid = getpid();
  page->round_trip_ns = options.round_trip_ns;
  harvest(board);
  if (options.faults.size() > kMaxFaults)
    throw OpenError("more than " + std::to_string(kMaxFaults) + " faults of the card");
  page->faults = static_cast<uint32_t>(options.faults.size());
  std::copy(options.faults.begin(), options.faults.end(), page->fault);
  ClockWorld& c = page->clock;
  const auto hz = [&](uint64_t nominal) {
    return static_cast<uint64_t>(static_cast<int64_t>(nominal) +
                                 static_cast<int64_t>(nominal / 1000000) * options.drift_ppm);
  };
  const uint64_t now = host_now_ns();
  c.is_virtual = options.virtual_time;
  c.segment[0] = {now, options.start_cycles, hz(options.hz)};
  c.segments = 1;
  for (const ClockStep& step : options.clock_steps) {
    if (c.segments == kMaxSegments)
      throw OpenError("more than " + std::to_string(kMaxSegments - 1) + " clock steps");
    if (now + step.after_ns < c.segment[c.segments - 1].host_ns)
      throw OpenError("clock steps must be given in the order of time");
    c.segment[c.segments] = {now + step.after_ns, device_at(c, now + step.after_ns), hz(step.hz)};
    ++c.segments;
  }
  page->virtual_cycles = options.start_cycles;
  made_ns = time_axis_ns(*page);
  page->drift_ppm = options.drift_ppm;
  // In parts, as the product of a timer about to wrap and 10^9 has more than 64 bits.
  const uint64_t ticks = options.timer_start;
  page->timer_zero_ns =
      made_ns - ticks / kTimerHz * 1'000'000'000 - ticks % kTimerHz * 1'000'000'000 / kTimerHz;
}

// Checks a row or column that is to be fused off: `at` gives its tiles.
template <class At>
void EmulatedCard::Impl::must_have_tensix(uint8_t number, uint8_t tiles_in_it, At at) const {
  for (uint8_t i = 0; i < tiles_in_it; ++i)
    if (const Coord tile = at(i);
        tile.x < arch->grid_x && tile.y < arch->grid_y && arch->kind_at(tile) == TileKind::tensix)
      return;
  throw OpenError("row or column " + std::to_string(number) + " of " + options.arch +
                  " has no Tensix tile that could be fused off");
}

// Wormhole loses Tensix rows, Blackhole columns. What the options do not name is taken from the far end.
void EmulatedCard::Impl::harvest(const Board& board) {
  std::vector<uint8_t> rows = options.harvested_rows, columns = options.harvested_columns;
  const auto has = [](const std::vector<uint8_t>& list, uint8_t v) {
    return std::find(list.begin(), list.end(), v) != list.end();
  };
  const auto fill = [&](std::vector<uint8_t>& list, uint8_t wanted, uint8_t from, auto coordinate) {
    for (int v = from - 1; list.size() < wanted && v >= 0; --v) {
      const auto value = static_cast<uint8_t>(v);
      if (arch->kind_at(coordinate(value)) == TileKind::tensix && !has(list, value)) list.push_back(value);
    }
  };
  for (const uint8_t y : rows) must_have_tensix(y, arch->grid_x, [y](uint8_t x) { return Coord{x, y}; });
  for (const uint8_t x : columns) must_have_tensix(x, arch->grid_y, [x](uint8_t y) { return Coord{x, y}; });
  fill(rows, options.unharvested ? 0 : board.harvested_rows, arch->grid_y, [](uint8_t y) {
    return Coord{1, y};
  });
  fill(columns, options.unharvested ? 0 : board.harvested_columns, arch->grid_x, [](uint8_t x) {
    return Coord{x, 2};
  });
  uint32_t working = 0;
  for (uint8_t x = 0; x < arch->grid_x; ++x)
    for (uint8_t y = 0; y < arch->grid_y; ++y) {
      const TileKind kind = arch->kind_at({x, y});
      if (kind != TileKind::tensix && kind != TileKind::ethernet) continue;
      const bool dead = kind == TileKind::tensix && (has(rows, y) || has(columns, x));
      page->harvested[y * arch->grid_x + x] = dead;
      working += kind == TileKind::tensix && !dead;
      tiles.push_back({{x, y}, kind, dead});
    }
  page->max_compute_cores = options.max_compute_cores ? options.max_compute_cores : working;
  harvest_memory(board);
}

// Blackhole alone lacks memory channels. What the options do not name is taken from the far end.
void EmulatedCard::Impl::harvest_memory(const Board& board) {
  uint32_t off = 0;
  for (const uint8_t channel : options.harvested_channels) {
    if (arch->name != "blackhole" || channel >= arch->channels)
      throw OpenError("memory channel " + std::to_string(channel) + " cannot be fused off on " +
                      options.arch + "; Blackhole has 0 to 7");
    off |= 1u << channel;
  }
  const unsigned wanted = options.unharvested ? 0 : board.harvested_channels;
  for (uint32_t c = arch->channels; c-- > 0 && static_cast<unsigned>(std::popcount(off)) < wanted;)
    off |= 1u << c;
  for (uint32_t c = 0; c < arch->channels; ++c)
    for (const Coord port : arch->ports(c))
      if (off >> c & 1) page->harvested[port.y * arch->grid_x + port.x] = 1;
  views = arch->dram_views_without(off);
  if (contradicts(Contradiction::dram_numbering)) std::rotate(views.begin(), views.begin() + 1, views.end());
}

}  // namespace ttc::card
