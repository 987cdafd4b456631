// A drain that may take a share of the link alone, or whose link is slow, over cores that are memory: some are idle, the others run without
// a pause, or rest.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "collector/drain/drain.hpp"
#include "tests/sim/ring_reading.hpp"
#include "tests/support/frames.hpp"

namespace ttc::collect {
namespace {

constexpr uint64_t kShareLineNs = 2'000;  // 500,000 lines a second
constexpr uint64_t kShareMs = 1'000'000, kShareBeginNs = 10'000'000'000;
constexpr uint64_t kFrameEveryNs = 10'000;  // of a lane: more than the link carries of all
constexpr unsigned kShareCores = 8, kBusyCores = 4;
constexpr uint32_t kShareControl = 0xB00, kShareBase = 4096, kShareLogBytes = 8 << 20, kShareFrameWords = 12;

// A line takes `line_ns`. Every RISC of a busy core pushes a frame every kFrameEveryNs, until `rests_from_ns`.
class CoresOfMemory : public CardPort {
 public:
  CoresOfMemory(uint64_t& now, const markers::Layout& layout, uint64_t line_ns, uint64_t rests_from_ns)
      : now_(now), layout_(layout), line_ns_(line_ns), rests_from_ns_(rests_from_ns) {}

  uint64_t now_ns() override { return now_; }
  card::Expected<uint64_t> wall_clock(card::Coord) override { return now_; }
  card::Access l1(card::Coord tile, uint32_t address, std::span<uint64_t> into) override {
    if (address < kShareControl + 4 * layout_.format.control_words) polled(tile);
    auto* words = reinterpret_cast<uint32_t*>(into.data());
    for (uint32_t i = 0; i < 2 * into.size(); ++i)
      words[i] = control_word(tile, (address - kShareControl) / 4 + i);
    read(address, into.size_bytes());
    return card::Access::ok;
  }
  card::Access logs(std::span<const LogRead> reads) override {
    for (const LogRead& r : reads) {
      auto* words = reinterpret_cast<uint32_t*>(r.out.data());
      for (uint32_t i = 0; i < 2 * r.out.size(); ++i) words[i] = log_word((r.address - kShareBase) / 4 + i);
      read(static_cast<uint32_t>(r.address), r.out.size_bytes());
    }
    return card::Access::ok;
  }
  void use_memory_numbering(unsigned) override {}
  card::Access doubt_tile(card::Coord) override { return card::Access::ok; }
  card::Access doubt_bank(uint32_t) override { return card::Access::ok; }
  card::Access clear_indices(size_t, uint32_t) override { return card::Access::refused; }
  card::Transactions transactions() override { return {.round_trips = lines}; }
  uint64_t line_allowance_ns() override { return kShareMs; }

  static card::Coord tile_of(unsigned core) { return {static_cast<uint8_t>(1 + core), 2}; }
  uint64_t lines = 0, longest_gap_ns = 0;

 private:
  uint32_t frames() const {
    return static_cast<uint32_t>((std::min(now_, rests_from_ns_) - kShareBeginNs) / kFrameEveryNs);
  }
  uint32_t control_word(card::Coord tile, uint32_t w) const {
    const device::Format& f = layout_.format;
    const unsigned core = tile.x - 1u;
    if (w == f.dram_address) return kShareBase;
    if (w == f.flat_id) return core;
    if (w == f.core_count_per_dram) return kShareCores;
    if (core >= kBusyCores) return 0;
    if (w == f.run_counter) return frames();
    return w >= f.host_end && w < f.host_end + device::kMaxRiscs ? kShareFrameWords * frames() : 0;
  }
  // Only words that an index announces are requested, and some that follow them.
  uint32_t log_word(uint64_t at) const {
    constexpr uint64_t kLogWords = kShareLogBytes / 4;
    const auto lane = static_cast<uint32_t>(at / kLogWords), risc = lane % device::kMaxRiscs;
    const auto frame = static_cast<uint32_t>(at % kLogWords / kShareFrameWords);
    const uint64_t t = kShareBeginNs + frame * kFrameEveryNs;
    return test::frame_words(layout_.format.identity(risc, lane / device::kMaxRiscs, 0), frame + 1,
                             {100, t, t + 90}, {101, t + 10, t + 80})[at % kLogWords % kShareFrameWords];
  }
  void polled(card::Coord tile) {
    uint64_t& last = polled_ns_.try_emplace(tile.x, now_).first->second;
    longest_gap_ns = std::max(longest_gap_ns, now_ - std::exchange(last, now_));
  }
  void read(uint32_t address, uint64_t bytes) {
    const uint64_t taken = card::lines_touched(address, bytes);
    lines += taken;
    now_ += taken * line_ns_;
  }

