#include "driver_iface/model/driver_model.hpp"

#include <fcntl.h>
#include <sys/mman.h>
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
#include "driver_iface/model/model_chip.hpp"
#include "driver_iface/model/model_memory.hpp"
#include "driver_iface/model/window_registers.hpp"

namespace ttc::card::kmd {
namespace {

constexpr int kFirstFd = 1'000'000;              // no descriptor of the process can be meant
constexpr uint64_t kRegion = uint64_t{1} << 36;  // of mmap offsets; 0 BAR0 UC, 6 windows UC, 7 windows WC
constexpr uint64_t kBar0Bytes = 512u << 20;
constexpr uint16_t kAllPower = 0x7FFF;
constexpr uint16_t kLegacyVote = 0x7FFE;

}  // namespace

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
  if (page == MAP_FAILED) model_fails("page of the card");
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
  // The aim is stored as the registers hold it, whose fields are narrower than the request's.
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
    case Target::timer:
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
    if (to.kind == Target::registers || to.kind == Target::telemetry || to.kind == Target::timer)
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

}  // namespace ttc::card::kmd
