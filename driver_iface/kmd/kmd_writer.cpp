#include "driver_iface/kmd/kmd_writer.hpp"

#include <fcntl.h>

#include <cerrno>
#include <cstring>
#include <optional>

#include "driver_iface/kmd/kmd_copy.hpp"
#include "driver_iface/kmd/kmd_fault.hpp"
#include "driver_iface/kmd/kmd_node.hpp"

namespace ttc::card::kmd {
namespace {

constexpr uint8_t kStrictOrder = 1;  // a load through the window does not pass a store through it

class KmdWriter : public IndexWriter {
 public:
  KmdWriter(System& system, const std::string& spec, std::vector<ClearableWords> places)
      : IndexWriter(std::move(places)), system_(system) {
    const Node node = node_of(system, spec);
    // O_APPEND and O_NONBLOCK as for reading: no power vote by opening, no wait for an exclusive holder.
    fd_ = system.open(node.path, O_RDWR | O_APPEND | O_CLOEXEC | O_NONBLOCK);
    if (fd_ == -EACCES || fd_ == -EPERM)
      throw OpenError(spec + ": no permission to write to " + node.path +
                      "; recycling needs it (the driver's udev rule lets everybody)");
    if (fd_ < 0)
      throw OpenError(spec + ": opening " + node.path + " for writing failed: " + std::strerror(-fd_));
    try {
      take_lock(spec);
      take_window(spec, node);
    } catch (const OpenError&) {
      release();
      throw;
    }
  }
  ~KmdWriter() override { release(); }

  Access clear(size_t place, uint32_t mask) override {
    if (fd_ < 0) return Access::gone;
    if (!may_clear(place, mask)) return Access::refused;
    const ClearableWords& at = places()[place];
    const uint64_t base = at.address & ~uint64_t{kWindowBytes - 1};
    if (at.address - base + 4 * at.words > kWindowBytes) return Access::refused;
    if (!aimed_ || aimed_->aim_x != at.noc.x || aimed_->aim_y != at.noc.y || aimed_->base != base) {
      ConfigureWindow c;
      c.id = window_.id;
      c.aim.address = base;
      c.aim.x_end = at.noc.x;
      c.aim.y_end = at.noc.y;
      c.aim.ordering = kStrictOrder;
      aimed_.reset();
      const int error = system_.ioctl(fd_, Request::configure_window, &c);
      if (error) return error == -ENODEV ? Access::gone : Access::refused;
      aimed_ = {base, at.noc.x, at.noc.y};
    }
    auto* words = reinterpret_cast<volatile uint32_t*>(memory_ + (at.address - base));
    System* system = &system_;
    fence();
    // The one store to a card there is. The load behind it brings it to the tile before anything else is
    // read.
    const bool done = caught(words, 4 * at.words, [system, words, mask] {
      system->clear(words, mask);
      fence();
      (void)system->load(words);
    });
    return done ? Access::ok : Access::gone;
  }

 private:
  struct Aimed {
    uint64_t base;
    uint16_t aim_x, aim_y;
  };

  void take_lock(const std::string& spec) {
    LockControl lock;
    lock.index = kWriterLock;
    const int error = system_.ioctl(fd_, Request::lock_control, &lock);
    if (error)
      throw OpenError(spec + ": the driver gives no lock of the card (" + std::strerror(-error) +
                      "), without which two collectors could recycle it at once");
    if (lock.value != 1)
      throw OpenError(spec + ": another collector recycles this card (it holds the driver's lock " +
                      std::to_string(kWriterLock) + ")");
  }

  void take_window(const std::string& spec, const Node& node) {
    window_.bytes = kWindowBytes;
    int error = system_.ioctl(fd_, Request::allocate_window, &window_);
    if (error == -ENOMEM)
      throw OpenError(spec + ": no third window of 2 MiB is left for recycling; the card is open in " +
                      holders_text(system_, node));
    if (error) throw OpenError(spec + ": no third window of 2 MiB for recycling: " + std::strerror(-error));
    has_window_ = true;
    memory_ = static_cast<volatile uint8_t*>(
        system_.map_for_clearing(fd_, window_.uncached_offset, kWindowBytes, error));
    if (!memory_) throw OpenError(spec + ": mapping a window for recycling failed: " + std::strerror(error));
  }

  void release() {
    if (memory_) system_.unmap(const_cast<uint8_t*>(memory_), kWindowBytes);
    memory_ = nullptr;
    if (has_window_) {
      FreeWindow f{window_.id};
      system_.ioctl(fd_, Request::free_window, &f);  // fails on a dead descriptor: it is free already
    }
    has_window_ = false;
    if (fd_ >= 0) system_.close(fd_);  // with it goes the lock
    fd_ = -1;
  }

  System& system_;
  int fd_ = -1;
  AllocateWindow window_;
  bool has_window_ = false;
  volatile uint8_t* memory_ = nullptr;
  std::optional<Aimed> aimed_;
};

}  // namespace

std::unique_ptr<IndexWriter> open_writer(System& system, const std::string& spec,
                                         std::vector<ClearableWords> places) {
  return std::make_unique<KmdWriter>(system, spec, std::move(places));
}

}  // namespace ttc::card::kmd
