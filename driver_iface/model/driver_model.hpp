// A model of the kernel driver for tests: the rules of tt-kmd's interface as they were measured on the real
// driver (tt-kmd 2.10 in a virtual machine), with emulated cards as the chips behind its nodes. Never linked
// into a shipped program.
//
// What is real: mappings (of the emulated card's memory, re-aimed under the reader), SIGBUS on revoked ones,
// SIGSEGV on stores and on loads behind the end of L1. What is computed: registers. What is not modelled:
// DMA, blocking locks, waiting in open(), passing time, firmware's reactions, latency.
//
// Thread-safe. Other processes are descriptors opened with another pid.
#pragma once
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "driver_iface/arch.hpp"
#include "driver_iface/kmd/kmd_system.hpp"

namespace ttc::card::kmd {

struct ModelNode {
  std::string card;  // name of a running emulated card (not strict)
  uint32_t ordinal = 0;
  std::string pci = "0000:01:00.0";
  std::string card_type;             // tt_card_type; empty: the emulated card's board
  std::string asic_id = "0123ABCD";  // empty: firmware does not report it
  unsigned major = 2, minor = 10, patch = 1;
  uint32_t api_level = 2;
  int open_error = 0;             // errno: EACCES for a user without permission
  bool firmware_votes = true;     // takes power messages
  bool telemetry = true;          // Blackhole: the table is there
  uint32_t dram_channels = 0xff;  // tag 36
  bool memory_in_order = false;   // Blackhole lacking a channel: the others as tt-umd numbered them in 2024
  bool writable = true;           // for users other than root
  bool simulator_memory = false;  // Blackhole's channels are numbered as the public simulator does
};

class DriverModel : public System {
 public:
  DriverModel();
  ~DriverModel() override;

  void add(const ModelNode& node);

  // --- the observer's side: what a program under test calls
  int open(const std::string& path, int flags) override { return open_as(self_, path, flags); }
  void close(int fd) override;
  int ioctl(int fd, Request request, void* argument) override;
  void* map(int fd, uint64_t offset, size_t bytes, int& error) override;
  void unmap(void* at, size_t bytes) override;
  uint32_t load(const volatile uint32_t* at) override;
  void* map_for_clearing(int fd, uint64_t offset, size_t bytes, int& error) override;
  void clear(volatile uint32_t* words, uint32_t mask) override;
  std::optional<std::string> read_text(const std::string& path) override;
  std::optional<std::string> resolved(const std::string& path) override;
  std::vector<std::string> entries(const std::string& directory) override;
  std::string notice_directory() override { return notice_directory_; }
  void set_notice_directory(std::string directory) { notice_directory_ = std::move(directory); }

  // --- other processes
  int open_as(int pid, const std::string& path, int flags);
  // Every free window of the 2 MiB class but `left`.
  void take_windows(int fd, unsigned left);

  // --- what happens to cards
  // ASIC_RESET by `by` (a descriptor, or -1 for one opened for it): until post_reset() the chip is not there.
  void reset(uint32_t ordinal, int by = -1);
  void post_reset(uint32_t ordinal);
  // A reset elsewhere holds the chip's lock: after `before` mappings the next one gets ENODEV, though its descriptor
  // is good, because the driver takes that lock by trylock in mmap (tt-kmd memory.c).
  void hold_reset_lock(uint32_t ordinal, unsigned before);
  // Models that enough time has passed since the last descriptor was closed for a Wormhole's driver to power it down
  // (from 2.9 on).
  void grace_over(uint32_t ordinal);
  void unplug(uint32_t ordinal);
  void break_link(uint32_t ordinal);  // every load gives all-ones, no word from the driver
  // The next load of the 4 KiB at this offset of any window holds its CPU for so long, then succeeds. Stolen: the card answers at
  // once, and the thread gets no CPU for so long, as where the host of a virtual machine runs something else.
  enum class Stall { card_slow, cpu_stolen };
  void stall(uint32_t ordinal, uint64_t offset, uint64_t ns, Stall how = Stall::card_slow);
  void silence(uint32_t ordinal, Coord tile);
  void harvest(uint32_t ordinal, Coord tile);  // its clock is off, whatever the emulated card has

  // --- what the tests examine
  struct State {
    std::vector<uint32_t> windows_taken;
    size_t descriptors = 0, mappings = 0;
    std::vector<uint16_t> power_messages;  // aggregates sent to firmware, in order
    uint64_t window_moves = 0;             // CONFIGURE calls that changed something
    std::vector<std::string> hazards;      // what would hurt silicon: aims at no tile, at fused-off memory
  };
  State state(uint32_t ordinal);
  std::map<Request, unsigned> asked();  // ioctls so far, of the observer's side
  std::set<int> open_flags();           // ever used by the observer's side
  unsigned bad_unmaps();                // that would have split a mapping, or were of no mapping

 private:
  struct Chip;
  struct Descriptor;
  struct Area;
  Chip* chip_at(const std::string& path);
  Chip& chip(uint32_t ordinal);
  int answer(Descriptor& d, Request request, void* argument);
  int allocate(Descriptor& d, AllocateWindow& w);
  int configure(Descriptor& d, const ConfigureWindow& w);
  int free_window(Descriptor& d, uint32_t id);
  int vote(Descriptor& d, const PowerState& v);
  void show(const Area& area);
  void zap(Chip& chip, const Descriptor* but);
  void release(int fd);
  bool dead(const Descriptor& d) const;
  void send_power(Chip& chip);

  std::mutex mutex_;
  int self_;
  int next_fd_;
  std::string notice_directory_;
  std::vector<std::unique_ptr<Chip>> chips_;
  std::map<int, std::unique_ptr<Descriptor>> descriptors_;
  std::vector<Area> areas_;
  std::map<Request, unsigned> asked_;
  std::set<int> open_flags_;
  unsigned bad_unmaps_ = 0;
  int all_ones_fd_ = -1, nothing_fd_ = -1;
};

}  // namespace ttc::card::kmd
