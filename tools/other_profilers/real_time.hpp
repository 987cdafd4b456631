// tt-metal's real-time profiler, watched from outside: its ring of one record a program, in the L1 of a Tensix core that the workload has
// reserved (tt-metal REALTIME_PROFILER.md@01c8afe): three index words, padding to 64 bytes, 4,096 slots of 64 bytes. The workload's own
// reader owns the read index; slots stay readable until the ring comes round. Nothing is written here.
//
// The ring's address differs between versions and is nowhere announced: it is found by its content. Later versions have a ring of 16
// records in the dispatcher's L1 instead, whose offsets are not public; it is not looked for.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

namespace ttc::other_profilers {

inline constexpr uint32_t kRealTimeSlots = 4096, kRealTimeSlotBytes = 64, kRealTimeHeadBytes = 64;
inline constexpr uint32_t kRealTimeBytes = kRealTimeHeadBytes + kRealTimeSlots * kRealTimeSlotBytes;

struct OpRecord {
  uint32_t index = 0;           // of the record since the ring was set up
  uint32_t runtime_id = 0;      // 16 bits of the program's
  bool sync = false;            // a sample of the clock, no program
  uint64_t start = 0, end = 0;  // cycles of the tile clock
};

// Copies bytes of the reserved core's L1, at a multiple of 8, a multiple of 8 long. False: they could not be read.
using ReadL1 = std::function<bool(uint32_t address, std::span<uint64_t> out)>;

// The address of a ring within `image`, L1 from `address` (a multiple of 64) on: by its indices, its padding and the order of its
// latest records, of which there must be enough to be sure.
std::optional<uint32_t> find_real_time_ring(std::span<const uint64_t> image, uint32_t address);

class RealTimeRing {
 public:
  RealTimeRing(ReadL1 read, uint32_t address) : read_(std::move(read)), address_(address) {}

  // Records since the last poll, or what is left of them; false: L1 could not be read. The first poll begins with what the ring holds.
  bool look(std::vector<OpRecord>& records);

  uint32_t address() const { return address_; }
  uint64_t records() const { return records_; }
  uint64_t missed() const { return missed_; }      // were overwritten before they were read
  uint64_t doubtful() const { return doubtful_; }  // were read, and end before they start
  uint64_t restarts() const { return restarts_; }
  bool terminated() const { return terminated_; }

 private:
  bool read_index(uint32_t& written);

  ReadL1 read_;
  uint32_t address_;
  std::optional<uint32_t> next_;
  uint64_t records_ = 0, missed_ = 0, doubtful_ = 0, restarts_ = 0;
  bool terminated_ = false;
};

}  // namespace ttc::other_profilers
