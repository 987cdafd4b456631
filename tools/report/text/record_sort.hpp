// Records put into order in a few megabytes of memory, however many there are: sorted runs go into a spill
// (spill.hpp) and are merged.
//
// `Less` must order any two records that differ: records that it takes for equal come in no certain order.
#pragma once
#include <algorithm>
#include <queue>
#include <vector>

#include "tools/report/text/records.hpp"

namespace ttc::report {

template <class T, class Less>
class RecordSort {
 public:
  static constexpr size_t kRunBytes = 512 << 10, kFan = 32;
  explicit RecordSort(size_t run_bytes = kRunBytes)
      : run_records_(std::max<size_t>(run_bytes / sizeof(T), 1)) {}

  // Throws std::runtime_error, as Spill does.
  void add(const T& record) {
    run_.push_back(record);
    if (run_.size() == run_records_) close_run();
  }

  // Hands every record to `take`, the least first. What was added is gone then.
  template <class Take>
  void drain(const Take& take) {
    if (runs_.empty()) {
      std::sort(run_.begin(), run_.end(), Less());
      for (const T& record : run_) take(record);
    } else {
      if (!run_.empty()) close_run();
      std::vector<T>().swap(run_);
      while (runs_.size() > kFan) shorten();
      merge(runs_, take);
    }
    *this = RecordSort(run_records_ * sizeof(T));
  }

 private:
  struct Run {
    size_t begin, end;  // of spilled_
  };
  using Reader = RecordReader<T>;

  void close_run() {
    std::sort(run_.begin(), run_.end(), Less());
    const size_t begin = spilled_.size();
    for (const T& record : run_) spilled_.push_back(record);
    runs_.push_back({begin, spilled_.size()});
    run_.clear();
  }

  // The first runs become one behind the others.
  void shorten() {
    const std::vector<Run> some(runs_.begin(), runs_.begin() + kFan);
    Records<T> merged(0);
    merge(some, [&](const T& record) { merged.push_back(record); });
    runs_.erase(runs_.begin(), runs_.begin() + kFan);
    const size_t begin = spilled_.size();
    for (const T& record : merged) spilled_.push_back(record);
    runs_.push_back({begin, spilled_.size()});
  }

  template <class Take>
  void merge(const std::vector<Run>& runs, const Take& take) const {
    std::vector<Reader> readers;
    readers.reserve(runs.size());
    for (const Run& run : runs) readers.emplace_back(spilled_, run.begin, run.end);
    const auto later = [&](size_t a, size_t b) { return Less()(readers[b].front(), readers[a].front()); };
    std::priority_queue<size_t, std::vector<size_t>, decltype(later)> next(later);
    for (size_t i = 0; i < readers.size(); ++i) next.push(i);
    while (!next.empty()) {
      const size_t least = next.top();
      next.pop();
      take(readers[least].front());
      readers[least].pop();
      if (!readers[least].done()) next.push(least);
    }
  }

  size_t run_records_;
  std::vector<T> run_;  // is being filled
  Records<T> spilled_{0};
  std::vector<Run> runs_;
};

}  // namespace ttc::report
