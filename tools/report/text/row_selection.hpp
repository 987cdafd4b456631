// Which rows of a report a list shows.
#pragma once
#include <algorithm>
#include <cstddef>
#include <optional>
#include <queue>
#include <vector>

#include "tools/report/text/records.hpp"

namespace ttc::report {

// Some rows of a report: all that are added, or those with the largest shares.
class Selection {
 public:
  explicit Selection(size_t most) : most_(most) {}

  // `bound`: of the share; absent: not known.
  void add(size_t row, double share, const std::optional<double>& bound = {}) {
    ++all_;
    if (most_ == 0) return rows_.push_back(row);
    longest_.push({row, share, bound});
    if (longest_.size() <= most_) return;
    const Listed& gone = longest_.top();
    if (gone.bound && gone.share + *gone.bound > longest_left_out_)
      longest_left_out_ = gone.share + *gone.bound;
    longest_.pop();
  }
  // What was left out may be longer than what was kept; of a bounded selection whose rows were not taken yet.
  bool chosen_within_bounds() const {
    if (longest_.empty() || all_ <= most_) return false;
    const Listed& last = longest_.top();
    return last.bound && last.share - *last.bound <= longest_left_out_;
  }
  size_t all() const { return all_; }
  size_t shown() const { return most_ ? std::min(most_, all_) : all_; }
  // Their numbers in the report, in its order, of a bounded selection at most `most`; to be called once.
  Records<size_t> take_rows(size_t most = ~size_t{0}) {
    std::vector<size_t> some = take_longest_first();
    some.resize(std::min(some.size(), most));
    std::sort(some.begin(), some.end());
    for (const size_t row : some) rows_.push_back(row);
    return rows_;
  }
  // The same, the largest share first; only of a bounded selection.
  std::vector<size_t> take_longest_first() {
    std::vector<size_t> some;
    for (; !longest_.empty(); longest_.pop()) some.push_back(longest_.top().row);
    std::reverse(some.begin(), some.end());
    return some;
  }

 private:
  struct Listed {
    size_t row;
    double share;
    std::optional<double> bound;
  };
  struct Longer {  // of equal ones the first
    bool operator()(const Listed& a, const Listed& b) const {
      return a.share > b.share || (a.share == b.share && a.row < b.row);
    }
  };
  size_t most_, all_ = 0;
  double longest_left_out_ = -1;
  std::priority_queue<Listed, std::vector<Listed>, Longer> longest_;  // the shortest on top
  Records<size_t> rows_{64 << 10};
};

}  // namespace ttc::report
