#include "driver_iface/model/driver_model.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <utility>

#include "driver_iface/allow_list.hpp"
#include "driver_iface/card/fd.hpp"
#include "driver_iface/emu/emu_access.hpp"
#include "driver_iface/emu/emu_client.hpp"
#include "driver_iface/model/window_registers.hpp"

namespace ttc::card::kmd {
namespace {

using emu::Page;

constexpr int kFirstFd = 1'000'000;              // no descriptor of the process can be meant
constexpr uint64_t kRegion = uint64_t{1} << 36;  // of mmap offsets; 0 BAR0 UC, 6 windows UC, 7 windows WC
constexpr uint64_t kBar0Bytes = 512u << 20;
constexpr uint16_t kAllPower = 0x7FFF;
constexpr uint16_t kLegacyVote = 0x7FFE;
constexpr uint32_t kTelemetryTable = 0x10000100, kTelemetryValues = 0x10000200;

struct WindowClass {
  uint32_t first, count;  // the driver's own is not counted
  uint64_t bytes;
  uint64_t base;  // in BAR0; 4 GiB windows follow it at 512 MiB
};
constexpr WindowClass kWormholeClasses[] = {
    {0, 156, 1u << 20, 0}, {156, 10, 2u << 20, 0x09C00000}, {166, 19, 16u << 20, 0x0B000000}};
constexpr WindowClass kBlackholeClasses[] = {{0, 201, 2u << 20, 0},
                                             {202, 8, uint64_t{4} << 30, uint64_t{512} << 20}};

std::span<const WindowClass> classes_of(const Arch& arch) {
  if (arch.name == "wormhole_b0") return kWormholeClasses;
  return kBlackholeClasses;
}
const WindowClass* class_of(const Arch& arch, uint32_t id) {
  for (const WindowClass& c : classes_of(arch))
    if (id >= c.first && id < c.first + c.count) return &c;
  return nullptr;
}
uint64_t window_offset(const WindowClass& c, uint32_t id) {
  return c.base + (id - c.first) * c.bytes;
}

[[noreturn]] void fail(const char* what) {
  throw std::runtime_error(std::string("driver model: ") + what + ": " + std::strerror(errno));
}

int memory_file(const char* name, uint64_t bytes, int fill) {
  const int fd = memfd_create(name, MFD_CLOEXEC);
  if (fd < 0 || ftruncate(fd, static_cast<off_t>(bytes)) != 0) fail("memory");
  if (fill) {
    const std::vector<char> page(bytes, static_cast<char>(fill));
    if (pwrite(fd, page.data(), bytes, 0) != static_cast<ssize_t>(bytes)) fail("memory");
  }
  return fd;
}

void put(void* at, size_t bytes, int fd, uint64_t offset) {
  if (mmap(at, bytes, PROT_READ, MAP_SHARED | MAP_FIXED, fd, static_cast<off_t>(offset)) == MAP_FAILED)
    fail("mapping");
}
void put_nothing(uint8_t* at, size_t bytes) {
  if (bytes && mmap(at, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0) ==
                   MAP_FAILED)
    fail("mapping");
}
void put_zeros(uint8_t* at, size_t bytes) {
  if (mmap(at, bytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0) ==
      MAP_FAILED)
    fail("mapping");
}

// A load that hangs: its page cannot be touched until this handler has burnt the time; or the thread has no CPU for so long.
std::atomic<uint64_t> stall_ns{0};
std::atomic<bool> stall_stolen{false};
void on_stall(int, siginfo_t* info, void*) {
  const uint64_t ns = stall_ns.exchange(0);
  auto* const at = static_cast<char*>(info->si_addr);
  void* const page = at - (reinterpret_cast<uintptr_t>(at) & 4095);
  if (ns == 0 || mprotect(page, 4096, PROT_READ) != 0) {  // no stall of ours: let it be fatal
    signal(SIGSEGV, SIG_DFL);
    return;
  }
  if (stall_stolen) {
    timespec left{static_cast<time_t>(ns / 1000000000u), static_cast<long>(ns % 1000000000u)};
    while (nanosleep(&left, &left) != 0 && errno == EINTR) {
    }
    return;
  }
  const auto cpu_ns = [] {
    timespec t{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return static_cast<uint64_t>(t.tv_sec) * 1000000000u + static_cast<uint64_t>(t.tv_nsec);
  };
  for (const uint64_t end = cpu_ns() + ns; cpu_ns() < end;) {
  }
}

// What a window is aimed at, as the chip understands it.
struct Target {
  enum Kind { nowhere, l1, dram, registers, telemetry } kind = nowhere;
  Coord tile;  // physical
};

}  // namespace

struct DriverModel::Chip {
  ModelNode options;
  emu::Admitted admitted;
  Page* page = nullptr;
  const Arch* arch = nullptr;
  std::map<uint32_t, int> owner;     // window: descriptor
  std::map<uint32_t, NocAim> aimed;  // window registers
  std::set<Coord> silent, off;
  bool present = true, link_dead = false, in_reset = false, powers_down_later = false;
  std::optional<unsigned> maps_until_busy;
  uint64_t generation = 0;
  std::vector<uint16_t> power;
  uint64_t window_moves = 0;
  std::vector<std::string> hazards;
  std::map<uint8_t, int> locks;  // -> descriptor

