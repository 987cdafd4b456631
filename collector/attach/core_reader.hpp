// Reads a card whose profiler was found, as values: words of control vectors, buffers in L1, logs in DRAM. Which words these
// are depends on the layout. Pure but for the port. An error means that the card or the tile cannot be read.
#pragma once
#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "collector/attach/attach.hpp"
#include "collector/attach/card_port.hpp"
#include "firmware_markers/control_vector.hpp"

namespace ttc::collect {

// Words of a control vector, not read at one moment. Every index was read after RUN_COUNTER, or together with it.
struct ControlSample {
  std::array<uint32_t, device::kMaxRiscs> host_end{};
  // DEVICE_END, where it was to be read; before host_end.
  std::array<uint32_t, device::kMaxRiscs> stored{};
  uint32_t run_counter = 0;
  uint64_t read_time_ns = 0;

  // Something was pushed, and no host reset shows.
  bool only_grown_since(const ControlSample& before) const;
  bool empty() const {
    return run_counter == 0 &&
           std::all_of(host_end.begin(), host_end.end(), [](uint32_t words) { return words == 0; });
  }
};

// What the host writes when it sets the profiler up.
struct FirmwareIdentity {
  uint32_t dram_address = 0, flat_id = 0, core_count_per_dram = 0;
  bool read_by_host = false;  // a results read has set the per-RISC addresses
};

// The guaranteed slots of a RISC's buffer and its first custom marker.
struct L1Slots {
  std::array<uint32_t, 10> words{};
  // The time in the buffer at word `word` (device::kFwStartWord...); 0: the slot is not set.
  uint64_t time_of(uint32_t word) const;
  // A marker that is later than `since` is there.
  bool holds_later(uint32_t word, uint64_t since) const;
};

class CoreReader {
 public:
  // All must outlive the reader. A layout or size that is found out later counts from then on.
  CoreReader(CardPort& port, const Attachment& attachment);
  void use_log_bytes(uint32_t bytes) { log_bytes_ = bytes; }  // of each lane

  // `begun_ns`: the time now, where the caller has just read it. A reading costs as much as a sixth of a poll of an idle core.
  card::Expected<ControlSample> sample(const AttachedCore& core, bool with_stored,
                                       std::optional<uint64_t> begun_ns = {}) const;
  // One line, that of RUN_COUNTER, or of the indices where no run was recorded: no index, or count, is below that of `before`.
  card::Expected<bool> not_rewound(const AttachedCore& core, const ControlSample& before) const;
  card::Expected<uint32_t> dropped(const AttachedCore& core) const;
  card::Expected<uint32_t> stored_by_brisc(const AttachedCore& core) const;
  card::Expected<FirmwareIdentity> identity(const AttachedCore& core) const;
  // Older firmware does not show it: true.
  card::Expected<bool> host_has_read(const AttachedCore& core) const;
  card::Expected<markers::ControlVector> vector(const AttachedCore& core) const;

  card::Expected<std::vector<uint32_t>> buffer(const AttachedCore& core, uint32_t risc) const;
  card::Expected<L1Slots> slots(const AttachedCore& core, uint32_t risc,
                                bool with_first_marker = false) const;
  // The buffer's first custom marker, in a buffer that holds no other marker.
  using FirstMarker = std::array<uint32_t, device::kFirstCustomWord + 2>;
  card::Expected<FirstMarker> first_marker(const AttachedCore& core, uint32_t risc) const;

  // Unchecked: words from `first` on, and a stretch of L1, whose address is a multiple of 8.
  card::Access control_words(const AttachedCore& core, uint32_t first, std::span<uint32_t> words) const;
  card::Access l1(const AttachedCore& core, uint32_t address, std::span<uint64_t> into) const;
  card::Access memory(const LogRead& read) const { return port_.logs({&read, 1}); }
  void use_memory_numbering(unsigned way) const { port_.use_memory_numbering(way); }
  // The clock of a Tensix tile: Ethernet tiles may count from another origin.
  card::Expected<uint64_t> wall_clock() const { return port_.wall_clock(clock_tile_); }
  uint64_t now_ns() const { return port_.now_ns(); }
  card::Transactions transactions() const { return port_.transactions(); }
  uint64_t line_allowance_ns() const { return port_.line_allowance_ns(); }
  card::Access doubt_tile(const AttachedCore& core) const { return port_.doubt_tile(core.at); }
  card::Access doubt_bank(const AttachedCore& core) const { return port_.doubt_bank(core.bank); }
  card::Access clear_indices(size_t place, uint32_t lanes) const { return port_.clear_indices(place, lanes); }

  LogRead log_read(const AttachedCore& core, uint32_t risc, uint32_t word, std::span<uint64_t> into) const {
    return {core.bank, log_address(core, risc, word), into};
  }
  card::Access log(const AttachedCore& core, uint32_t risc, uint32_t word, std::span<uint64_t> into) const;
  card::Access logs(std::span<const LogRead> reads) const { return port_.logs(reads); }
  uint64_t log_address(const AttachedCore& core, uint32_t risc, uint32_t word) const;
  // A load that was not answered. No four words of a frame are all-ones but those of one rare payload.
  static bool silent(std::span<const uint32_t> words);

 private:
  // A run of control words that is fetched in one go: an even number of them, from an even one on.
  struct Part {
    uint32_t first_word = 0, words = 0;
  };
  static Part part(uint32_t first, uint32_t last);
  card::Access read_part(const AttachedCore& core, const Part& part, std::span<uint32_t> words) const;
  const device::Format& format() const { return attachment_.layout->format; }
  uint32_t last_address_word() const;

  CardPort& port_;
  const Attachment& attachment_;
  uint32_t log_bytes_ = 0;
  card::Coord clock_tile_;
  std::vector<Part> poll_parts_;
};

}  // namespace ttc::collect
