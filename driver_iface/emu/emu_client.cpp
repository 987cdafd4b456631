#include "driver_iface/emu/emu_client.hpp"

#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <set>

#include "driver_iface/card/fd.hpp"
#include "driver_iface/card/wall_clock.hpp"
#include "driver_iface/emu/emu_access.hpp"
#include "driver_iface/emu/emu_wire.hpp"

namespace ttc::card::emu {

std::string socket_name(std::string_view card) {
  return "ttemu." + std::string(card);
}

namespace {

class Mapping {
 public:
  Mapping() = default;
  Mapping(int fd, uint64_t bytes, int protection) : bytes_(bytes) {
    void* p = mmap(nullptr, bytes, protection, MAP_SHARED | MAP_NORESERVE, fd, 0);
    if (p == MAP_FAILED)
      throw OpenError(std::string("mapping the emulated card failed: ") + std::strerror(errno));
    at_ = static_cast<uint8_t*>(p);
  }
  ~Mapping() {
    if (at_) munmap(at_, bytes_);
  }
  Mapping(Mapping&& o) noexcept : at_(std::exchange(o.at_, nullptr)), bytes_(o.bytes_) {}
  Mapping& operator=(Mapping&& o) noexcept {
    std::swap(at_, o.at_);
    std::swap(bytes_, o.bytes_);
    return *this;
  }
  uint8_t* get() const { return at_; }

 private:
  uint8_t* at_ = nullptr;
  uint64_t bytes_ = 0;
};

Fd connect_to(const std::string& name) {
  Fd fd(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string path = socket_name(name);
  if (path.size() + 1 > sizeof address.sun_path) throw OpenError("card name '" + name + "' is too long");
  std::memcpy(address.sun_path + 1, path.data(), path.size());
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + path.size());
  if (!fd || connect(fd.get(), reinterpret_cast<sockaddr*>(&address), length) != 0)
    throw OpenError("no emulated card named '" + name + "' is running; start one with: ttemu --name " + name);
  return fd;
}

// Receives an answer with up to two descriptors.
bool receive(int socket, Answer& answer, std::span<uint8_t> payload, Fd fds[2]) {
  alignas(cmsghdr) char control[CMSG_SPACE(2 * sizeof(int))]{};
  iovec parts[2] = {{&answer, sizeof answer}, {payload.data(), payload.size()}};
  msghdr message{};
  message.msg_iov = parts;
  message.msg_iovlen = 2;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  ssize_t got;
  do {
    got = recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
  } while (got < 0 && errno == EINTR);
  if (got < static_cast<ssize_t>(sizeof answer)) return false;
  for (cmsghdr* c = CMSG_FIRSTHDR(&message); c; c = CMSG_NXTHDR(&message, c)) {
    if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS) continue;
    const size_t count = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    int raw[2];
    std::memcpy(raw, CMSG_DATA(c), std::min<size_t>(count, 2) * sizeof(int));
    for (size_t i = 0; i < count && i < 2; ++i) fds[i].reset(raw[i]);
  }
  return static_cast<size_t>(got) - sizeof answer >= answer.bytes;
}

bool send_request(int socket, const Request& r) {
  return send(socket, &r, sizeof r, MSG_NOSIGNAL) == sizeof r;
}

class EmulatedClient : public Card {
 public:
  explicit EmulatedClient(const std::string& name) {
    Admitted admitted = enter(name);
    socket_ = std::move(admitted.socket);
    strict_ = admitted.strict;
    // In strict mode the page is read-only: only the card may change identity and clock.
    page_map_ = Mapping(admitted.page.get(), sizeof(Page), strict_ ? PROT_READ : PROT_READ | PROT_WRITE);
    page_ = reinterpret_cast<Page*>(page_map_.get());
    identify(name);
    resets_at_open_ = page_->resets;
    if (!strict_) {
      memory_fd_ = std::move(admitted.memory);
      memory_ = Mapping(memory_fd_.get(), memory_bytes(*identity_.arch), PROT_READ);
      layer_ = std::make_unique<AccessLayer>(*identity_.arch, memory_.get(), *page_);
    }
  }

  const Identity& identity() const override { return identity_; }
  std::span<const Tile> tiles() const override { return tiles_; }
  int hangup_fd() const override { return socket_.get(); }

  Access aim(Window window, Coord tile, uint64_t address) override {
    if (layer_) return layer_->aim(window, tile, address);
    Request r = request(Op::aim, window);
    r.x = tile.x;
    r.y = tile.y;
    r.address = address;
    const Access access = ask(r, {});
    if (access == Access::ok) note_move(window, tile, address);
    return access;
  }

  Access load_registers(Window window, uint32_t offset, std::span<uint32_t> out) override {
    if (layer_) return layer_->load_registers(window, offset, out);
    Request r = request(Op::registers, window);
    r.offset = offset;
    r.bytes = static_cast<uint32_t>(out.size_bytes());
    const Access access = ask(r, {reinterpret_cast<uint8_t*>(out.data()), out.size_bytes()});
    if (access == Access::ok) {
      remote_.round_trips += out.size();
      remote_.register_loads += out.size();
      remote_.bytes += out.size_bytes();
    }
    return access;
  }