  ~Chip() {
    if (page) munmap(page, sizeof(Page));
  }
  bool at_least(unsigned minor) const {
    return options.major > 2 || (options.major == 2 && options.minor >= minor);
  }
  std::string path() const { return "/dev/tenstorrent/" + std::to_string(options.ordinal); }
  bool is_off(Coord c) const { return page->harvested[c.y * arch->grid_x + c.x] || off.count(c); }
  std::optional<uint32_t> channel_off() const {
    for (uint32_t c = 0; c < arch->channels; ++c)
      if (is_off(arch->ports(c)[0])) return c;
    return std::nullopt;
  }
  uint32_t enabled_columns() const {
    constexpr uint8_t kOrder[] = {1, 16, 2, 15, 3, 14, 4, 13, 5, 12, 6, 11, 7, 10};
    uint32_t mask = 0;
    for (size_t i = 0; i < std::size(kOrder); ++i)
      if (!is_off({kOrder[i], 2})) mask |= 1u << i;
    return mask;
  }

  // Which tile answers at a NoC coordinate. Blackhole moves fused-off columns to the end and memory to x 17
  // and 18.
  std::optional<Coord> physical(Coord asked) const {
    if (arch->name != "blackhole") return asked;
    if (asked.y <= 1 && arch->kind_at(asked) != TileKind::dram) return asked;
    if (asked.x == 17 || asked.x == 18) {
      const uint32_t row = asked.y - 12u;
      if (asked.y < 12 || row >= 12) return std::nullopt;
      uint32_t group = row / 3;
      if (const auto missing =
              channel_off()) {  // the short column is at 18, the whole one's opposite moves to its end
        const uint32_t own = *missing & ~3u, gap = *missing % 4;
        if (asked.x == 18) {
          if (group == 3) return std::nullopt;
          return arch->ports(own + group + (group >= gap))[row % 3];
        }
        const uint32_t at = options.memory_in_order || group < gap ? group : group == 3 ? gap : group + 1;
        return arch->ports((own ^ 4u) + at)[row % 3];
      }
      if (options.simulator_memory && group >= 2) group = 5 - group;
      const bool west = (asked.x == 17) != options.simulator_memory;
      return arch->ports(group + (west ? 0 : 4))[row % 3];
    }
    if (arch->kind_at(asked) != TileKind::tensix) return std::nullopt;
    std::vector<uint8_t> columns, gone;
    for (uint8_t x = 0; x < arch->grid_x; ++x)
      if (arch->kind_at({x, 2}) == TileKind::tensix) (is_off({x, 2}) ? gone : columns).push_back(x);
    std::vector<uint8_t> places = columns;
    places.insert(places.end(), gone.begin(), gone.end());
    std::sort(places.begin(), places.end());
    columns.insert(columns.end(), gone.begin(), gone.end());
    const auto place = std::find(places.begin(), places.end(), asked.x) - places.begin();
    return Coord{columns[static_cast<size_t>(place)], asked.y};
  }

  Target target(const NocAim& aim) const {
    const auto at = physical({static_cast<uint8_t>(aim.x_end), static_cast<uint8_t>(aim.y_end)});
    if (!at || aim.x_start || aim.y_start || aim.noc || aim.multicast || aim.linked || aim.static_vc)
      return {};
    const TileKind kind = arch->kind_at(*at);
    const bool off_tile = kind == TileKind::tensix && is_off(*at);
    if (kind == TileKind::arc && arch->name == "blackhole" && options.telemetry)
      if (aim.address == 0x80000000 || aim.address == kArcMemory) return {Target::telemetry, *at};
    if (kind == TileKind::dram && aim.address < arch->channel_bytes) return {Target::dram, *at};
    if (kind != TileKind::tensix && kind != TileKind::ethernet) return {};
    if (aim.address == kRegisterWindow) return {Target::registers, *at};
    if (aim.address == 0 && !off_tile) return {Target::l1, *at};
    return {};
  }

