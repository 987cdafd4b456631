// A drain that loses the CPU while it takes what a host reset left in a log: the new epoch may push meanwhile, and end as well.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "collector/drain/drain.hpp"
#include "tests/sim/macro_attachment.hpp"
#include "tests/sim/ring_reading.hpp"

namespace ttc::sim {
namespace {

// Something happens before a line is loaded: so many lines after the plan was made.
class CardWithPlans : public MacroCard {
 public:
  using MacroCard::MacroCard;
  struct Plan {
    uint64_t line;
    std::function<void()> happens;
  };
  void plan(std::vector<Plan> plans) { plans_ = std::move(plans), lines_ = 0; }
  uint64_t lines() const { return lines_; }
  // From now on logs are served as if their words from this one on had not been written.
  void only_landed(uint32_t words) { landed_words_ = words; }
  bool planned() const { return !plans_.empty(); }

  card::Access copy(card::Window window, uint32_t offset, std::span<uint64_t> out) override {
    constexpr size_t kLine = card::kLineBytes / 8;
    const size_t behind = offset / 8 % kLine;
    for (size_t at = 0; at < out.size();) {
      if (!plans_.empty() && plans_.front().line == lines_) {
        const auto happens = std::move(plans_.front().happens);
        plans_.erase(plans_.begin());
        happens();
        continue;
      }
      ++lines_;
      const size_t words = std::min(out.size() - at, at == 0 ? kLine - behind : kLine);
      const card::Access a =
          MacroCard::copy(window, offset + 8 * static_cast<uint32_t>(at), out.subspan(at, words));
      if (a != card::Access::ok) return a;
      if (window == card::Window::payload) hide(offset + 8 * at, out.subspan(at, words));
      at += words;
    }
    return card::Access::ok;
  }

 private:
  void hide(uint64_t offset, std::span<uint64_t> line) const {
    for (size_t i = 0; i < line.size(); ++i) {
      const uint64_t address = base_of(card::Window::payload) + ((offset + 8 * i) & (card::kWindowBytes - 1));
      if ((address - kDramBase) / 4 % log_words() >= landed_words_) line[i] = 0;
    }
  }

  std::vector<Plan> plans_;
  uint64_t lines_ = 0;
  uint32_t landed_words_ = ~0u;
};

class HeldUpRecovery : public RingReading {
 public:
  HeldUpRecovery(Shared& shared, unsigned generation)
      : RingReading(shared), card_({generation, device::Mode::normal, 20}) {
    options_.bytes_per_risc = 4 * MacroCard::kLogWords;
  }

  // What the drain has seen of an epoch has not landed when that ends. While it takes that, the new epoch makes its first push before
  // line `push`, of which so many words land at once. It ends before line `end`. Returns the lines that taking it took.
  uint64_t run(uint64_t push, uint32_t landed_words, uint64_t end) {
    collect::Publisher publisher(shared_.segment, 0, card_.format().generation);
    const auto logs = collect::window_log_reader(card_);
    collect::Drain drain(card_, attachment_, *logs, publisher, shared_.segment, options_);
    card_.launch(MacroCard::Launch::plain);
    poll(drain, 4);
    card_.pass(3'000'000);
    card_.reset();
    poll(drain, 4);
    card_.pass(3'000'000);
    poll(drain, 1);
    card_.launch(MacroCard::Launch::lands_late);
    drain.sweep(card_.now(), true);
    card_.reset();
    card_.pass(4'000'000);
    poll(drain, 1);  // it is noticed
    card_.plan({{push,
                 [this, landed_words] {
                   card_.launch(MacroCard::Launch::plain);
                   card_.only_landed(landed_words);
                 }},
                {end, [this] {
                   card_.pass(20'000'000);
                   card_.only_landed(~0u);
                   card_.reset();
                 }}});
    poll(drain, 1);
    const uint64_t lines = card_.lines();
    took_place_ = !card_.planned();
    card_.plan({});
    poll(drain, 4);
    for (int i = 0; i < 3; ++i) {
      card_.pass(3'000'000);
      card_.launch(MacroCard::Launch::plain);
      poll(drain, 4);
    }
    drain.close_account(false);
    read_ring(publisher);
    losses_ = pipeline_.losses();
    return lines;
  }
  bool took_place() const { return took_place_; }  // all that was planned

  // Empty: nothing is invented, and what is missing is in an interval.
  std::string wrong() {
    if (!fault_.empty()) return fault_;
    std::vector<SimMarker> stored;
    for (const MacroMarker& m : card_.markers())
      if (m.visible_ns != 0) stored.push_back(m.marker);
    if (std::string invented = delivered_once(stored); !invented.empty()) return invented;
    for (const SimMarker& m : missing_of(stored))
      if (!inside_interval(m)) return "missing without an interval: " + text(m);
    return {};
  }

 private:
  void poll(collect::Drain& drain, int times) {
    for (int i = 0; i < times; ++i) {
      card_.pass(200'000);
      drain.sweep(card_.now(), true);
    }
  }

  CardWithPlans card_;
  collect::Attachment attachment_ = attachment_of(card_);
  collect::DrainOptions options_;
  bool took_place_ = false;
};

TEST(HeldUpRecovery, takes_no_push_of_the_new_epoch_for_one_of_the_epoch_before) {
  static RingReading::Shared shared;
  unsigned runs = 0, wrong = 0;
  for (const unsigned generation : {1u, 4u}) {
    const uint64_t never = ~uint64_t{0}, lines = HeldUpRecovery(shared, generation).run(never, 0, never);
    ASSERT_GT(lines, 20u) << "nothing was taken: the test compares nothing";
    for (uint64_t push = 0; push < lines; ++push)
      for (const uint32_t landed : {16, 64})
        for (const uint64_t end : {4, 64}) {
          HeldUpRecovery run(shared, generation);
          run.run(push, landed, push + end);
          runs += run.took_place();
          if (const std::string why = run.wrong(); !why.empty() && ++wrong <= 5)
            ADD_FAILURE() << "G" << generation << ", pushed at line " << push << " of " << lines << ", "
                          << landed << " words landed, ended " << end << " lines later: " << why;
        }
  }
  EXPECT_EQ(wrong, 0u) << "of " << runs;
  EXPECT_GT(runs, 1000u);
}

}  // namespace
}  // namespace ttc::sim
