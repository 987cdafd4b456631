// Fetches words of a core's DRAM logs. Two implementations with one meaning: through the payload window, or as reads of
// the card's descriptor submitted to the event loop in one batch. Neither checks the words.
#pragma once
#include <cstdint>
#include <memory>
#include <span>

#include "collector/io/event_loop.hpp"
#include "driver_iface/card.hpp"

namespace ttc::collect {

struct LogRead {
  uint32_t bank;            // DRAM view
  uint64_t address;         // inside the view, a multiple of 8
  std::span<uint64_t> out;  // may be ring memory
};

class LogReader {
 public:
  virtual ~LogReader() = default;
  virtual card::Access read(std::span<const LogRead> reads) = 0;
};

std::unique_ptr<LogReader> window_log_reader(card::Card& card);
// Reads cards whose memory is a readable descriptor.
std::unique_ptr<LogReader> descriptor_log_reader(card::Card& card, EventLoop& loop);

}  // namespace ttc::collect
