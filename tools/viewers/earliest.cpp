#include "tools/viewers/earliest.hpp"

#include <algorithm>
#include <set>

#include "tools/pipeline/source.hpp"
#include "tools/viewers/timeline.hpp"

namespace ttc::tools {
namespace {

class Looking : public TimelineWriter {
 public:
  explicit Looking(bool counters) : counters_(counters) {}
  void device(const Session& s) override {
    found.host_time = found.host_time && s.clock_model;
    if (s.clock_model) modelled_.insert(s.chip);
  }
  void clock_known(uint32_t chip, bool cycles, const collect::ClockHead&) override {
    found.settled = found.settled && !(cycles && modelled_.contains(chip));
  }
  void lane(const TimelineLane&) override {}
  void frame(const TimelineLane&, const TimelineFrame& f) override { take(f.ns.front()); }
  void counter(uint32_t, TimelineCounter, uint64_t ns, double) override {
    if (counters_) take(ns);
  }
  void loss(const TimelineLane&, const TimelineLoss&) override {}
  void note(uint32_t, uint64_t ns, const std::string&) override {
    if (counters_) take(ns);
  }
  void end() override {}
  Earliest found;

 private:
  void take(uint64_t ns) { found.ns = std::min(found.ns.value_or(ns), ns); }
  bool counters_;
  std::set<uint32_t> modelled_;  // chips whose collector makes a clock model
};

}  // namespace

Earliest earliest_in(const std::vector<std::string>& from, unsigned wait_ms, const Filter& filter,
                     std::optional<markers::MetalDate> date, uint64_t most_markers, bool counters) {
  const auto source = open_source(from, false, wait_ms);
  Pipeline pipeline(filter, false, date, HostClock::raw);
  auto writer = std::make_unique<Looking>(counters);
  const Looking& looking = *writer;
  Timeline timeline(std::move(writer));
  std::vector<uint64_t> chunk;
  while (pipeline.markers() < most_markers && source->next(chunk) == Source::Next::chunk)
    pipeline.push(chunk, timeline);
  pipeline.finish(timeline);
  return looking.found;
}

}  // namespace ttc::tools
