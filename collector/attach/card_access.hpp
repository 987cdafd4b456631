// The way to a card: the only access to it that collecting has.
#pragma once
#include "collector/attach/card_port.hpp"
#include "driver_iface/index_writer.hpp"
#include "ttcollect/host_time.hpp"

namespace ttc::collect {

class CardAccess : public CardPort {
 public:
  // All must outlive it. `writer` null: stores are refused.
  CardAccess(card::Card& card, LogReader& logs, HostClock clock, card::IndexWriter* writer)
      : card_(card), logs_(logs), clock_(std::move(clock)), writer_(writer) {}

  uint64_t now_ns() override { return clock_(); }
  card::Expected<uint64_t> wall_clock(card::Coord tile) override;
  card::Access l1(card::Coord tile, uint32_t address, std::span<uint64_t> into) override;
  card::Access logs(std::span<const LogRead> reads) override { return logs_.read(reads); }
  void use_memory_numbering(unsigned way) override { card_.use_memory_numbering(way); }
  card::Access doubt_tile(card::Coord tile) override { return card_.doubt(tile); }
  card::Access doubt_bank(uint32_t bank) override;
  card::Access clear_indices(size_t place, uint32_t lanes) override;
  card::Transactions transactions() override { return card_.transactions(); }
  uint64_t line_allowance_ns() override { return card_.line_allowance_ns(); }

 private:
  card::Card& card_;
  LogReader& logs_;
  HostClock clock_;
  card::IndexWriter* writer_;
};

}  // namespace ttc::collect
