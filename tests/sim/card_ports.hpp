// Ports for tests: one that writes down what came through it, one that plays that back without a card, one that fails a read.
#pragma once
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "collector/attach/card_access.hpp"

namespace ttc::sim {

// A call, and its answer.
struct PortCall {
  enum class Kind : uint8_t { now, clock, l1, logs, numbering, doubt_tile, doubt_bank, clear };
  Kind kind;
  std::vector<uint64_t> asked;
  card::Access access = card::Access::ok;
  std::vector<uint64_t> answer;
};
using PortCalls = std::vector<PortCall>;

inline uint64_t packed(card::Coord tile) {
  return uint64_t{tile.x} << 8 | tile.y;
}
inline std::vector<uint64_t> asked_of(std::span<const collect::LogRead> reads) {
  std::vector<uint64_t> asked;
  for (const collect::LogRead& r : reads) asked.insert(asked.end(), {r.bank, r.address, r.out.size()});
  return asked;
}

class RecordingPort : public collect::CardAccess {
 public:
  RecordingPort(card::Card& card, collect::LogReader& logs, const collect::HostClock& clock, PortCalls& calls)
      : CardAccess(card, logs, clock, nullptr), calls_(calls) {}

  uint64_t now_ns() override {
    const uint64_t now = CardAccess::now_ns();
    calls_.push_back({PortCall::Kind::now, {}, card::Access::ok, {now}});
    return now;
  }
  card::Expected<uint64_t> wall_clock(card::Coord tile) override {
    const auto cycles = CardAccess::wall_clock(tile);
    calls_.push_back({PortCall::Kind::clock,
                      {packed(tile)},
                      cycles ? card::Access::ok : cycles.error(),
                      {cycles.value_or(0)}});
    return cycles;
  }
  card::Access l1(card::Coord tile, uint32_t address, std::span<uint64_t> into) override {
    const card::Access a = CardAccess::l1(tile, address, into);
    calls_.push_back(
        {PortCall::Kind::l1, {packed(tile), address, into.size()}, a, {into.begin(), into.end()}});
    return a;
  }
  card::Access logs(std::span<const collect::LogRead> reads) override {
    const card::Access a = CardAccess::logs(reads);
    PortCall call{PortCall::Kind::logs, asked_of(reads), a, {}};
    for (const collect::LogRead& r : reads) call.answer.insert(call.answer.end(), r.out.begin(), r.out.end());
    calls_.push_back(std::move(call));
    return a;
  }
  card::Access doubt_tile(card::Coord tile) override {
    const card::Access a = CardAccess::doubt_tile(tile);
    calls_.push_back({PortCall::Kind::doubt_tile, {packed(tile)}, a, {}});
    return a;
  }
  card::Access doubt_bank(uint32_t bank) override {
    const card::Access a = CardAccess::doubt_bank(bank);
    calls_.push_back({PortCall::Kind::doubt_bank, {bank}, a, {}});
    return a;
  }

 private:
  PortCalls& calls_;
};

// Every call must be the one that was recorded.
class PlayedBackPort : public collect::CardPort {
 public:
  explicit PlayedBackPort(const PortCalls& calls) : calls_(calls) {}
  bool over() const { return next_ == calls_.size(); }

  uint64_t now_ns() override { return take(PortCall::Kind::now, {}).answer.at(0); }
  card::Expected<uint64_t> wall_clock(card::Coord tile) override {
    const PortCall& c = take(PortCall::Kind::clock, {packed(tile)});
    if (c.access != card::Access::ok) return card::failed(c.access);
    return c.answer.at(0);
  }
  card::Access l1(card::Coord tile, uint32_t address, std::span<uint64_t> into) override {
    const PortCall& c = take(PortCall::Kind::l1, {packed(tile), address, into.size()});
    copy(c.answer, into);
    return c.access;
  }
  card::Access logs(std::span<const collect::LogRead> reads) override {
    const PortCall& c = take(PortCall::Kind::logs, asked_of(reads));
    std::span<const uint64_t> left(c.answer);
    for (const collect::LogRead& r : reads) {
      copy(left.first(r.out.size()), r.out);
      left = left.subspan(r.out.size());
    }
    return c.access;
  }
  void use_memory_numbering(unsigned) override { ADD_FAILURE() << "a card with one numbering"; }
  card::Access doubt_tile(card::Coord tile) override {
    return take(PortCall::Kind::doubt_tile, {packed(tile)}).access;
  }
  card::Access doubt_bank(uint32_t bank) override { return take(PortCall::Kind::doubt_bank, {bank}).access; }
  card::Access clear_indices(size_t, uint32_t) override { return card::Access::refused; }
  card::Transactions transactions() override { return {}; }
  uint64_t line_allowance_ns() override { return 0; }

 private:
  // Words of the ring that readers may be copying.
  static void copy(std::span<const uint64_t> from, std::span<uint64_t> into) {
    for (size_t i = 0; i < into.size(); ++i) __atomic_store_n(&into[i], from[i], __ATOMIC_RELEASE);
  }
  const PortCall& take(PortCall::Kind kind, const std::vector<uint64_t>& asked) {
    static const PortCall none{PortCall::Kind::now, {}, card::Access::gone, std::vector<uint64_t>(4096)};
    if (next_ == calls_.size()) {
      ADD_FAILURE() << "more calls than were recorded";
      return none;
    }
    const PortCall& call = calls_[next_++];
    EXPECT_EQ(call.kind, kind) << "call " << next_;
    EXPECT_EQ(call.asked, asked) << "call " << next_;
    return call;
  }

  const PortCalls& calls_;
  size_t next_ = 0;
};

// The card does not answer one read, or none from that one on.
class FailingPort : public collect::CardAccess {
 public:
  struct Failure {
    uint64_t read = 0;  // the first is 1
    card::Access why = card::Access::suspect;
    bool for_good = false;
  };
  FailingPort(card::Card& card, collect::LogReader& logs, const collect::HostClock& clock,
              const Failure& failure, uint64_t& reads)
      : CardAccess(card, logs, clock, nullptr), failure_(failure), reads_(reads) {}

  card::Expected<uint64_t> wall_clock(card::Coord tile) override {
    if (fails()) return card::failed(failure_.why);
    return CardAccess::wall_clock(tile);
  }
  card::Access l1(card::Coord tile, uint32_t address, std::span<uint64_t> into) override {
    return fails() ? failure_.why : CardAccess::l1(tile, address, into);
  }
  card::Access logs(std::span<const collect::LogRead> reads) override {
    return fails() ? failure_.why : CardAccess::logs(reads);
  }

 private:
  bool fails() {
    ++reads_;
    const bool failed = reads_ == failure_.read || (failure_.for_good && reads_ > failure_.read);
    if (failed && std::getenv("TTC_FAIL"))
      std::printf("           read %llu fails\n", (unsigned long long)reads_);
    return failed;
  }
  Failure failure_;
  uint64_t& reads_;
};

}  // namespace ttc::sim
