#include "driver_iface/emulated_card.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <map>
#include <new>
#include <thread>

#include "driver_iface/card/fd.hpp"
#include "driver_iface/emu/emu_access.hpp"
#include "driver_iface/emu/emu_wire.hpp"

namespace ttc::card {
namespace {

using namespace emu;

constexpr uint32_t kWindowPool = 10;     // windows of the 2 MiB class
constexpr uint32_t kOneWindow = 1;       // contradicted
constexpr int kWatchMs = 1;              // how closely faults that the card itself acts on are watched
constexpr uint32_t kMaxWindowsEach = 4;  // more is not good manners (tt-metal llrt/tlb_config.cpp)

[[noreturn]] void fail(const std::string& what) {
  throw OpenError("emulated card: " + what + ": " + std::strerror(errno));
}

Fd anonymous_memory(const char* name, uint64_t bytes) {
  Fd fd(memfd_create(name, MFD_CLOEXEC));
  if (!fd || ftruncate(fd.get(), static_cast<off_t>(bytes)) != 0) fail("memory");
  return fd;
}

// A second descriptor of the same memory with less rights.
Fd read_only(const Fd& fd) {
  Fd copy(open(("/proc/self/fd/" + std::to_string(fd.get())).c_str(), O_RDONLY | O_CLOEXEC));
  if (!copy) fail("read-only descriptor");
  return copy;
}

uint8_t* map(const Fd& fd, uint64_t bytes) {
  void* p = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd.get(), 0);
  if (p == MAP_FAILED) fail("mapping");
  return static_cast<uint8_t*>(p);
}

void copy_text(char (&to)[16], const std::string& from) {
  std::memcpy(to, from.data(), std::min(from.size(), sizeof to - 1));
}

}  // namespace