  uint32_t register_at(const NocAim& aim, const Target& to, uint64_t address) {
    if (link_dead || in_reset || silent.count(to.tile)) return ~0u;
    if (to.kind == Target::registers) {
      const bool says_it_is_off = !has(page->contradictions, Contradiction::fused_off_unsaid);
      if (address == kNiuConfig) return (says_it_is_off && is_off(to.tile) ? kNiuTileOff : 0) | 1u << 14;
      if (address == arch->node_id_address || register_readable(*arch, address))
        return emu::register_now(*arch, *page, to.tile, address);
      hazards.push_back("register " + std::to_string(aim.address));
      return ~0u;
    }
    if (address == kArcTelemetryTable) return kTelemetryTable;
    if (address == kArcTelemetryValues) return kTelemetryValues;
    const uint32_t table[] = {1u << 16, 4, 14 | 3u << 16, 34, 35 | 1u << 16, 36 | 2u << 16};
    const auto missing = channel_off();
    const uint32_t channels = options.dram_channels & ~(missing ? 1u << *missing : 0u);
    const uint32_t values[] = {enabled_columns(), 0x3fff, channels, page->aiclk_mhz};
    if (address >= kTelemetryTable && address < kTelemetryTable + sizeof table)
      return table[(address - kTelemetryTable) / 4];
    if (address >= kTelemetryValues && address < kTelemetryValues + sizeof values)
      return values[(address - kTelemetryValues) / 4];
    hazards.push_back("ARC memory " + std::to_string(address));
    return ~0u;
  }
};

struct DriverModel::Descriptor {
  Chip* chip;
  int pid;
  bool observer;  // the program under test
  int flags;
  uint64_t generation;
  uint64_t number;  // order of opening
  PowerState vote;  // validity 0x0F, flags 0: contributes nothing
  bool closed = false;
};

struct DriverModel::Area {
  uint8_t* at;
  size_t bytes;
  int fd;
  bool window;
  uint32_t id;          // of the window
  uint64_t bar_offset;  // of a BAR page
  bool zapped = false;
};

DriverModel::DriverModel() : self_(getpid()), next_fd_(kFirstFd) {
  all_ones_fd_ = memory_file("model-ones", kWindowBytes, 0xff);
  nothing_fd_ = memory_file("model-nothing", 0, 0);
}

DriverModel::~DriverModel() {
  for (const Area& a : areas_) munmap(a.at, a.bytes);
  ::close(all_ones_fd_);
  ::close(nothing_fd_);
}

void DriverModel::add(const ModelNode& node) {
  auto c = std::make_unique<Chip>();
  c->options = node;
  c->admitted = emu::enter(node.card);
  void* page = mmap(nullptr, sizeof(Page), PROT_READ | PROT_WRITE, MAP_SHARED, c->admitted.page.get(), 0);
  if (page == MAP_FAILED) fail("page of the card");
  c->page = static_cast<Page*>(page);
  c->arch = arch_by_name(c->page->arch);
  const std::lock_guard lock(mutex_);
  chips_.push_back(std::move(c));
}

DriverModel::Chip* DriverModel::chip_at(const std::string& path) {
  for (const auto& c : chips_)
    if (c->present && c->path() == path) return c.get();
  return nullptr;
}
DriverModel::Chip& DriverModel::chip(uint32_t ordinal) {
  for (auto c = chips_.rbegin(); c != chips_.rend(); ++c)  // the one that came back
    if ((*c)->options.ordinal == ordinal) return **c;
  throw std::runtime_error("driver model: no such card");
}

bool DriverModel::dead(const Descriptor& d) const {
  return !d.chip->present || (d.chip->at_least(6) && d.generation != d.chip->generation);
}

// --- open and close

int DriverModel::open_as(int pid, const std::string& path, int flags) {
  const std::lock_guard lock(mutex_);
  if (pid == self_) open_flags_.insert(flags);
  const auto real = path.starts_with("/dev/tenstorrent/by-id/") ? std::string() : path;
  Chip* c = chip_at(real);
  if (!c) return -ENOENT;
  if (c->options.open_error) return -c->options.open_error;
  if ((flags & O_ACCMODE) != O_RDONLY && !c->options.writable) return -EACCES;
  if (c->at_least(10))
    for (const auto& [fd, d] : descriptors_)
      if (d->chip == c && ((flags | d->flags) & O_EXCL)) return -EAGAIN;  // waiting is not modelled
  auto d = std::make_unique<Descriptor>();
  d->chip = c;
  d->pid = pid;
  d->observer = pid == self_;
  d->flags = flags;
  d->generation = c->generation;
  d->number = static_cast<uint64_t>(next_fd_);
  if (!(flags & O_APPEND)) d->vote.power_flags = kLegacyVote;
  const int fd = next_fd_++;
  descriptors_[fd] = std::move(d);
  if (c->at_least(6) && !(flags & O_APPEND) && !c->in_reset) send_power(*c);
  return fd;
}

void DriverModel::close(int fd) {
  const std::lock_guard lock(mutex_);
  const auto it = descriptors_.find(fd);
  if (it == descriptors_.end()) return;
  it->second->closed = true;
  release(fd);
}

// The last of descriptor and mappings gives everything back.
void DriverModel::release(int fd) {
  const auto it = descriptors_.find(fd);
  if (it == descriptors_.end() || !it->second->closed) return;
  for (const Area& a : areas_)
    if (a.fd == fd) return;
  Chip& c = *it->second->chip;
  std::erase_if(c.owner, [fd](const auto& w) { return w.second == fd; });
  std::erase_if(c.locks, [fd](const auto& l) { return l.second == fd; });
  const bool voted = it->second->vote.power_flags || it->second->vote.validity != 0x0F;
  descriptors_.erase(it);
  const bool others = std::any_of(descriptors_.begin(), descriptors_.end(),
                                  [&](const auto& d) { return d.second->chip == &c; });
  if (!c.at_least(6) || !c.present || c.in_reset || !voted) return;  // who never voted is not missed
  // The very last one of a Wormhole is given some time in which another may come (idle_power_down_grace_ms).
  if (!others && c.at_least(9) && c.arch->name == "wormhole_b0")
    c.powers_down_later = true;
  else
    send_power(c);
}

void DriverModel::grace_over(uint32_t ordinal) {
  const std::lock_guard lock(mutex_);
  Chip& c = chip(ordinal);
  if (std::exchange(c.powers_down_later, false) && c.present && !c.in_reset) send_power(c);
}

// Any living descriptor's wish counts; a bit that one does not state counts as wished.
void DriverModel::send_power(Chip& c) {
  uint16_t all = 0;
  for (const auto& [fd, d] : descriptors_) {
    if (d->chip != &c || dead(*d)) continue;
    const auto stated = static_cast<uint16_t>((1u << (d->vote.validity & 0xf)) - 1);
    all = static_cast<uint16_t>(all | (d->vote.power_flags & stated) | (kAllPower & ~stated));
  }
  c.power.push_back(all);
}

// --- ioctl

int DriverModel::ioctl(int fd, Request request, void* argument) {
  const std::lock_guard lock(mutex_);
  const auto it = descriptors_.find(fd);
  if (it == descriptors_.end() || it->second->closed) return -EBADF;
  Descriptor& d = *it->second;
  if (d.observer) ++asked_[request];
  if (!argument) return -EFAULT;
  if (dead(d)) return -ENODEV;
  const bool identity = request == Request::get_device_info || request == Request::get_driver_info;
  if (d.chip->in_reset && d.chip->at_least(6) && !identity) return -ENODEV;
  return answer(d, request, argument);
}

int DriverModel::answer(Descriptor& d, Request request, void* argument) {
  Chip& c = *d.chip;
  switch (request) {
    case Request::get_driver_info: {
      auto& info = *static_cast<DriverInfo*>(argument);
      DriverInfo out;
      out.size = 12;
      out.api_level = c.options.api_level;
      out.major = static_cast<uint8_t>(c.options.major);
      out.minor = static_cast<uint8_t>(c.options.minor);
      out.patch = static_cast<uint8_t>(c.options.patch);
      if (c.options.major < 2) out.size = 8, out.major = out.minor = out.patch = 0;
      std::memset(&info.size, 0, info.out_size);
      std::memcpy(&info.size, &out.size, std::min(info.out_size, out.size));
      return 0;
    }
    case Request::get_device_info: {
      auto& info = *static_cast<DeviceInfo*>(argument);
      DeviceInfo out;
      out.size = 20;
      out.vendor = kPciVendor;
      out.device = c.arch->pci_device;
      unsigned domain = 0, bus = 0, device = 0, function = 0;
      std::sscanf(c.options.pci.c_str(), "%x:%x:%x.%x", &domain, &bus, &device, &function);
      out.pci_domain = static_cast<uint16_t>(domain);
      out.bus_dev_fn = static_cast<uint16_t>(bus << 8 | device << 3 | function);
      out.max_dma_buffer_log2 = 28;
      std::memset(&info.size, 0, info.out_size);
      std::memcpy(&info.size, &out.size, std::min<size_t>(info.out_size, 20));
      return 0;
    }
    case Request::query_mappings: {
      auto& m = *static_cast<Mappings*>(argument);
      for (uint32_t i = 0; i < m.count; ++i) m.mapping[i] = {};
      for (uint32_t i = 0; i < std::min(m.count, 6u); ++i)
        m.mapping[i] = {i + 1, 0, i * kRegion, i < 2 ? kBar0Bytes : 1u << 20};
      return 0;
    }
    case Request::allocate_window:
      return allocate(d, *static_cast<AllocateWindow*>(argument));
    case Request::lock_control: {
      auto& lock = *static_cast<LockControl*>(argument);
      if (lock.operation != 0 || lock.index >= 64) return -EINVAL;
      const auto fd = std::find_if(descriptors_.begin(), descriptors_.end(), [&](const auto& e) {
                        return e.second.get() == &d;
                      })->first;
      lock.value = c.locks.emplace(lock.index, fd).second;
      return 0;
    }
    case Request::free_window:
      return free_window(d, static_cast<FreeWindow*>(argument)->id);
    case Request::configure_window:
      return configure(d, *static_cast<ConfigureWindow*>(argument));
    case Request::set_power_state:
      return c.at_least(6) ? vote(d, *static_cast<PowerState*>(argument)) : -EINVAL;
  }
  return -EINVAL;
}

int DriverModel::allocate(Descriptor& d, AllocateWindow& w) {
  Chip& c = *d.chip;
  if (w.zero) return -EINVAL;
  const auto fd = std::find_if(descriptors_.begin(), descriptors_.end(), [&](const auto& e) {
                    return e.second.get() == &d;
                  })->first;
  for (const WindowClass& k : classes_of(*c.arch)) {
    if (k.bytes != w.bytes) continue;
    for (uint32_t id = k.first; id < k.first + k.count; ++id) {
      if (c.owner.count(id)) continue;
      c.owner[id] = fd;
      w.id = id;
      w.uncached_offset = 6 * kRegion + window_offset(k, id);
      w.combining_offset = 7 * kRegion + window_offset(k, id);
      return 0;
    }
    return -ENOMEM;
  }
  return -EINVAL;
}

int DriverModel::free_window(Descriptor& d, uint32_t id) {
  if (!class_of(*d.chip->arch, id)) return -EINVAL;
  const auto it = d.chip->owner.find(id);
  if (it == d.chip->owner.end() || descriptors_.at(it->second).get() != &d) return -EPERM;
  for (const Area& a : areas_)
    if (a.window && a.id == id && a.fd == it->second) return -EBUSY;
  d.chip->owner.erase(it);
  return 0;
}

int DriverModel::configure(Descriptor& d, const ConfigureWindow& w) {
  Chip& c = *d.chip;
  const WindowClass* k = class_of(*c.arch, w.id);
  if (!k || w.zero) return -EINVAL;
  const auto it = c.owner.find(w.id);
  if (it == c.owner.end() || descriptors_.at(it->second).get() != &d) return -EPERM;
  if (w.aim.address % k->bytes) return -EINVAL;
  if (c.arch->name == "wormhole_b0" && w.aim.address >> 36) return -EINVAL;
  // As the registers hold it, whose fields are narrower than the request's.
  c.aimed[w.id] = k->bytes == kWindowBytes ? decode_window(*c.arch, encode_window(*c.arch, w.aim)) : w.aim;
  if (d.observer) ++c.window_moves;
  if (c.target(c.aimed[w.id]).kind == Target::nowhere)  // the driver takes it; the chip would not
    c.hazards.push_back("aim at (" + std::to_string(w.aim.x_end) + "," + std::to_string(w.aim.y_end) + ") " +
                        std::to_string(w.aim.address));
  for (const Area& a : areas_)
    if (a.window && a.id == w.id && a.fd == it->second && !a.zapped) show(a);
  return 0;
}

int DriverModel::vote(Descriptor& d, const PowerState& v) {
  if (v.argsz != sizeof v || v.flags || v.reserved || v.validity > 0xEF) return -EINVAL;
  d.vote = v;
  send_power(*d.chip);
  return d.chip->options.firmware_votes ? 0 : -EINVAL;
}

// --- mappings

void* DriverModel::map(int fd, uint64_t offset, size_t bytes, int& error) {
  const std::lock_guard lock(mutex_);
  const auto it = descriptors_.find(fd);
  const auto refuse = [&](int why) {
    error = why;
    return nullptr;
  };
  if (it == descriptors_.end() || it->second->closed) return refuse(EBADF);
  Chip& c = *it->second->chip;
  if (dead(*it->second)) return refuse(ENODEV);
  if (c.maps_until_busy && --*c.maps_until_busy == 0) {
    c.maps_until_busy.reset();
    return refuse(ENODEV);
  }
  if (bytes == 0 || offset % 4096) return refuse(EINVAL);
  const uint64_t region = offset / kRegion, inside = offset % kRegion;
  Area a{nullptr, (bytes + 4095) & ~size_t{4095}, fd, region >= 6, 0, inside};
  if (a.window) {
    const WindowClass* found = nullptr;
    for (const WindowClass& k : classes_of(*c.arch))
      for (uint32_t id = k.first; id < k.first + k.count; ++id)
        if (window_offset(k, id) == inside) found = &k, a.id = id;
    if (!found || region > 7 || bytes > found->bytes) return refuse(EINVAL);
    const auto owner = c.owner.find(a.id);
    if (owner == c.owner.end() || owner->second != fd) return refuse(EPERM);
  } else if (region > 1 || inside + bytes > kBar0Bytes) {
    return refuse(EINVAL);
  }
  void* at = mmap(nullptr, a.bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (at == MAP_FAILED) return refuse(errno);
  a.at = static_cast<uint8_t*>(at);
  show(a);
  areas_.push_back(a);
  return at;
}

// What the pages of a mapping hold now.
void DriverModel::show(const Area& a) {
  Chip& c = *descriptors_.at(a.fd)->chip;
  const auto ones = [&] {
    for (size_t done = 0; done < a.bytes; done += kWindowBytes)
      put(a.at + done, std::min<size_t>(a.bytes - done, kWindowBytes), all_ones_fd_, 0);
  };
  if (c.link_dead || c.in_reset) return ones();
  if (!a.window) return put_zeros(a.at, a.bytes);
  const auto aim = c.aimed.find(a.id);
  if (aim == c.aimed.end()) return put_zeros(a.at, a.bytes);
  const Target to = c.target(aim->second);
  if (to.kind != Target::nowhere && c.silent.count(to.tile)) return ones();
  switch (to.kind) {
    case Target::l1: {
      const uint64_t l1 =
          c.arch->kind_at(to.tile) == TileKind::tensix ? c.arch->tensix_l1_bytes : c.arch->ethernet_l1_bytes;
      const size_t there = std::min<size_t>(a.bytes, l1);
      put(a.at, there, c.admitted.memory.get(), emu::tile_offset(*c.arch, to.tile));
      return put_nothing(a.at + there, a.bytes - there);
    }
    case Target::dram:
      return put(a.at, std::min<size_t>(a.bytes, kWindowBytes), c.admitted.memory.get(),
                 emu::channel_offset(*c.arch, *c.arch->channel_at(to.tile)) + aim->second.address);
    case Target::registers:
    case Target::telemetry:
      return put_zeros(a.at, a.bytes);
    default:
      return ones();
  }
}

void DriverModel::unmap(void* at, size_t bytes) {
  const std::lock_guard lock(mutex_);
  const auto it = std::find_if(areas_.begin(), areas_.end(), [&](const Area& a) { return a.at == at; });
  if (it == areas_.end() || it->bytes != ((bytes + 4095) & ~size_t{4095})) {
    ++bad_unmaps_;
    return;
  }
  munmap(it->at, it->bytes);
  const int fd = it->fd;
  areas_.erase(it);
  release(fd);
}

uint32_t DriverModel::load(const volatile uint32_t* at) {
  const uint32_t word = *at;  // first, without the lock: this may be left by a jump
  const std::lock_guard lock(mutex_);
  const auto* byte = reinterpret_cast<const uint8_t*>(const_cast<const uint32_t*>(at));
  for (const Area& a : areas_) {
    if (byte < a.at || byte >= a.at + a.bytes || a.zapped) continue;
    Chip& c = *descriptors_.at(a.fd)->chip;
    const auto offset = static_cast<uint64_t>(byte - a.at);
    if (!a.window) {
      if (c.link_dead || c.in_reset) return ~0u;
      const uint64_t in_bar = a.bar_offset + offset;
      if (in_bar == c.arch->bar0_node_id) return c.arch->name == "blackhole" ? 0x10611002 : 0x1060A280;
      if (c.arch->name == "blackhole" && in_bar == 0x1FD04100) return 1u << 14;
      c.hazards.push_back("BAR0 " + std::to_string(in_bar));
      return ~0u;
    }
    const auto aim = c.aimed.find(a.id);
    if (aim == c.aimed.end()) return word;
    const Target to = c.target(aim->second);
    if (to.kind == Target::registers || to.kind == Target::telemetry)
      return c.register_at(aim->second, to, aim->second.address + offset);
    return word;
  }
  return word;
}

void* DriverModel::map_for_clearing(int fd, uint64_t offset, size_t bytes, int& error) {
  {
    const std::lock_guard lock(mutex_);
    const auto it = descriptors_.find(fd);
    if (it != descriptors_.end() && (it->second->flags & O_ACCMODE) == O_RDONLY) {
      error = EACCES;
      return nullptr;
    }
  }
  return map(fd, offset, bytes, error);
}

// The card does the storing: it lends its memory for reading only.
void DriverModel::clear(volatile uint32_t* words, uint32_t mask) {
  const std::lock_guard lock(mutex_);
  const auto* byte = reinterpret_cast<const uint8_t*>(const_cast<const uint32_t*>(words));
  for (const Area& a : areas_) {
    if (byte < a.at || byte >= a.at + a.bytes || a.zapped || !a.window) continue;
    Chip& c = *descriptors_.at(a.fd)->chip;
    const Target to = c.target(c.aimed.at(a.id));
    const auto address = static_cast<uint32_t>(c.aimed.at(a.id).address + static_cast<uint64_t>(byte - a.at));
    if (to.kind != Target::l1) {
      c.hazards.push_back("a store to what is no L1");
      return;
    }
    const auto writer =
        emu::open_emulated_writer(c.options.card, {{to.tile, to.tile, address, c.page->index_words}});
    if (writer->clear(0, mask) != Access::ok) c.hazards.push_back("a store that the card refused");
  }
}

// --- what happens to cards

// Pages behind the end of a file raise SIGBUS with BUS_ADRERR, as revoked ones of the driver do.
void DriverModel::zap(Chip& c, const Descriptor* but) {
  for (Area& a : areas_) {
    const Descriptor& d = *descriptors_.at(a.fd);
    if (d.chip != &c || &d == but) continue;
    a.zapped = true;
    put(a.at, a.bytes, nothing_fd_, 0);
  }
}

void DriverModel::reset(uint32_t ordinal, int by) {
  const std::lock_guard lock(mutex_);
  Chip& c = chip(ordinal);
  Descriptor* resetter = by < 0 ? nullptr : descriptors_.at(by).get();
  c.in_reset = true;
  ++c.generation;
  if (resetter) resetter->generation = c.generation;
  if (c.at_least(7)) zap(c, resetter);
  if (c.at_least(10))
    std::erase_if(c.owner, [&](const auto& w) { return descriptors_.at(w.second).get() != resetter; });
  for (const Area& a : areas_)
    if (descriptors_.at(a.fd)->chip == &c && !a.zapped) show(a);
}

void DriverModel::post_reset(uint32_t ordinal) {
  const std::lock_guard lock(mutex_);
  Chip& c = chip(ordinal);
  c.in_reset = false;
  for (const Area& a : areas_)
    if (descriptors_.at(a.fd)->chip == &c && !a.zapped) show(a);
}

void DriverModel::hold_reset_lock(uint32_t ordinal, unsigned before) {
  const std::lock_guard lock(mutex_);
  chip(ordinal).maps_until_busy = before + 1;
}

void DriverModel::unplug(uint32_t ordinal) {
  const std::lock_guard lock(mutex_);
  Chip& c = chip(ordinal);
  c.present = false;
  zap(c, nullptr);
}

void DriverModel::break_link(uint32_t ordinal) {
  const std::lock_guard lock(mutex_);
  Chip& c = chip(ordinal);
  c.link_dead = true;
  for (const Area& a : areas_)
    if (descriptors_.at(a.fd)->chip == &c && !a.zapped) show(a);
}

void DriverModel::stall(uint32_t ordinal, uint64_t offset, uint64_t ns, Stall how) {
  const std::lock_guard lock(mutex_);
  struct sigaction action {};
  action.sa_sigaction = on_stall;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGSEGV, &action, nullptr);
  stall_stolen = how == Stall::cpu_stolen;
  stall_ns = ns;
  for (const Area& a : areas_)
    if (descriptors_.at(a.fd)->chip == &chip(ordinal) && a.window &&
        mprotect(a.at + offset, 4096, PROT_NONE) != 0)
      fail("stall");
}

void DriverModel::silence(uint32_t ordinal, Coord tile) {
  const std::lock_guard lock(mutex_);
  Chip& c = chip(ordinal);
  c.silent.insert(tile);
  for (const Area& a : areas_)
    if (descriptors_.at(a.fd)->chip == &c && !a.zapped) show(a);
}

void DriverModel::harvest(uint32_t ordinal, Coord tile) {
  const std::lock_guard lock(mutex_);
  chip(ordinal).off.insert(tile);
}

void DriverModel::take_windows(int fd, unsigned left) {
  const std::lock_guard lock(mutex_);
  Chip& c = *descriptors_.at(fd)->chip;
  for (const WindowClass& k : classes_of(*c.arch)) {
    if (k.bytes != kWindowBytes) continue;
    uint32_t free = 0;
    for (uint32_t id = k.first; id < k.first + k.count; ++id) free += !c.owner.count(id);
    for (uint32_t id = k.first; id < k.first + k.count && free > left; ++id)
      if (c.owner.emplace(id, fd).second) --free;
  }
}

// --- files

std::optional<std::string> DriverModel::read_text(const std::string& path) {
  const std::lock_guard lock(mutex_);
  for (const auto& c : chips_) {
    if (!c->present) continue;
    const std::string n = std::to_string(c->options.ordinal);
    const std::string attributes = "/sys/class/tenstorrent/tenstorrent!" + n + "/";
    if (path == attributes + "tt_card_type")
      return (c->options.card_type.empty() ? std::string(c->page->board) : c->options.card_type) + "\n";
    if (path == attributes + "tt_aiclk") return std::to_string(c->page->aiclk_mhz) + "\n";
    if (path == attributes + "device/hwmon/hwmon3/temp1_input") return "48500\n";
    if (path == attributes + "device/hwmon/hwmon3/power1_input") return "21750000\n";
    if (path == attributes + "tt_asic_id" && !c->options.asic_id.empty()) return c->options.asic_id + "\n";
    if (path == "/proc/driver/tenstorrent/" + n + "/pids" && c->at_least(5)) {
      std::map<uint64_t, int> newest;
      for (const auto& [fd, d] : descriptors_)
        if (d->chip == c.get()) newest[~d->number] = d->pid;
      std::string text;
      for (const auto& [number, pid] : newest) text += std::to_string(pid) + "\n";
      return text;
    }
  }
  if (path.starts_with("/proc/") && path.ends_with("/comm") && path != "/proc/self/comm") return "workload\n";
  return std::nullopt;
}

std::optional<std::string> DriverModel::resolved(const std::string& path) {
  const std::lock_guard lock(mutex_);
  for (const auto& c : chips_) {
    if (!c->present) continue;
    const std::string n = std::to_string(c->options.ordinal);
    const std::string arch = c->arch->name == "blackhole" ? "blackhole-" : "wormhole-";
    if (path == c->path() || path == "/dev/tenstorrent/by-id/" + arch + c->options.asic_id) return c->path();
    if (path == "/sys/class/tenstorrent/tenstorrent!" + n + "/device")
      return "/sys/devices/pci0000:00/" + c->options.pci;
  }
  if (path == "/dev/null") return path;
  return std::nullopt;
}

std::vector<std::string> DriverModel::entries(const std::string& directory) {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> names;
  for (const auto& c : chips_)
    if (c->present && directory == "/sys/class/tenstorrent/tenstorrent!" +
                                       std::to_string(c->options.ordinal) + "/device/hwmon")
      return {"hwmon3"};
  if (directory != "/dev/tenstorrent") return names;
  names.emplace_back("by-id");
  for (const auto& c : chips_)
    if (c->present) names.push_back(std::to_string(c->options.ordinal));
  return names;
}

// --- for the tests

DriverModel::State DriverModel::state(uint32_t ordinal) {
  const std::lock_guard lock(mutex_);
  Chip& c = chip(ordinal);
  State s;
  for (const auto& [id, fd] : c.owner) s.windows_taken.push_back(id);
  for (const auto& [fd, d] : descriptors_) s.descriptors += d->chip == &c;
  for (const Area& a : areas_) s.mappings += descriptors_.at(a.fd)->chip == &c;
  s.power_messages = c.power;
  s.window_moves = c.window_moves;
  s.hazards = c.hazards;
  return s;
}
std::map<Request, unsigned> DriverModel::asked() {
  const std::lock_guard lock(mutex_);
  return asked_;
}
std::set<int> DriverModel::open_flags() {
  const std::lock_guard lock(mutex_);
  return open_flags_;
}
unsigned DriverModel::bad_unmaps() {
  const std::lock_guard lock(mutex_);
  return bad_unmaps_;
}

}  // namespace ttc::card::kmd
