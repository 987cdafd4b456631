// Shares of the time by bound, and why a bound is wide, of segments as plain values.
#include "collector/inspect/sync_bounds.hpp"

#include <gtest/gtest.h>

namespace ttc::collect {
namespace {

constexpr uint64_t kMs = 1'000'000;  // cycles of 1 GHz

// Appends a piece of `ms` at `mhz`, `jump_ms` after the one before.
void piece(SyncResult& r, double ms, double mhz, double bound_ns, BoundKind kind, double jump_ms = 0) {
  const auto ticks_of = [](double of_ms) { return static_cast<HostTime>(of_ms * kMs * kHostTicksPerNs); };
  const uint64_t from = r.segments.empty() ? 0 : r.segments.back().to_cycles;
  const HostTime begin = (r.segments.empty() ? ticks_of(5) : r.segments.back().host_to) + ticks_of(jump_ms);
  ClockSegment s =
      clock_segment_between(from, begin, from + static_cast<uint64_t>(ms * mhz * 1000), begin + ticks_of(ms));
  s.kind = kind;
  s.bound = s.hard_bound = static_cast<uint64_t>(bound_ns * kHostTicksPerNs);
  r.segments.push_back(s);
}

TEST(SyncBounds, shares_are_of_time) {
  SyncResult r;
  piece(r, 50, 1000, 40, BoundKind::conditional);
  piece(r, 20, 1000, 900, BoundKind::conditional);
  piece(r, 10, 1000, 5'000, BoundKind::conditional);
  piece(r, 5, 1000, 50'000, BoundKind::conditional);
  piece(r, 15, 1000, 50, BoundKind::hard);
  const BoundShares s = bound_shares_of(r);
  EXPECT_NEAR(s.up_to_100_ns, 0.5, 1e-6);
  EXPECT_NEAR(s.up_to_1_us, 0.2, 1e-6);
  EXPECT_NEAR(s.up_to_10_us, 0.1, 1e-6);
  EXPECT_NEAR(s.wider, 0.05, 1e-6);
  EXPECT_NEAR(s.hard, 0.15, 1e-6);
  EXPECT_EQ(text_of(s),
            "50.0 % of the time within 100 ns, 20.0 % 1 us, 10.0 % 10 us, 5.0 % wider; hard 15.0 %");
  EXPECT_EQ(bound_shares_of({}).hard, 0);
  EXPECT_TRUE(widest_bounds({}).empty());
}

TEST(SyncBounds, each_wide_bound_has_its_reason) {
  SyncResult r;
  piece(r, 100, 1000, 40, BoundKind::conditional);
  piece(r, 10, 950, 3'000, BoundKind::conditional);  // on the way to another frequency
  piece(r, 100, 900, 40, BoundKind::conditional);
  piece(r, 8, 900, 4'000'000, BoundKind::hard);
  piece(r, 100, 900, 40, BoundKind::conditional);
  piece(r, 100, 900, 9'000'000, BoundKind::conditional, 30);  // the counter stood before it
  piece(r, 100, 900, 40, BoundKind::conditional);
  const std::vector<WideBound> wide = widest_bounds(r);
  ASSERT_EQ(wide.size(), 3u);
  EXPECT_EQ(text_of(wide[0]), "at 0.348 s 9.0 ms: the counter stood, or was read late, for up to 130.0 ms");
  EXPECT_EQ(text_of(wide[1]), "at 0.210 s 4.0 ms: no read for 8.0 ms");
  EXPECT_EQ(text_of(wide[2]), "at 0.100 s 3.00 us: the frequency moved: 1000.0, 950.0, 900.0 MHz");
}

}  // namespace
}  // namespace ttc::collect
