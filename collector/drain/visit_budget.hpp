// What visits may take of the link (--link-share). A visit pays the lines that it read from a bucket, which fills at a steady rate.
// While the bucket is empty, only cores whose poll deadline is near are polled. Such polls pay up to half of what comes in, so that words
// have the other half; what they need beyond that comes on top of the share. Pure: a function of times and lines.
//
// A visit is paid when its lines are known, so that the bucket may be overdrawn: the next visits wait until it has filled again.
#pragma once
#include <algorithm>
#include <cstdint>

namespace ttc::collect {

class VisitBudget {
 public:
  static constexpr uint64_t kHoldsNs = 1'000'000;  // the bucket is full after so long without a visit

  // `lines_per_s`: 0 is no limit.
  explicit VisitBudget(double lines_per_s) : lines_per_ns_(lines_per_s / 1e9) {}

  bool limited() const { return lines_per_ns_ > 0; }
  // Is anything left? Times do not go back.
  bool allows(uint64_t now_ns) {
    fill(now_ns);
    return !limited() || lines_ > 0;
  }
  void pay(uint64_t lines) {
    if (limited()) lines_ -= static_cast<double>(lines);
  }
  // For a poll that its deadline requires.
  void pay_poll(uint64_t lines) {
    const double paid = std::clamp(static_cast<double>(lines), 0.0, std::max(of_polls_, 0.0));
    of_polls_ -= paid;
    lines_ -= paid;
    beyond_lines_ += static_cast<double>(lines) - paid;
  }
  // What such polls took on top of the share so far.
  uint64_t beyond_lines() const { return static_cast<uint64_t>(beyond_lines_); }
  // When something is left again; not after the time of the last call where something is left now.
  uint64_t allows_again_ns() const {
    if (!limited() || lines_ > 0) return filled_ns_;
    return filled_ns_ + 1 + static_cast<uint64_t>(-lines_ / lines_per_ns_);
  }
  // The most that one visit is to take, so that no core waits for long behind another's backlog.
  uint64_t most_of_a_visit() const { return static_cast<uint64_t>(std::max(1.0, holds(kHoldsNs))); }

 private:
  double holds(uint64_t ns) const { return lines_per_ns_ * static_cast<double>(ns); }
  void fill(uint64_t now_ns) {
    const double full = holds(kHoldsNs), more = now_ns > filled_ns_ ? holds(now_ns - filled_ns_) : 0;
    lines_ = filled_ns_ == 0 ? full : std::min(lines_ + more, full);
    of_polls_ = filled_ns_ == 0 ? full / 2 : std::min(of_polls_ + more / 2, full / 2);
    filled_ns_ = std::max(filled_ns_, now_ns);
  }

  double lines_per_ns_;
  double lines_ = 0, of_polls_ = 0, beyond_lines_ = 0;
  uint64_t filled_ns_ = 0;  // 0: not yet
};

}  // namespace ttc::collect
