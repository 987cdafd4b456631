// Which rows of a table a report shows, and in which order: sorted by host time, cut to a window between
// signposts, several devices merged into one, cut to a range of IDs. Every stage keeps its rows in a spill
// (text/record_sort.hpp): memory does not grow with them, but with the signposts behind the last op.
#pragma once
#include <string>
#include <vector>

#include "tools/report/ops/op_report.hpp"

namespace ttc::report {

struct Choice {
  Records<ReportRows::Chosen> rows;
  double total_us = 0;  // of device times and gaps
  size_t devices = 0;   // within the window
};

// The rows of one table, added in its order.
class OpChoice {
 public:
  explicit OpChoice(const ReportOptions& options) : options_(options) {}
  void add(const OpRow& op);
  // `ops`: the rows that were added, for names in sentences, which go to `remarks`. Throws UnknownName for a
  // signpost that is not there.
  Choice choose(const OpRows& ops, std::vector<std::string>& remarks);

  // The fields of a row that determine whether and where it is shown.
  struct Key {
    uint32_t row = 0, device = 0, id = 0;
    bool has_device : 1 = false, signpost : 1 = false, host : 1 = false, on_device : 1 = false,
                      collective : 1 = false;
    size_t code = 0;             // hash of the name: nameless programs have one each
    double host_start = 0;       // ns; unknown last, as it came
    double kernel = 0, gap = 0;  // ns; NaN: unknown
    double kernel_bound = 0;     // likewise
  };

 private:
  struct Earlier {
    bool operator()(const Key& a, const Key& b) const {
      return std::tie(a.host_start, a.row) < std::tie(b.host_start, b.row);
    }
  };

  const ReportOptions& options_;
  uint32_t added_ = 0;
  Records<Key> as_they_came_;
  RecordSort<Key, Earlier> by_time_;
};

}  // namespace ttc::report
