// The simulation's state of each RISC, core and resource while a program runs.
#pragma once
#include <array>
#include <string>
#include <utility>

#include "tools/chip/machine.hpp"

namespace ttc::chip {

inline constexpr unsigned kDeepestLoop = 4;
inline constexpr uint32_t kNobody = ~uint32_t{0};

inline uint64_t mixed(uint64_t x) {  // splitmix64
  x += 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

struct Resource {
  Cycles free = 0;
  uint32_t moment = kNoCause;  // when it became free last
};

enum class Phase : uint8_t {
  launch,
  start,
  fw,
  kernel,
  body,
  kernel_end,
  riscs,
  wrap_up,
  fw_end,
  push,
  finish,
  over
};

struct Thread {
  uint16_t core = 0;        // of the program's cores
  uint16_t shape_core = 0;  // of Shape::cores
  uint8_t risc = 0;
  Phase phase = Phase::over;
  uint8_t loops = 0;
  bool blocked = false;
  bool checked = false;       // by the watcher: the command that comes next
  uint32_t pc = 0, turn = 0;  // turn: of the channels
  const Code* code = nullptr;
  Cycles now = 0;
  uint32_t moment = kNoCause;  // the last one of this RISC
  Cycles moment_at = 0;
  Cycles arrived = 0, sent = 0;       // of its transfers the last
  uint32_t arrived_after = kNoCause;  // it has passed its port
  uint32_t sent_moment = kNoCause;
  uint64_t dice = 0;
  uint8_t waits_for = 0;                                           // buffer or semaphore
  std::array<std::pair<uint32_t, uint32_t>, kDeepestLoop> loop{};  // first instruction, turns left
};

struct Buffer {
  uint32_t filled = 0;
  uint32_t producer = kNobody, consumer = kNobody;  // that wait
};
struct Semaphore {
  uint32_t value = 0, wanted = 0, waiter = kNobody;
};
struct Core {
  std::array<Buffer, kBuffers> buffer;
  std::array<Semaphore, kSemaphores> semaphore;
  std::array<std::array<Resource, 2>, 2> port;  // by NoC and direction
  std::array<uint32_t, kCommands> delayed{};
  std::array<Race, 2> race;  // by kind, of what is sent to this core
  uint32_t first_thread = 0, riscs_running = 0;
  uint32_t master = kNobody;  // BRISC, while it waits for the others
};

// The state of a RISC that makes no further progress (standing.cpp).
Standing::At standing_of(const Thread& thread);
std::string sentence_about(const Thread& thread);

inline constexpr uint8_t kPosted = 0xff;  // instead of a semaphore

struct Delivery {
  uint16_t core;
  uint8_t semaphore;
  uint8_t risc;      // that sent it
  bool behind_data;  // `moment` is the arrival, otherwise the sending
  uint32_t n, moment;
  uint16_t from;  // of Shape::cores
};

}  // namespace ttc::chip