  Access copy(Window window, uint32_t offset, std::span<uint64_t> out) override {
    if (layer_) return layer_->copy(window, offset, out);
    while (!out.empty()) {
      // Parts end where lines do, so that none is charged twice.
      const size_t most = (kMaxAnswerBytes - offset % kLineBytes) / 8;
      const auto part = out.first(std::min(out.size(), most));
      Request r = request(Op::copy, window);
      r.offset = offset;
      r.total_bytes = static_cast<uint32_t>(out.size_bytes());
      r.bytes = static_cast<uint32_t>(part.size_bytes());
      bounce_.resize(part.size());
      if (const Access access = ask(r, {reinterpret_cast<uint8_t*>(bounce_.data()), part.size_bytes()});
          access != Access::ok)
        return access;
      for (size_t i = 0; i < part.size(); ++i) __atomic_store_n(&part[i], bounce_[i], __ATOMIC_RELEASE);
      remote_.round_trips += lines_touched(offset, part.size_bytes());
      remote_.bytes += part.size_bytes();
      offset += static_cast<uint32_t>(part.size_bytes());
      out = out.subspan(part.size());
    }
    return Access::ok;
  }

  // Both mappings are ordinary memory.
  Access one_load(Window window, Memory, uint32_t offset, std::span<uint32_t> out) override {
    if (layer_) return layer_->one_load(window, offset, out);
    Request r = request(Op::one_load, window);
    r.offset = offset;
    r.bytes = static_cast<uint32_t>(out.size_bytes());
    const Access access = ask(r, {reinterpret_cast<uint8_t*>(out.data()), out.size_bytes()});
    if (access == Access::ok) ++remote_.round_trips, remote_.bytes += out.size_bytes();
    return access;
  }

  Access wall_clock(Coord tile, uint64_t& cycles) override { return read_wall_clock(*this, tile, cycles); }

  Health health() override {
    if (gone_ || (layer_ && layer_->card_lost()) || cut_off(*page_, resets_at_open_)) return Health::gone;
    pollfd p{socket_.get(), POLLIN | POLLRDHUP, 0};
    // The card never sends without a request: if the socket is readable, the connection has ended.
    if (poll(&p, 1, 0) > 0 && p.revents) {
      gone_ = true;
      return Health::gone;
    }
    return page_->leaving.load(std::memory_order_acquire) ? Health::leaving : Health::ok;
  }

  std::optional<DescriptorRange> descriptor_range(Coord tile, uint64_t address, uint32_t bytes) override {
    if (!layer_) return std::nullopt;
    auto range = layer_->range(tile, address, bytes);
    if (range) range->fd = memory_fd_.get();
    return range;
  }
  Access release(const DescriptorRange& range, std::span<const uint64_t> bytes_read) override {
    return layer_ ? layer_->release(range, bytes_read) : Access::refused;
  }

  // What firmware would report: the frequency it has set, without the crystal's error.
  Telemetry telemetry() override {
    Telemetry t;
    t.aiclk_mhz = aiclk_mhz(*page_);
    return t;
  }

  Transactions transactions() const override { return layer_ ? layer_->transactions() : remote_; }

 private:
  void identify(const std::string& name) {
    if (page_->version != kPageVersion || page_->bytes != sizeof(Page))
      throw OpenError("emulated card '" + name + "' is from another build of ttcollect; restart ttemu");
    identity_.spec = "emu:" + name;
    identity_.live_name = "emu-" + name;
    identity_.arch = arch_by_name(std::string_view(page_->arch, strnlen(page_->arch, sizeof page_->arch)));
    if (!identity_.arch) throw OpenError("emulated card '" + name + "' has an unknown architecture");
    identity_.board.assign(page_->board, strnlen(page_->board, sizeof page_->board));
    identity_.aiclk_mhz = page_->aiclk_mhz;
    identity_.max_compute_cores = page_->max_compute_cores;
    identity_.workload_pid = page_->workload_pid;
    const Arch& arch = *identity_.arch;
    uint32_t channels_off = 0;
    for (uint32_t c = 0; c < arch.channels; ++c) {
      const Coord port = arch.ports(c)[0];
      if (page_->harvested[port.y * arch.grid_x + port.x]) channels_off |= 1u << c;
    }
    identity_.dram_views = arch.dram_views_without(channels_off);
    for (uint8_t x = 0; x < arch.grid_x; ++x)
      for (uint8_t y = 0; y < arch.grid_y; ++y) {
        const TileKind kind = arch.kind_at({x, y});
        if (kind == TileKind::tensix || kind == TileKind::ethernet)
          tiles_.push_back({{x, y}, kind, page_->harvested[y * arch.grid_x + x] != 0});
      }
  }

