// The emulated card's inside: what it holds, how it is made (emu_making.cpp) and what its server thread does for observers
// (emu_serving.cpp).
#pragma once
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "driver_iface/card/fd.hpp"
#include "driver_iface/emu/emu_access.hpp"
#include "driver_iface/emu/emu_wire.hpp"
#include "driver_iface/emulated_card.hpp"

namespace ttc::card {

[[noreturn]] void emulated_card_fails(const std::string& what);  // throws OpenError, with errno's text

inline constexpr uint32_t kWindowPool = 10;  // windows of the 2 MiB class
inline constexpr uint32_t kOneWindow = 1;    // contradicted

struct EmulatedCard::Impl {
  struct Client {
    Fd socket;
    uint32_t windows = 0;
    std::unique_ptr<emu::AccessLayer> layer;  // strict: what the card does on the observer's behalf
    bool writes = false;                      // it may clear index words
  };

  explicit Impl(const EmulatedCardOptions& o);
  ~Impl();
  void describe(const Board& board);
  // Checks a row or column that is to be fused off: `at` gives its tiles.
  template <class At>
  void must_have_tensix(uint8_t number, uint8_t tiles_in_it, At at) const;
  void harvest(const Board& board);
  void harvest_memory(const Board& board);

  void listen_for_observers();
  void serve();
  bool watched() const;
  void announce_reset(uint32_t i);
  bool reset_is_free() const;
  void act_on_faults();
  void hit(FaultKind kind);
  void unplug();
  void reset_chip();
  void accept_observer();
  uint32_t windows_taken() const;
  bool windows_withheld();
  bool answer(Client& client);
  bool grant_writer(Client& client);
  Access clear(const Client& client, const emu::Request& r) const;
  bool greet(Client& client, const emu::Request& r);
  bool reply(const Client& client, const emu::Answer& a, std::span<uint8_t> payload, bool with_descriptors);

  bool contradicts(Contradiction one) const { return has(options.contradictions, one); }
  uint32_t window_pool() const { return contradicts(Contradiction::few_windows) ? kOneWindow : kWindowPool; }

  std::atomic<uint32_t>& word(uint64_t offset) const {
    return *reinterpret_cast<std::atomic<uint32_t>*>(memory + offset);
  }
  uint64_t view_offset(uint32_t view, uint64_t address) const {
    const DramView& v = views[view];
    return emu::channel_offset(*arch, v.channel) + v.offset + address;
  }

  EmulatedCardOptions options;
  const Arch* arch = nullptr;
  uint64_t total_bytes = 0;
  Fd memory_fd, memory_read_only, page_fd, page_read_only, listener, wake;
  uint8_t* memory = nullptr;
  emu::Page* page = nullptr;
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

}  // namespace ttc::card
