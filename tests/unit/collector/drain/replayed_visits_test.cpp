// What the drain does is a function of what it read: played back without a card it publishes the same chunks and records the same
// intervals. And a read that fails, whichever it is, hides nothing.
#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>
#include <sstream>

#include "tests/sim/card_ports.hpp"
#include "tests/sim/with_failure.hpp"
#include "tests/support/sanitized.hpp"

namespace ttc::sim {
namespace {

using device::Mode;

struct PlayedHistories {
  HistoryCase kind;
  std::vector<std::string> histories;
};
const PlayedHistories kPlayed[] = {
    {{4, Mode::normal, 1, "", 0},
     {"LPLRPLP", "LLSLRSRLP", "pLRpLPRSLL", "LsPRtSLsP", "dRdPLRSP", "LPLqRPqLSRP"}},
    {{1, Mode::normal, 1, "", 0}, {"LsPRsLSRP", "sLRsPLS"}},
    {{4, Mode::accumulate, 12, "", 0}, {"LLPRLPLLS", "LsSRLLPR", "LLLLLPRSLP"}},
    {{4, Mode::accumulate, 60, "", 0}, {"LLPRLPLLS", "LLSRSLLPRL"}},
    {{4, Mode::accumulate, 12, "", 0, false, true}, {"LPLRLLP", "LLRSLP"}},
    {{4, Mode::normal, 1, "", 0, false, false, true}, {"LeERLePE", "LeESRLeSE"}},
};

RingReading::Shared& shared() {
  static RingReading::Shared s;
  return s;
}

// What the drain is given, and what a reader gets.
struct Recording {
  PortCalls calls;
  std::vector<std::pair<uint64_t, bool>> sweeps;
  std::vector<std::vector<uint64_t>> chunks;
};

class Recorded : public Exhausting {
 public:
  Recorded(const HistoryCase& c, const std::string& history, Recording& recording)
      : Exhausting(shared(), c, history), recording_(recording) {}
  const MacroCard& card() const { return card_; }
  const collect::Attachment& attachment() const { return attachment_; }

 protected:
  std::unique_ptr<collect::CardPort> port(collect::LogReader& logs) override {
    return std::make_unique<RecordingPort>(card_, logs, attachment_.clock, recording_.calls);
  }
  void sweeps(uint64_t now_ns, bool all) override { recording_.sweeps.emplace_back(now_ns, all); }
  void saw_chunk(const shm::ChunkHeader&) override { recording_.chunks.push_back(words_of(shared_.chunk)); }

 public:
  // Without the chunk's own time of being published and place in the ring.
  static std::vector<uint64_t> words_of(const std::vector<uint64_t>& chunk) {
    const shm::ChunkHeader& h = shm::header_of(chunk);
    std::vector<uint64_t> words{static_cast<uint64_t>(h.kind), h.core_x, h.core_y, h.epoch, h.flags};
    for (const shm::SpanEntry& s : shm::spans_of(chunk))
      words.insert(words.end(), {s.risc, s.word_offset, s.word_count, static_cast<uint64_t>(s.source)});
    return words;
  }

 private:
  Recording& recording_;
};

class PlayedBack : public RingReading {
 public:
  explicit PlayedBack(const Recording& recording) : RingReading(shared()), recording_(recording) {}

  void run(const MacroCard& card, const collect::Attachment& attachment, std::vector<SimMarker>& delivered,
           std::vector<shm::LossRecord>& losses) {
    collect::Publisher publisher(shared_.segment, 0, card.format().generation);
    collect::DrainOptions options;
    options.bytes_per_risc = 4 * MacroCard::kLogWords;
    auto port = std::make_unique<PlayedBackPort>(recording_.calls);
    const PlayedBackPort& played = *port;
    collect::Attachment without_clock = attachment;
    without_clock.clock = [] {
      ADD_FAILURE() << "the clock was read beside the port";
      return uint64_t{0};
    };
    collect::Drain drain(std::move(port), collect::facts_of(card), without_clock, publisher, shared_.segment,
                         options);
    for (const auto& [now_ns, all] : recording_.sweeps) drain.sweep(now_ns, all);
    drain.close_account(false);
    EXPECT_TRUE(played.over());
    read_ring(publisher);
    EXPECT_EQ(fault_, "");
    EXPECT_EQ(chunks_, recording_.chunks);
    delivered = delivered_;
    losses = pipeline_.losses();
  }

