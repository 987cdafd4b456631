// Tensix performance counters of programs, as the columns of ops_perf_results have them: of every metric
// (counter_metrics.hpp) the least, middle, greatest and mean value over the cores, and of three units
//
//   Avg <unit> util on full grid (%)      sum of counts / worker cores / kernel cycles * 100
//
// Counts are sorted by launch, and metrics kept, in spills (text/record_sort.hpp). Where a core reports a
// counter again under the same launch, that belongs to its next execution.
//
// Source: tt-metal tools/tracy/process_ops_logs.py@00761ba.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "tools/report/metal_files/counter_metrics.hpp"
#include "tools/report/programs/device_row.hpp"
#include "tools/report/text/record_sort.hpp"

namespace ttc::report {

class Counters : public Listener {
 public:
  Counters();
  void device(const Device& device) override;
  void events(const LaneEvents&) override {}
  bool wants_all_events() const override { return false; }
  void meta(const Launch& launch, const Lane& lane, const Event& event, std::string_view text) override;

  // Makes metrics of the counters of `op`. Returns DeviceOp::counters. Programs must come in order of their
  // launches, and after the last count.
  uint64_t close(const DeviceOp& op);
  // The whole input was read: every device settles which alternative of a metric it uses.
  void end(TableForm form);
  // Records of a counter whose value or reference is no number; they are left out.
  uint64_t unreadable() const { return unreadable_; }
  // Fills `row.counters` with the metrics of `op`. After end().
  void fill(const DeviceOp& op, uint32_t worker_cores, DeviceRow& row);

 private:
  static constexpr uint16_t kUnits = 3;  // the first three metrics, and the counters they are made of
  struct Formula {
    std::vector<uint16_t> over, under;
    int alive = -1;
  };
  // True if the median of some ratios exceeds a bound; does not store the ratios.
  struct Relation {
    static constexpr double kBound = 0.1;
    uint64_t below = 0, above = 0;
    double greatest_below = 0, least_above = 0;
    void add(double ratio);
    bool holds() const;
  };
  struct Count {
    uint16_t core;  // x << 8 | y
    uint16_t counter;
    uint32_t value, reference;
  };
  struct Statistics {
    uint16_t metric = 0;
    double least = 0, middle = 0, greatest = 0, mean = 0;
  };
  // The record of a program, in front of its metrics.
  struct Program {
    std::array<double, kUnits> sums{};  // of counts, over the cores
    bool any[kUnits] = {};
    uint32_t metrics = 0;
  };
  struct Chip {
    std::string arch;
    std::vector<double> totals;         // of counts, by counter
    std::map<size_t, Relation> ratios;  // of metrics whose counters must be related
    std::vector<bool> has, chosen;      // by metric: a value on some core; what of it is shown
  };
  struct Reported {
    Launch launch;
    uint64_t number;  // of the report
    Count count;
  };
  struct InOrder {
    bool operator()(const Reported& a, const Reported& b) const {
      return std::tie(a.launch, a.number) < std::tie(b.launch, b.number);
    }
  };
  void sort();
  std::vector<Count>& counts_of(const Launch& launch);
  uint16_t counter(std::string_view name);
  std::vector<uint16_t> counters(std::string_view names);
  std::vector<Count> take_execution(std::vector<Count>& all);
  bool holds(size_t metric, const Chip& chip) const;

  std::unordered_map<std::string, uint16_t> ids_;
  std::vector<Formula> formulas_;  // beside counter_metrics()
  RecordSort<Reported, InOrder> reported_;
  uint64_t reports_ = 0;
  Records<Reported> sorted_;
  std::optional<RecordReader<Reported>> reader_;  // of sorted_, from the first close() on
  Launch current_;
  std::vector<Count> counts_;  // of current_, that no execution has taken yet
  Spill closed_;
  uint64_t unreadable_ = 0;
  TableForm form_ = TableForm::either;
  std::map<uint32_t, Chip> chips_;
};

// Names of the columns in their order.
std::vector<std::string> all_counter_columns();

}  // namespace ttc::report
