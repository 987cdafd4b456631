// What a user reads when markers wait in the logs because it was not found out how they are to be read.
#include <gtest/gtest.h>

#include "collector/drain/drain.hpp"
#include "tests/sim/macro_attachment.hpp"
#include "tests/sim/ring_reading.hpp"

namespace ttc::sim {
namespace {

// The clock does not advance while a core is polled, as if loads took no time: nothing shows that a frame has landed.
class WaitingMarkers : public RingReading, public testing::Test {
 protected:
  WaitingMarkers() : RingReading(ring()) {
    attachment_ = attachment_of(card_);
    attachment_.mode_given = false;
    attachment_.clock = [this] { return now_ns_; };
    options_.bytes_per_risc = 4 * MacroCard::kLogWords;
    options_.report = [this](const std::string& sentence) { reported_.push_back(sentence); };
  }
  void poll_for(uint64_t ns, collect::Drain& drain) {
    for (uint64_t passed = 0; passed < ns; passed += 1'000'000) {
      now_ns_ += 1'000'000;
      drain.sweep(now_ns_);
    }
  }
  static Shared& ring() {
    static Shared shared;
    return shared;
  }

  MacroCard card_{{4, device::Mode::normal, 1, false}};
  collect::Attachment attachment_;
  collect::DrainOptions options_;
  uint64_t now_ns_ = MacroCard::kBeginNs;
  std::vector<std::string> reported_;
};

TEST_F(WaitingMarkers, whose_first_frame_never_lands_while_the_mode_is_open_are_told_of_once) {
  collect::Publisher publisher(shared_.segment, 0, card_.format().generation);
  const auto logs = collect::window_log_reader(card_);
  collect::Drain drain(card_, attachment_, *logs, publisher, shared_.segment, options_);
  card_.reset();
  poll_for(10'000'000, drain);
  card_.launch(MacroCard::Launch::plain);
  card_.store(MacroCard::kControlAddress + 4u * card_.format().done,
              0);  // the next launch has begun: L1 settles nothing
  poll_for(1'000'000'000, drain);
  EXPECT_TRUE(reported_.empty()) << reported_.front();
  poll_for(3'000'000'000, drain);
  ASSERT_EQ(reported_.size(), 1u);
  EXPECT_NE(reported_[0].find("core (1,2)"), std::string::npos) << reported_[0];
  EXPECT_NE(reported_[0].find("--mode"), std::string::npos) << reported_[0];
}

}  // namespace
}  // namespace ttc::sim
