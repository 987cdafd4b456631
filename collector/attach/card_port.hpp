// The only access of the drain, recycling and the search for the logs' size to the outside: reads of a card, one kind of store, and
// the host's clock. Their results are a function of what passed through here, in this order. Tests record it and play it back;
// card_access.hpp implements it with a card. An answer other than `ok` means that the card or the tile cannot be read.
#pragma once
#include <cstdint>
#include <span>

#include "collector/io/log_reader.hpp"
#include "driver_iface/expected.hpp"

namespace ttc::collect {

class CardPort {
 public:
  virtual ~CardPort() = default;
  CardPort() = default;
  CardPort(const CardPort&) = delete;
  CardPort& operator=(const CardPort&) = delete;

  virtual uint64_t now_ns() = 0;
  // `tile` is a Tensix tile.
  virtual card::Expected<uint64_t> wall_clock(card::Coord tile) = 0;
  // `address` and the length are multiples of 8.
  virtual card::Access l1(card::Coord tile, uint32_t address, std::span<uint64_t> into) = 0;
  virtual card::Access logs(std::span<const LogRead> reads) = 0;
  virtual void use_memory_numbering(unsigned way) = 0;
  // What was read looked wrong.
  virtual card::Access doubt_tile(card::Coord tile) = 0;
  virtual card::Access doubt_bank(uint32_t bank) = 0;
  // Stores 0 to the index of each lane in `lanes`, of the core that is `place` of the attachment's.
  virtual card::Access clear_indices(size_t place, uint32_t lanes) = 0;
  // What was read and waited for so far.
  virtual card::Transactions transactions() = 0;
  // The longest that one line reasonably takes.
  virtual uint64_t line_allowance_ns() = 0;
};

}  // namespace ttc::collect
