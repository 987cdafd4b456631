// Times with bounds: how a bound is written, and whether one time is longer than another for sure.
#pragma once
#include <cmath>
#include <cstdio>
#include <optional>
#include <string>

namespace ttc::report {

// "3 ns", "1.3 μs": rounded up, so that what is written holds.
inline std::string written_bound(const std::optional<double>& us) {
  if (!us) return "";
  char text[48];
  if (*us < 0.9995)
    std::snprintf(text, sizeof text, "%.0f ns", std::ceil(*us * 1000));
  else
    std::snprintf(text, sizeof text, "%.1f \u03bcs", std::ceil(*us * 10) / 10);
  return text;
}

// A line on what "=" in a list is, of so many rows; empty: no row shares a rank.
inline std::string shared_rank_legend(size_t rows) {
  return rows == 0
             ? ""
             : "= marks " + std::to_string(rows) + (rows == 1 ? " row that differs" : " rows that differ") +
                   " from the one above by no more than the bounds of both: their order is not certain\n";
}

// Ranks a list, the longest first: a row that may be as long as the one before it shares its rank. Times without a bound
// are taken as they are.
class SharedRank {
 public:
  // Must be called for the next row.
  bool shares(double us, const std::optional<double>& bound_us) {
    const bool shared = any_ && bound_us && bound_ && us + *bound_us >= us_ - *bound_;
    any_ = true;
    us_ = us;
    bound_ = bound_us;
    count_ += shared;
    return shared;
  }
  size_t count() const { return count_; }
  std::string legend() const { return shared_rank_legend(count_); }

 private:
  bool any_ = false;
  double us_ = 0;
  std::optional<double> bound_;
  size_t count_ = 0;
};

}  // namespace ttc::report