  static Request request(Op op, Window window) {
    Request r;
    r.op = op;
    r.window = static_cast<uint32_t>(window);
    return r;
  }

  Access ask(const Request& r, std::span<uint8_t> payload) {
    Answer answer;
    Fd none[2];
    const uint64_t begun_ns = host_now_ns();
    if (gone_ || !send_request(socket_.get(), r) || !receive(socket_.get(), answer, payload, none)) {
      gone_ = true;
      return Access::gone;
    }
    const uint64_t all_ns = host_now_ns() - begun_ns;
    remote_.transport_ns += all_ns - std::min(all_ns, uint64_t{1000} * answer.took_us);
    gone_ = static_cast<Access>(answer.status) == Access::gone;
    return static_cast<Access>(answer.status);
  }

  void note_move(Window window, Coord tile, uint64_t address) {
    const uint64_t key = (address & ~(kWindowBytes - 1)) | tile.x | uint64_t{tile.y} << 8 | 1u << 16;
    uint64_t& now = aimed_[static_cast<size_t>(window)];
    if (now != key) ++remote_.window_moves;
    now = key;
  }

  Fd socket_;
  bool strict_ = false;
  bool gone_ = false;
  uint32_t resets_at_open_ = 0;  // of the card
  Mapping page_map_;
  Page* page_ = nullptr;
  Fd memory_fd_;
  Mapping memory_;
  std::unique_ptr<AccessLayer> layer_;
  Identity identity_;
  std::vector<Tile> tiles_;
  Transactions remote_;
  uint64_t aimed_[kWindows] = {};
  std::vector<uint64_t> bounce_;
};

// The card does the storing, mapped or strict: observers have no writable memory.
class EmulatedWriter : public IndexWriter {
 public:
  EmulatedWriter(const std::string& name, std::vector<ClearableWords> places)
      : IndexWriter(std::move(places)), socket_(connect_to(name)) {
    Request r;
    r.op = Op::take_writer;
    Answer answer;
    if (!ask(r, answer))
      throw OpenError("emulated card '" + name + "' went away while its writer was opened");
    switch (static_cast<Greeting>(answer.status)) {
      case Greeting::welcome:
        return;
      case Greeting::writer_taken:
        throw OpenError("another collector recycles emulated card '" + name + "'");
      case Greeting::no_writes:
        throw OpenError("emulated card '" + name + "' takes no writes (ttemu --no-writes)");
      default:
        throw OpenError("emulated card '" + name + "' is from another build of ttcollect; restart ttemu");
    }
  }

  Access clear(size_t place, uint32_t mask) override {
    if (!may_clear(place, mask)) return Access::refused;
    const ClearableWords& at = places()[place];
    Request r;
    r.op = Op::clear;
    r.x = at.tile.x;
    r.y = at.tile.y;
    r.address = at.address;
    r.total_bytes = at.words;
    r.bytes = mask;
    Answer answer;
    return ask(r, answer) ? static_cast<Access>(answer.status) : Access::gone;
  }

 private:
  bool ask(const Request& r, Answer& answer) const {
    Fd none[2];
    return send_request(socket_.get(), r) && receive(socket_.get(), answer, {}, none);
  }
  Fd socket_;
};

}  // namespace

std::unique_ptr<IndexWriter> open_emulated_writer(const std::string& name,
                                                  std::vector<ClearableWords> places) {
  return std::make_unique<EmulatedWriter>(name, std::move(places));
}

Admitted enter(const std::string& name) {
  Admitted admitted;
  admitted.socket = connect_to(name);
  Answer answer;
  Fd fds[2];
  if (!send_request(admitted.socket.get(), Request{}) || !receive(admitted.socket.get(), answer, {}, fds))
    throw OpenError("emulated card '" + name + "' went away while it was opened");
  switch (static_cast<Greeting>(answer.status)) {
    case Greeting::welcome:
      break;
    case Greeting::version_mismatch:
      throw OpenError("emulated card '" + name + "' is from another build of ttcollect; restart ttemu");
    case Greeting::no_window_left:
      throw NoWindowError("no window is left on emulated card '" + name + "'; detach another observer");
    case Greeting::too_many_windows:
      throw OpenError("too many windows requested from emulated card '" + name + "'");
    case Greeting::writer_taken:
    case Greeting::no_writes:
      throw OpenError("emulated card '" + name + "' answered a greeting as if a writer had been requested");
  }
  admitted.strict = answer.strict;
  admitted.page = std::move(fds[0]);
  admitted.memory = std::move(fds[1]);
  return admitted;
}

std::unique_ptr<Card> open_emulated(const std::string& name) {
  return std::make_unique<EmulatedClient>(name);
}

std::vector<std::string> running_cards() {
  std::set<std::string> names;
  std::ifstream sockets("/proc/net/unix");
  for (std::string line; std::getline(sockets, line);) {
    const size_t at = line.find("@ttemu.");
    if (at != std::string::npos) names.insert(line.substr(at + 7));
  }
  return {names.begin(), names.end()};
}

}  // namespace ttc::card::emu
