// A card in front of another that keeps what was read of it, so that the same reads can be made again without the drain: what the
// card itself takes of a time that was measured.
#pragma once
#include <memory>
#include <utility>
#include <vector>

#include "bench/machine.hpp"
#include "driver_iface/card.hpp"

namespace ttc::bench {

class AccessLog : public card::Card {
 public:
  explicit AccessLog(std::unique_ptr<card::Card> card) : card_(std::move(card)) {}

  void begin() { accesses_.clear(); }
  // Makes the accesses since begin() once more. Returns how long that took, in nanoseconds.
  uint64_t repeat_ns() {
    const uint64_t begun = now_ns();
    for (const Access& a : accesses_) repeat(a);
    return now_ns() - begun;
  }

  card::Access aim(card::Window window, card::Coord tile, uint64_t address) override {
    accesses_.push_back({Access::aim, window, {}, tile, address, 0});
    return card_->aim(window, tile, address);
  }
  card::Access load_registers(card::Window window, uint32_t offset, std::span<uint32_t> out) override {
    accesses_.push_back({Access::registers, window, {}, {}, offset, out.size()});
    return card_->load_registers(window, offset, out);
  }
  card::Access copy(card::Window window, uint32_t offset, std::span<uint64_t> out) override {
    accesses_.push_back({Access::copy, window, {}, {}, offset, out.size()});
    return card_->copy(window, offset, out);
  }
  card::Access one_load(card::Window window, card::Memory memory, uint32_t offset,
                        std::span<uint32_t> out) override {
    accesses_.push_back({Access::one_load, window, memory, {}, offset, out.size()});
    return card_->one_load(window, memory, offset, out);
  }
  card::Access wall_clock(card::Coord tile, uint64_t& cycles) override {
    accesses_.push_back({Access::clock, {}, {}, tile, 0, 0});
    return card_->wall_clock(tile, cycles);
  }

  const card::Identity& identity() const override { return card_->identity(); }
  int workload_pid() override { return card_->workload_pid(); }
  std::span<const card::Tile> tiles() const override { return card_->tiles(); }
  card::Health health() override { return card_->health(); }
  uint64_t line_allowance_ns() const override { return card_->line_allowance_ns(); }
  card::Health check() override { return card_->check(); }
  int hangup_fd() const override { return card_->hangup_fd(); }
  card::Coord noc_place(card::Coord tile) const override { return card_->noc_place(tile); }
  unsigned memory_numberings() const override { return card_->memory_numberings(); }
  void use_memory_numbering(unsigned way) override { card_->use_memory_numbering(way); }
  std::optional<card::DescriptorRange> descriptor_range(card::Coord tile, uint64_t address,
                                                        uint32_t bytes) override {
    return card_->descriptor_range(tile, address, bytes);
  }
  card::Access release(const card::DescriptorRange& range, std::span<const uint64_t> bytes_read) override {
    return card_->release(range, bytes_read);
  }
  card::Telemetry telemetry() override { return card_->telemetry(); }
  card::Transactions transactions() const override { return card_->transactions(); }
  card::Access doubt(card::Coord tile) override { return card_->doubt(tile); }

 private:
  struct Access {
    enum Kind : uint8_t { aim, registers, copy, one_load, clock } kind;
    card::Window window;
    card::Memory memory;
    card::Coord tile;
    uint64_t at;   // address or offset
    size_t items;  // of what is loaded
  };

  void repeat(const Access& a) {
    words_.resize(std::max(words_.size(), a.items));
    const auto offset = static_cast<uint32_t>(a.at);
    const std::span<uint32_t> halves(reinterpret_cast<uint32_t*>(words_.data()), a.items);
    uint64_t cycles = 0;
    switch (a.kind) {
      case Access::aim:
        card_->aim(a.window, a.tile, a.at);
        break;
      case Access::registers:
        card_->load_registers(a.window, offset, halves);
        break;
      case Access::copy:
        card_->copy(a.window, offset, std::span(words_.data(), a.items));
        break;
      case Access::one_load:
        card_->one_load(a.window, a.memory, offset, halves);
        break;
      case Access::clock:
        card_->wall_clock(a.tile, cycles);
        break;
    }
  }

  std::unique_ptr<card::Card> card_;
  std::vector<Access> accesses_;
  std::vector<uint64_t> words_;
};

}  // namespace ttc::bench