  uint64_t& now_;
  const markers::Layout& layout_;
  const uint64_t line_ns_, rests_from_ns_;
  std::map<uint8_t, uint64_t> polled_ns_;
};

// A fifth of a second of sweeps.
class LinkShare : public sim::RingReading, public testing::Test {
 protected:
  LinkShare() : RingReading(ring()) {
    attachment_.layout = markers::layout_by_generation(4);
    attachment_.layout_given = attachment_.mode_given = true;
    attachment_.dram_base = kShareBase;
    attachment_.core_count_per_dram = kShareCores;
    attachment_.begun_ns = attachment_.begun_cycles = now_;
    attachment_.clock = [this] { return now_; };
    for (unsigned i = 0; i < kShareCores; ++i) {
      AttachedCore core;
      core.at = CoresOfMemory::tile_of(i);
      core.flat_id = static_cast<uint8_t>(i);
      core.control_address = kShareControl;
      core.buffer_address = kShareControl + 4u * attachment_.layout->format.control_words;
      attachment_.cores.push_back(core);
    }
  }
  void run(double lines_per_s) {
    DrainOptions options;
    options.bytes_per_risc = kShareLogBytes;
    options.lines_per_s = lines_per_s;
    options.seen = [this](card::Coord tile, uint64_t time, uint64_t) { delivered_until_[tile.x] = time; };
    auto port = std::make_unique<CoresOfMemory>(now_, *attachment_.layout, line_ns_, rests_from_ns_);
    cores_ = port.get();
    publisher_ = std::make_unique<Publisher>(shared_.segment, 0, attachment_.layout->format.generation);
    drain_ = std::make_unique<Drain>(std::move(port), CardFacts{1000, 8, 1, false}, attachment_, *publisher_,
                                     shared_.segment, options);
    for (const uint64_t until = now_ + 200 * kShareMs; now_ < until;) {
      now_ = std::max(now_ + 10'000, drain_->next_due_ns());
      ASSERT_EQ(drain_->sweep(now_), card::Access::ok);
    }
  }
  static Shared& ring() {
    static Shared shared;
    return shared;
  }

  uint64_t now_ = kShareBeginNs, line_ns_ = kShareLineNs, rests_from_ns_ = ~uint64_t{0};
  Attachment attachment_;
  CoresOfMemory* cores_ = nullptr;
  std::unique_ptr<Publisher> publisher_;
  std::unique_ptr<Drain> drain_;
  std::map<uint8_t, uint64_t> delivered_until_;  // device time, by column of the tile
};

TEST_F(LinkShare, without_one_the_drain_reads_all_that_the_link_carries) {
  run(0);
  EXPECT_GT(cores_->lines, 90'000u);
}

// Polls whose deadline is near come on top: at most two lines of a core every half deadline.
constexpr uint64_t kPollLines = 2 * kShareCores * 200 * kShareMs / (timing::kPollDeadlineNs / 2);

TEST_F(LinkShare, of_a_third_is_kept_with_every_poll_in_time) {
  run(165'000);
  EXPECT_LE(cores_->lines, 33'000u + kPollLines);
  EXPECT_GE(cores_->lines, 33'000u * 80 / 100);
  EXPECT_EQ(drain_->missed_poll_deadlines(), 0u);
  EXPECT_LE(cores_->longest_gap_ns, timing::kPollDeadlineNs);
}

TEST_F(LinkShare, of_one_percent_leaves_polls_within_their_deadline_and_words_that_wait) {
  run(5'000);
  EXPECT_LE(cores_->lines, 1'000u + 400 + kPollLines);  // and one visit
  EXPECT_EQ(drain_->missed_poll_deadlines(), 0u);
  EXPECT_LE(cores_->longest_gap_ns, timing::kPollDeadlineNs);
  EXPECT_FALSE(delivered_until_.empty());
  EXPECT_NEAR(static_cast<double>(drain_->lines_beyond_share()), static_cast<double>(cores_->lines) - 1'000,
              400);
  EXPECT_EQ(drain_->carry().counters.lines_beyond_share,
            drain_->lines_beyond_share());  // the next drain continues
}

TEST_F(LinkShare, is_taken_by_all_busy_cores_alike) {
  run(165'000);
  ASSERT_EQ(delivered_until_.size(), kBusyCores);
  const auto earlier = [](const auto& a, const auto& b) { return a.second < b.second; };
  const auto [least, most] = std::minmax_element(delivered_until_.begin(), delivered_until_.end(), earlier);
  EXPECT_GT(least->second, kShareBeginNs + 10 * kShareMs);
  EXPECT_LE(most->second - kShareBeginNs, (least->second - kShareBeginNs) * 11 / 10);
}

// Fetching two buffers of every lane at once took longer than the poll deadline, so that each visit was void.
TEST_F(LinkShare, a_full_log_on_a_slow_link_is_delivered_by_parts) {
  constexpr uint32_t kFramesWaiting = 84;  // of a lane: 1,008 words
  line_ns_ = 10'000;
  rests_from_ns_ = now_ = kShareBeginNs + kFramesWaiting * kFrameEveryNs;
  run(0);
  EXPECT_EQ(drain_->frames(), uint64_t{kFramesWaiting} * kBusyCores * device::kMaxRiscs);
  EXPECT_EQ(drain_->sweep(now_, true), card::Access::ok);
  drain_->close_account(false);
  EXPECT_FALSE(drain_->took_a_part());
}

}  // namespace
}  // namespace ttc::collect
