// What an emulated card does for observers, in a thread of its own: they attach, access it over the socket, and faults strike.
#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "driver_iface/emu/emulated_card_impl.hpp"

namespace ttc::card {
namespace {

using namespace emu;

constexpr int kWatchMs = 1;              // how closely faults that the card itself acts on are watched
constexpr uint32_t kMaxWindowsEach = 4;  // more is not good manners (tt-metal llrt/tlb_config.cpp)

}  // namespace

void EmulatedCard::Impl::listen_for_observers() {
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
    emulated_card_fails("socket");
  }
  server = std::thread([this] { serve(); });
}

void EmulatedCard::Impl::serve() {
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
bool EmulatedCard::Impl::watched() const {
  return std::any_of(options.faults.begin(), options.faults.end(), [&](const CardFault& f) {
    return (f.kind == FaultKind::unplug && listener) || (f.kind == FaultKind::reset && page->resets == 0);
  });
}

// A reset is announced. Of a moment in round trips it is not known when it will be: so from then on.
void EmulatedCard::Impl::announce_reset(uint32_t i) {
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
bool EmulatedCard::Impl::reset_is_free() const {
  for (uint32_t i = 0; i < page->faults; ++i)
    if (page->fault[i].kind == FaultKind::reset && page->fault[i].notice_ns && page->fault_began[i])
      return windows_taken() == 0;
  return false;
}

void EmulatedCard::Impl::act_on_faults() {
  for (uint32_t i = 0; i < page->faults; ++i) announce_reset(i);
  if (listener && begun_fault(*page, FaultKind::unplug)) unplug();
  if (page->resets == 0 && (begun_fault(*page, FaultKind::reset) || reset_is_free())) reset_chip();
}

void EmulatedCard::Impl::hit(FaultKind kind) {
  for (uint32_t i = 0; i < page->faults; ++i)
    if (page->fault[i].kind == kind) page->fault_hits[i].fetch_add(1, std::memory_order_relaxed);
}

// The link drops: no farewell, and the card cannot be found any more.
void EmulatedCard::Impl::unplug() {
  lost = true;
  listener.reset(-1);
  clients.clear();
  attached = 0;
  hit(FaultKind::unplug);
}

// Resets the chip as the driver does (tt-kmd memory.c): attached processes are cut off and get no event. A process
// that opens the card afterwards finds the state after power-up: empty memory.
void EmulatedCard::Impl::reset_chip() {
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

void EmulatedCard::Impl::accept_observer() {
  Fd fd(accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
  if (!fd) return;
  const int key = fd.get();
  clients[key].socket = std::move(fd);
}

uint32_t EmulatedCard::Impl::windows_taken() const {
  uint32_t taken = 0;
  for (const auto& [fd, client] : clients) taken += client.windows;
  return taken;
}

// A workload that holds every window of the class (tt-kmd memory.c).
bool EmulatedCard::Impl::windows_withheld() {
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

bool EmulatedCard::Impl::answer(Client& client) {
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

bool EmulatedCard::Impl::grant_writer(Client& client) {
  Answer a;
  const bool taken =
      std::any_of(clients.begin(), clients.end(), [](const auto& c) { return c.second.writes; });
  client.writes = options.writable && !taken;
  if (!client.writes) a.status = static_cast<uint32_t>(taken ? Greeting::writer_taken : Greeting::no_writes);
  return reply(client, a, {}, false);
}

// Stores zero to index words of a control vector, and refuses everything else.
Access EmulatedCard::Impl::clear(const Client& client, const Request& r) const {
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

bool EmulatedCard::Impl::greet(Client& client, const Request& r) {
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
  uint64_t none = 0;
  page->attended_since.compare_exchange_strong(none, time_axis_ns(*page));
  ++welcomed;
  client.windows = r.windows_wanted;
  client.layer = std::make_unique<AccessLayer>(*arch, memory, *page);
  return reply(client, a, {}, true);
}

// An observer that does not fetch its answers is dropped: the card does not wait.
bool EmulatedCard::Impl::reply(const Client& client, const Answer& a, std::span<uint8_t> payload,
                               bool with_descriptors) {
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

}  // namespace ttc::card