 private:
  uint32_t first_lane_of(card::Coord core) const override {
    return core == MacroCard::kEthernet ? MacroCard::kRiscs : 0;
  }
  void saw_chunk(const shm::ChunkHeader&) override { chunks_.push_back(Recorded::words_of(shared_.chunk)); }

  const Recording& recording_;
  std::vector<std::vector<uint64_t>> chunks_;
};

TEST(ReplayedVisits, what_was_read_decides_what_is_published) {
  size_t calls = 0, chunks = 0;
  for (const PlayedHistories& played : kPlayed)
    for (const std::string& history : played.histories) {
      SCOPED_TRACE(history);
      Recording recording;
      Recorded recorded(played.kind, history, recording);
      EXPECT_EQ(recorded.run().wrong, "");
      std::vector<SimMarker> delivered;
      std::vector<shm::LossRecord> losses;
      PlayedBack(recording).run(recorded.card(), recorded.attachment(), delivered, losses);
      std::sort(delivered.begin(), delivered.end());
      EXPECT_EQ(delivered, recorded.delivered());
      ASSERT_EQ(losses.size(), recorded.losses().size());
      for (size_t i = 0; i < losses.size(); ++i) {
        EXPECT_EQ(losses[i].from_cycles, recorded.losses()[i].from_cycles);
        EXPECT_EQ(losses[i].to_cycles, recorded.losses()[i].to_cycles);
        EXPECT_EQ(losses[i].risc, recorded.losses()[i].risc);
      }
      calls += recording.calls.size();
      chunks += recording.chunks.size();
    }
  std::cout << calls << " calls of the port, " << chunks << " chunks\n";
  EXPECT_GT(chunks, 50u);
}

// One, printed: TTC_FAIL="KIND HISTORY READ GONE", KIND a number from kPlayed.
TEST(ReplayedVisits, of_the_environment) {
  const char* given = std::getenv("TTC_FAIL");
  if (!given) GTEST_SKIP() << "TTC_FAIL is not set";
  std::istringstream in(given);
  size_t kind = 0;
  std::string history;
  uint64_t read = 0;
  bool gone = false;
  in >> kind >> history >> read >> gone;
  ASSERT_TRUE(in && kind < std::size(kPlayed));
  WithFailure run(shared(), kPlayed[kind].kind, history,
                  {read, gone ? card::Access::gone : card::Access::suspect, gone});
  run.trace = true;
  const Judgement j = run.run();
  EXPECT_EQ(j.wrong + j.what, "");
}

void fail_every_read(card::Access why, bool for_good) {
  uint64_t runs = 0, complete = 0;
  for (const PlayedHistories& played : kPlayed)
    for (const std::string& history : played.histories) {
      WithFailure whole(shared(), played.kind, history, {});
      whole.run();
      const uint64_t step = kSanitized ? 29 : 3;
      for (uint64_t read = 1 + history.size() % step; read <= whole.reads; read += step) {
        const Judgement j = WithFailure(shared(), played.kind, history, {read, why, for_good}).run();
        ++runs;
        complete += j.missing == 0;
        ASSERT_EQ(j.wrong, "") << history << ", read " << read;
        ASSERT_EQ(j.silent, 0u) << history << ", read " << read << ": " << j.what;
      }
    }
  std::cout << runs << " runs, " << complete << " complete\n";
}

TEST(ReplayedVisits, a_read_that_is_not_answered_hides_nothing) {
  fail_every_read(card::Access::suspect, false);
}

TEST(ReplayedVisits, a_card_that_goes_at_any_read_hides_nothing) {
  fail_every_read(card::Access::gone, true);
}

}  // namespace
}  // namespace ttc::sim
