// What is known of collectors as families of metrics, by the conventions of Prometheus: base units, counters that end in _total,
// one meaning a name. docs/metrics.md lists them.
#pragma once
#include <prometheus/metric_family.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "tools/metrics/ring_follower.hpp"
#include "tools/ttmon/card_sample.hpp"

namespace ttc::tools {

struct MetricInput {
  const std::vector<CardSample>& cards;
  const std::map<std::string, Followed>& followed;  // by live name
  const OpTimes& times;
  uint64_t cpu_ns = 0;  // of this process
};
std::vector<prometheus::MetricFamily> metric_page(const MetricInput& input);

}  // namespace ttc::tools