struct EmulatedCard::Impl {
  explicit Impl(const EmulatedCardOptions& o) : options(o) {
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

  ~Impl() {
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

  void describe(const Board& board) {
    copy_text(page->arch, options.arch);
    copy_text(page->board, options.board);
    page->contradictions = options.contradictions;
    page->aiclk_mhz =
        contradicts(Contradiction::aiclk_wrong) ? options.aiclk_mhz / 10 * 11 : options.aiclk_mhz;
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

  // Of a row or column that is to be fused off: `at` gives its tiles.
  template <class At>
  void must_have_tensix(uint8_t number, uint8_t tiles_in_it, At at) const {
    for (uint8_t i = 0; i < tiles_in_it; ++i)
      if (const Coord tile = at(i);
          tile.x < arch->grid_x && tile.y < arch->grid_y && arch->kind_at(tile) == TileKind::tensix)
        return;
    throw OpenError("row or column " + std::to_string(number) + " of " + options.arch +
                    " has no Tensix tile that could be fused off");
  }

  // Wormhole loses Tensix rows, Blackhole columns. What the options do not name is taken from the far end.
  void harvest(const Board& board) {
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
  void harvest_memory(const Board& board) {
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
    if (contradicts(Contradiction::dram_numbering))
      std::rotate(views.begin(), views.begin() + 1, views.end());
  }

  void listen_for_observers() {
    listener.reset(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
    wake.reset(eventfd(0, EFD_CLOEXEC));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    const std::string path = socket_name(options.name);
    if (options.name.empty() || path.size() + 1 > sizeof address.sun_path)
      throw OpenError("card name '" + options.name + "' must have 1 to 90 characters");
    std::memcpy(address.sun_path + 1, path.data(), path.size());
    const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + path.size());
    if (!listener || !wake || bind(listener.get(), reinterpret_cast<sockaddr*>(&address), length) != 0 ||
        listen(listener.get(), 16) != 0) {
      if (errno == EADDRINUSE)
        throw OpenError("an emulated card named '" + options.name +
                        "' is already running; choose another --name");
      fail("socket");
    }
    server = std::thread([this] { serve(); });
  }

  struct Client {
    Fd socket;
    uint32_t windows = 0;
    std::unique_ptr<AccessLayer> layer;  // strict: what the card does on the observer's behalf
    bool writes = false;                 // it may clear index words
  };

  void serve() {
    while (!stopping) {
      std::vector<pollfd> polled{{wake.get(), POLLIN, 0}, {listener.get(), POLLIN, 0}};
      for (const auto& [fd, client] : clients) polled.push_back({fd, POLLIN, 0});
      const int got = poll(polled.data(), polled.size(), watched() ? kWatchMs : -1);
      if (page->faults) act_on_faults();
      if (got <= 0 || !listener) continue;
      if (polled[1].revents) accept_observer();
      for (size_t i = 2; i < polled.size(); ++i)
        if (polled[i].revents && !answer(clients.at(polled[i].fd))) clients.erase(polled[i].fd);
      attached = static_cast<size_t>(
          std::count_if(clients.begin(), clients.end(), [](const auto& c) { return c.second.windows > 0; }));
    }
  }

  // Is there a fault to come that changes the card, not only what loads return?
  bool watched() const {
    return std::any_of(options.faults.begin(), options.faults.end(), [&](const CardFault& f) {
      return (f.kind == FaultKind::unplug && listener) || (f.kind == FaultKind::reset && page->resets == 0);
    });
  }

  // A reset is announced. Of a moment in round trips it is not known when it will be: so from then on.
  void announce_reset(uint32_t i) {
    const CardFault& f = page->fault[i];
    if (f.kind != FaultKind::reset || !f.notice_ns || page->resets || !page->attended_since) return;
    const uint64_t now = attended_ns(*page);
    if (f.after_is_round_trips ? page->round_trips < f.after : now + f.notice_ns < f.after) return;
    uint64_t not_yet = 0;
    page->fault_began[i].compare_exchange_strong(not_yet, now + 1, std::memory_order_release,
                                                 std::memory_order_relaxed);
    page->leaving = 1;
  }

  // Every observer has left after the announcement: the reset need not wait any longer.
  bool reset_is_free() const {
    for (uint32_t i = 0; i < page->faults; ++i)
      if (page->fault[i].kind == FaultKind::reset && page->fault[i].notice_ns && page->fault_began[i])
        return windows_taken() == 0;
    return false;
  }

  void act_on_faults() {
    for (uint32_t i = 0; i < page->faults; ++i) announce_reset(i);
    if (listener && begun_fault(*page, FaultKind::unplug)) unplug();
    if (page->resets == 0 && (begun_fault(*page, FaultKind::reset) || reset_is_free())) reset_chip();
  }

  void hit(FaultKind kind) {
    for (uint32_t i = 0; i < page->faults; ++i)
      if (page->fault[i].kind == kind) page->fault_hits[i].fetch_add(1, std::memory_order_relaxed);
  }

  // The link drops: no farewell, and nobody can find the card any more.
  void unplug() {
    lost = true;
    listener.reset(-1);
    clients.clear();
    attached = 0;
    hit(FaultKind::unplug);
  }

  // As the driver does it (tt-kmd memory.c): who was attached is out for good and gets no event. Who opens
  // the card afterwards finds what a chip holds after power-up: nothing.
  void reset_chip() {
    lost = true;
    hit(FaultKind::reset);
    if (fallocate(memory_fd.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0,
                  static_cast<off_t>(total_bytes)) != 0)
      std::terminate();  // a memfd can always give its pages back
    page->clock_zero.fetch_add(device_now(*page), std::memory_order_relaxed);
    page->timer_zero_ns = time_axis_ns(*page);
    page->timer_high = 0;
    for (auto& latch : page->latched_high) latch = 0;
    if (!contradicts(Contradiction::reset_unseen))
      for (auto& [fd, client] : clients) client.windows = 0;  // free for others at once
    page->leaving = 0;
    page->resets.fetch_add(1, std::memory_order_release);
  }

  void accept_observer() {
    Fd fd(accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (!fd) return;
    const int key = fd.get();
    clients[key].socket = std::move(fd);
  }

  bool contradicts(Contradiction one) const { return has(options.contradictions, one); }
  uint32_t window_pool() const { return contradicts(Contradiction::few_windows) ? kOneWindow : kWindowPool; }

  uint32_t windows_taken() const {
    uint32_t taken = 0;
    for (const auto& [fd, client] : clients) taken += client.windows;
    return taken;
  }

  // A workload that holds every window of the class (tt-kmd memory.c).
  bool windows_withheld() {
    for (uint32_t i = 0; i < page->faults; ++i) {
      const CardFault& f = page->fault[i];
      if (f.kind != FaultKind::no_window || welcomed < f.observers) continue;
      const uint64_t since_made = time_axis_ns(*page) - made_ns;
      if (since_made < f.after || (f.for_ns && since_made >= f.after + f.for_ns)) continue;
      page->fault_hits[i].fetch_add(1, std::memory_order_relaxed);
      return true;
    }
    return false;
  }

  bool answer(Client& client) {
    Request r;
    const ssize_t got = recv(client.socket.get(), &r, sizeof r, 0);
    if (got <= 0) return false;
    Answer a;
    if (got != sizeof r || r.version != kPageVersion) {
      a.status = static_cast<uint32_t>(Greeting::version_mismatch);
      return reply(client, a, {}, false);
    }
    if (r.op == Op::hello) return greet(client, r);
    if (r.op == Op::take_writer) return grant_writer(client);
    if (r.op == Op::clear) {
      a.status = static_cast<uint32_t>(clear(client, r));
      return reply(client, a, {}, false);
    }
    if (client.layer && r.op == Op::write) {
      client.layer->violate(ViolationKind::write, {r.x, r.y}, r.address);
      a.status = static_cast<uint32_t>(Access::refused);
      return reply(client, a, {}, false);
    }
    if (!client.layer || r.window >= kWindows || r.bytes > kMaxAnswerBytes) return false;
    const auto window = static_cast<Window>(r.window);
    AccessLayer& layer = *client.layer;
    Access access = Access::refused;
    buffer.assign((r.bytes + 7) / 8, 0);
    const uint64_t charged_before = layer.charged_ns();
    switch (r.op) {
      case Op::aim:
        access = layer.aim(window, {r.x, r.y}, r.address);
        break;
      case Op::copy:
        if (r.total_bytes <= r.bytes || layer.fits(window, r.offset, r.total_bytes))
          access = layer.copy(window, r.offset, {buffer.data(), r.bytes / 8});
        break;
      case Op::registers:
        access =
            layer.load_registers(window, r.offset, {reinterpret_cast<uint32_t*>(buffer.data()), r.bytes / 4});
        break;
      case Op::one_load:
        access = layer.one_load(window, r.offset, {reinterpret_cast<uint32_t*>(buffer.data()), r.bytes / 4});
        break;
      default:
        return false;
    }
    a.status = static_cast<uint32_t>(access);
    a.took_us = static_cast<uint32_t>((layer.charged_ns() - charged_before) / 1000);
    a.bytes = access == Access::ok && r.op != Op::aim ? r.bytes : 0;
    return reply(client, a, {reinterpret_cast<uint8_t*>(buffer.data()), a.bytes}, false);
  }

  bool grant_writer(Client& client) {
    Answer a;
    const bool taken =
        std::any_of(clients.begin(), clients.end(), [](const auto& c) { return c.second.writes; });
    client.writes = options.writable && !taken;
    if (!client.writes)
      a.status = static_cast<uint32_t>(taken ? Greeting::writer_taken : Greeting::no_writes);
    return reply(client, a, {}, false);
  }

  // Zero, to index words of a control vector: whatever else is asked for would hurt.
  Access clear(const Client& client, const Request& r) const {
    if (lost) return Access::gone;
    const Coord at{r.x, r.y};
    const bool in_grid = at.x < arch->grid_x && at.y < arch->grid_y;
    const uint32_t tile = uint32_t{at.y} * arch->grid_x + at.x;
    const bool fits = in_grid && arch->kind_at(at) == TileKind::tensix && !page->harvested[tile] &&
                      r.address == page->control_address[tile] + page->index_offset &&
                      r.total_bytes == page->index_words && r.bytes != 0 && r.bytes >> r.total_bytes == 0;
    if (!client.writes || !fits) {
      AccessLayer(*arch, memory, *page).violate(ViolationKind::write, at, r.address);
      return Access::refused;
    }
    for (uint32_t i = 0; i < r.total_bytes; ++i)
      if (r.bytes >> i & 1)
        word(tile_offset(*arch, at) + r.address + 4 * i).store(0, std::memory_order_relaxed);
    page->index_writes.fetch_add(1, std::memory_order_release);
    return Access::ok;
  }

  bool greet(Client& client, const Request& r) {
    Answer a;
    a.strict = options.strict;
    if (r.windows_wanted > kMaxWindowsEach) {
      AccessLayer(*arch, memory, *page).violate(ViolationKind::too_many_windows, {}, r.windows_wanted);
      a.status = static_cast<uint32_t>(Greeting::too_many_windows);
      return reply(client, a, {}, false);
    }
    if (windows_taken() + r.windows_wanted > window_pool() || windows_withheld()) {
      a.status = static_cast<uint32_t>(Greeting::no_window_left);
      return reply(client, a, {}, false);
    }
    uint64_t nobody = 0;
    page->attended_since.compare_exchange_strong(nobody, time_axis_ns(*page));
    ++welcomed;
    client.windows = r.windows_wanted;
    client.layer = std::make_unique<AccessLayer>(*arch, memory, *page);
    return reply(client, a, {}, true);
  }

  // An observer that does not fetch its answers is dropped: the card waits for nobody.
  bool reply(const Client& client, const Answer& a, std::span<uint8_t> payload, bool with_descriptors) {
    Answer head = a;
    iovec parts[2] = {{&head, sizeof head}, {payload.data(), payload.size()}};
    msghdr message{};
    message.msg_iov = parts;
    message.msg_iovlen = 2;
    alignas(cmsghdr) char control[CMSG_SPACE(2 * sizeof(int))]{};
    if (with_descriptors) {
      const int fds[2] = {options.strict ? page_read_only.get() : page_fd.get(), memory_read_only.get()};
      const size_t count = options.strict ? 1 : 2;  // strict: no memory to be dishonest with
      message.msg_control = control;
      message.msg_controllen = CMSG_SPACE(count * sizeof(int));
      cmsghdr* c = CMSG_FIRSTHDR(&message);
      c->cmsg_level = SOL_SOCKET;
      c->cmsg_type = SCM_RIGHTS;
      c->cmsg_len = CMSG_LEN(count * sizeof(int));
      std::memcpy(CMSG_DATA(c), fds, count * sizeof(int));
    }
    return sendmsg(client.socket.get(), &message, MSG_NOSIGNAL | MSG_DONTWAIT) >= 0;
  }

  std::atomic<uint32_t>& word(uint64_t offset) const {
    return *reinterpret_cast<std::atomic<uint32_t>*>(memory + offset);
  }
  uint64_t view_offset(uint32_t view, uint64_t address) const {
    const DramView& v = views[view];
    return channel_offset(*arch, v.channel) + v.offset + address;
  }

  EmulatedCardOptions options;
  const Arch* arch = nullptr;
  uint64_t total_bytes = 0;
  Fd memory_fd, memory_read_only, page_fd, page_read_only, listener, wake;
  uint8_t* memory = nullptr;
  Page* page = nullptr;
  std::vector<Tile> tiles;
  std::vector<DramView> views;    // by bank id
  std::map<int, Client> clients;  // by descriptor; the server thread's
  std::vector<uint64_t> buffer;
  std::atomic<size_t> attached{0};
  std::atomic<bool> lost{false};  // reset or pulled
  uint64_t made_ns = 0;
  uint64_t welcomed = 0;  // observers so far; the server thread's
  std::atomic<bool> stopping{false};
  std::thread server;
};

EmulatedCard::EmulatedCard(const EmulatedCardOptions& options) : impl_(std::make_unique<Impl>(options)) {}
EmulatedCard::~EmulatedCard() = default;

void EmulatedCard::announce() {
  impl_->listen_for_observers();
}

const Arch& EmulatedCard::arch() const {
  return *impl_->arch;
}
std::span<const DramView> EmulatedCard::dram_views() const {
  return impl_->views;
}
std::span<const Tile> EmulatedCard::tiles() const {
  return impl_->tiles;
}

uint32_t EmulatedCard::load(Coord tile, uint32_t l1_address) const {
  return impl_->word(tile_offset(*impl_->arch, tile) + l1_address).load(std::memory_order_relaxed);
}
void EmulatedCard::store(Coord tile, uint32_t l1_address, uint32_t value) {
  if (lost()) return;
  impl_->word(tile_offset(*impl_->arch, tile) + l1_address).store(value, std::memory_order_relaxed);
}
void EmulatedCard::store_dram(uint32_t view, uint64_t address, std::span<const uint32_t> words) {
  if (lost()) return;
  const uint64_t offset = impl_->view_offset(view, address);
  // In pairs: memory moves in pieces of 16 bytes, so the two words of a marker never arrive apart.
  auto* to = reinterpret_cast<uint64_t*>(impl_->memory + offset);
  for (size_t i = 0; i + 1 < words.size(); i += 2)
    __atomic_store_n(to + i / 2, words[i] | uint64_t{words[i + 1]} << 32, __ATOMIC_RELAXED);
  if (words.size() % 2)
    impl_->word(offset + 4 * (words.size() - 1)).store(words.back(), std::memory_order_relaxed);
}
uint32_t EmulatedCard::load_dram(uint32_t view, uint64_t address) const {
  return impl_->word(impl_->view_offset(view, address)).load(std::memory_order_relaxed);
}

uint64_t EmulatedCard::clock_on(Coord tile, uint64_t cycles) const {
  return on_tile(*impl_->page, tile, cycles);
}
uint64_t EmulatedCard::clock() const {
  return device_now(*impl_->page);
}
std::vector<ClockPiece> EmulatedCard::clock_pieces() const {
  const ClockWorld& c = impl_->page->clock;
  std::vector<ClockPiece> pieces;
  for (uint32_t i = 0; i < c.segments; ++i)
    pieces.push_back({c.segment[i].host_ns, c.segment[i].cycles, c.segment[i].hz});
  return pieces;
}
bool EmulatedCard::clock_stands() const {
  const ClockWorld& c = impl_->page->clock;
  if (c.is_virtual || c.segments == 1) return false;
  return piece_at(c, host_now_ns()).hz == 0;
}
void EmulatedCard::advance_clock(uint64_t cycles) {
  impl_->page->virtual_cycles.fetch_add(cycles, std::memory_order_relaxed);
}

void EmulatedCard::set_log_geometry(const LogGeometry& g) {
  std::fill(std::begin(impl_->page->control_address), std::end(impl_->page->control_address),
            g.control_address);
  impl_->page->control_bytes = g.control_bytes;
  impl_->page->index_offset = g.index_offset;
  impl_->page->index_words = g.index_words;
  impl_->page->log_base = g.base;
  impl_->page->cores_per_bank = g.cores_per_bank;
  impl_->page->bytes_per_risc = g.bytes_per_risc;
}
void EmulatedCard::set_control_address(Coord tile, uint32_t l1_address) {
  impl_->page->control_address[tile.y * impl_->arch->grid_x + tile.x] = l1_address;
}
void EmulatedCard::set_landed(uint32_t lane, uint32_t resets, uint32_t words) {
  impl_->page->landed[lane].store(uint64_t{resets} << 32 | words, std::memory_order_release);
}
void EmulatedCard::set_landing_due(uint64_t raw_ns) {
  impl_->page->landing_due_ns.store(raw_ns, std::memory_order_release);
}
uint32_t EmulatedCard::words_read(uint32_t lane, uint32_t resets) const {
  const uint64_t read = impl_->page->read[lane].load(std::memory_order_acquire);
  return read >> 32 == resets ? static_cast<uint32_t>(read) : 0;
}
void EmulatedCard::assume_read(uint32_t lane, uint32_t resets, uint32_t words) {
  impl_->page->read[lane].store(uint64_t{resets} << 32 | words, std::memory_order_release);
}
uint64_t EmulatedCard::control_reads(Coord tile) const {
  return impl_->page->control_reads[tile.y * impl_->arch->grid_x + tile.x].load(std::memory_order_acquire);
}

void EmulatedCard::announce_leaving() {
  impl_->page->leaving.store(1, std::memory_order_release);
}
size_t EmulatedCard::observers() const {
  return impl_->attached.load();
}

bool EmulatedCard::lost() const {
  return impl_->lost.load(std::memory_order_relaxed);
}
std::vector<uint64_t> EmulatedCard::fault_hits() const {
  return {impl_->page->fault_hits, impl_->page->fault_hits + impl_->page->faults};
}

AccessAccount EmulatedCard::account() const {
  const Page& p = *impl_->page;
  return {p.round_trips, p.register_loads, p.window_moves, p.descriptor_bytes, p.violations, p.index_writes};
}

std::vector<std::string> EmulatedCard::violations() const {
  std::vector<std::string> texts;
  const uint64_t count = std::min<uint64_t>(impl_->page->violations, kKeptViolations);
  for (uint64_t i = 0; i < count; ++i) {
    const Violation& v = impl_->page->violation[i];
    char text[128];
    std::snprintf(text, sizeof text, "%s at tile (%u,%u) address 0x%llx", to_string(v.kind), v.tile & 0xff,
                  v.tile >> 8, static_cast<unsigned long long>(v.address));
    texts.emplace_back(text);
  }
  return texts;
}

}  // namespace ttc::card
