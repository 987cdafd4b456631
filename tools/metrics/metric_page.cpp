#include "tools/metrics/metric_page.hpp"

#include <limits>
#include <utility>

#include "collector/program/printable.hpp"
#include "collector/program/version.hpp"

namespace ttc::tools {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;
using Labels = std::vector<std::pair<const char*, std::string>>;

constexpr double kNs = 1e-9;

ClientMetric labelled(const Labels& labels) {
  ClientMetric metric;
  for (const auto& [name, value] : labels) metric.label.push_back({name, program::printable(value)});
  return metric;
}

class Page {
 public:
  void counter(const char* name, const char* help, const Labels& labels, double value) {
    ClientMetric metric = labelled(labels);
    metric.counter.value = value;
    add(name, help, MetricType::Counter, std::move(metric));
  }
  void gauge(const char* name, const char* help, const Labels& labels, double value) {
    ClientMetric metric = labelled(labels);
    metric.gauge.value = value;
    add(name, help, MetricType::Gauge, std::move(metric));
  }
  void histogram(const char* name, const char* help, const Labels& labels, const TimeHistogram& times) {
    ClientMetric metric = labelled(labels);
    metric.histogram.sample_count = times.count();
    metric.histogram.sample_sum = static_cast<double>(times.sum_ns()) * kNs;
    uint64_t so_far = 0;
    for (size_t i = 0; i < times.counts().size(); ++i) {
      so_far += times.counts()[i];
      const double bound =
          i < TimeHistogram::kBoundsNs.size()
              ? static_cast<double>(TimeHistogram::kBoundsNs[i]) / 1e9  // 1e-06, not 1.0000000000000002e-06
              : std::numeric_limits<double>::infinity();
      metric.histogram.bucket.push_back({so_far, bound});
    }
    add(name, help, MetricType::Histogram, std::move(metric));
  }
  std::vector<MetricFamily> take() {
    std::vector<MetricFamily> all;
    for (auto& [name, family] : families_) all.push_back(std::move(family));
    return all;
  }

 private:
  void add(const char* name, const char* help, MetricType type, ClientMetric metric) {
    MetricFamily& family = families_[name];
    if (family.name.empty()) family = {name, help, type, {}};
    family.metric.push_back(std::move(metric));
  }
  std::map<std::string, MetricFamily> families_;
};

struct Row {
  shm::Counter counter;
  const char* name;
  const char* help;
  double scale = 1;
};

using C = shm::Counter;
constexpr Row kTotals[] = {
    {C::programs, "ttcollect_programs_total",
     "Programs that were read from the card, of the core that ran most."},
    {C::markers, "ttcollect_markers_total", "Markers that were read from the card."},
    {C::chunk_bytes, "ttcollect_chunk_bytes_total", "Bytes of chunks that were published to readers."},
    {C::sweeps, "ttcollect_sweeps_total", "Sweeps over the card's cores."},
    {C::missed_poll_deadlines, "ttcollect_missed_poll_deadlines_total",
     "Polls of cores so late that a host reset may have gone by between two of them."},
    {C::lines_beyond_share, "ttcollect_lines_beyond_share_total",
     "Lines that polls within their deadline read on top of --link-share."},
    {C::epochs, "ttcollect_epochs_total", "Host resets of cores that were noticed."},
    {C::retries, "ttcollect_read_retries_total",
     "Reads that were repeated because their words were not certain."},
    {C::recycles, "ttcollect_recycles_total", "Times a core's log was emptied by --recycle."},
    {C::suspicions, "ttcollect_tile_suspicions_total",
     "Times a tile was left alone because it gave all-ones or was slow."},
    {C::slow_reads, "ttcollect_slow_reads_total", "Reads of the card that took too long."},
    {C::round_trips, "ttcollect_link_round_trips_total", "Reads of the card that waited for an answer."},
    {C::card_bytes, "ttcollect_link_read_bytes_total", "Bytes that were read from the card."},
    {C::window_moves, "ttcollect_window_moves_total",
     "Times a window onto the card was aimed at another place."},
    {C::clock_samples, "ttcollect_clock_samples_total", "Samples of the card's clock."},
    {C::clock_steps, "ttcollect_clock_steps_total", "Changes of the card's clock frequency."},
    {C::clock_violations, "ttcollect_clock_violations_total",
     "Times the condition of conditional clock bounds did not hold."},
    {C::clock_eras, "ttcollect_clock_eras_total",
     "Resets of the card's clock counter, and suspensions of the host."},
    {C::disk_bytes, "ttcollect_capture_written_bytes_total", "Bytes that were written to capture files."},
    {C::disk_lapped_bytes, "ttcollect_capture_missed_bytes_total",
     "Bytes of the ring that the capture writer was too slow for."},
};
constexpr Row kGauges[] = {
    {C::cores, "ttcollect_cores", "Cores that are collected from."},
    {C::sweep_ns_p50, "ttcollect_sweep_median_seconds", "Median duration of a sweep.", kNs},
    {C::sweep_ns_p99, "ttcollect_sweep_p99_seconds", "99th percentile of the duration of a sweep.", kNs},
    {C::sweep_ns_max, "ttcollect_sweep_longest_seconds", "Longest sweep.", kNs},
    {C::suspect_tiles, "ttcollect_suspect_tiles",
     "Tiles that were ever left alone because they gave all-ones or were slow."},
    {C::link_bytes_per_s, "ttcollect_link_capacity_bytes_per_second", "What the way to the card can carry."},
};

void of_collector(Page& page, const CardSample& card, const Labels& labels) {
  page.gauge("ttcollect_up", "1 while the device's collector runs.", labels,
             card.writer == Writer::live ? 1 : 0);
  for (const Row& row : kTotals)
    page.counter(row.name, row.help, labels, static_cast<double>(card.count(row.counter)) * row.scale);
  for (const Row& row : kGauges)
    page.gauge(row.name, row.help, labels, static_cast<double>(card.count(row.counter)) * row.scale);
  if (card.heartbeat_ns && card.at_ns >= card.heartbeat_ns)
    page.gauge("ttcollect_last_sweep_age_seconds", "Time since the last sweep.", labels,
               static_cast<double>(card.at_ns - card.heartbeat_ns) * kNs);
  for (const ClockState& clock : card.clocks) {
    Labels of = labels;
    of.emplace_back("domain", std::to_string(clock.domain));
    page.gauge("ttcollect_clock_frequency_hertz", "Frequency of the card's clock.", of, clock.hz);
    page.gauge("ttcollect_clock_bound_seconds", "Bound of the error of host times of markers.", of,
               clock.bound_ns * kNs);
  }
}

// Every cause is there from the beginning, so that rates include the first loss.
void of_losses(Page& page, const CardSample& card, const Labels& labels) {
  for (size_t i = 0; i < static_cast<size_t>(shm::LossCause::kinds); ++i) {
    const std::string cause = shm::to_string(static_cast<shm::LossCause>(i));
    const auto found = card.lost.find(cause);
    const LossSum sum = found == card.lost.end() ? LossSum{} : found->second;
    Labels of = labels;
    of.emplace_back("cause", cause);
    page.counter("ttcollect_loss_intervals_total", "Intervals in which markers are missing.", of,
                 static_cast<double>(sum.intervals));
    page.counter("ttcollect_lost_words_total", "Words that are missing, of intervals of exact size.", of,
                 static_cast<double>(sum.words));
    page.counter("ttcollect_lost_launches_total",
                 "Launches whose markers may be missing at most, of intervals of bounded size.", of,
                 static_cast<double>(sum.launches));
    page.counter("ttcollect_loss_unknown_intervals_total", "Intervals of unknown size.", of,
                 static_cast<double>(sum.unknown));
  }
}

void of_ring(Page& page, const Followed& f, const Labels& labels) {
  page.gauge("ttcollect_segment_bytes",
             "Size of the device's shared segment: the ring and the areas beside it.", labels,
             static_cast<double>(f.segment_bytes));
  page.counter("ttcollect_ring_written_bytes_total", "Bytes that were written to the ring.", labels,
               static_cast<double>(f.written_bytes));
  page.counter("ttcollect_metrics_read_bytes_total", "Bytes of the ring that op times were taken from.",
               labels, static_cast<double>(f.read_bytes));
  page.counter("ttcollect_metrics_passed_bytes_total",
               "Bytes of the ring that were passed over, so that op times are those of a sample.", labels,
               static_cast<double>(f.passed_bytes));
  page.gauge("ttcollect_log_fill_ratio", "Fill of the fullest log on the card when it was last read.", labels,
             f.log_fill);
}

void of_telemetry(Page& page, const shm::TelemetryRecord& t, const Labels& labels) {
  if (t.known & 1)
    page.gauge("ttcollect_aiclk_hertz", "The card's AI clock as it reports it.", labels,
               static_cast<double>(t.aiclk_mhz) * 1e6);
  if (t.known & 2)
    page.gauge("ttcollect_power_watts", "Power of the card.", labels, static_cast<double>(t.power_mw) * 1e-3);
  if (t.known & 4)
    page.gauge("ttcollect_temperature_celsius", "Temperature of the card's ASIC.", labels,
               static_cast<double>(t.temperature_mc) * 1e-3);
}

void of_ops(Page& page, const DeviceSums& sums, const Labels& labels) {
  for (const auto& [code, op] : sums.ops) {
    Labels of = labels;
    of.emplace_back("op", code);
    page.histogram("ttcollect_op_duration_seconds",
                   "Time of an op, from the first start of its kernels to the last end.", of, op.duration);
    page.histogram("ttcollect_op_gap_seconds",
                   "Time between the ops before and this one's start, in which no op ran.", of, op.gap);
  }
  page.histogram("ttcollect_replay_duration_seconds",
                 "Time from the start of a trace's replay to the next one's.", labels, sums.replays);
  const std::pair<const char*, uint64_t> states[] = {
      {"busy", sums.busy_ns}, {"gap", sums.gap_ns}, {"idle", sums.idle_ns}};
  for (const auto& [state, ns] : states) {
    Labels of = labels;
    of.emplace_back("state", state);
    page.counter(
        "ttcollect_device_time_seconds_total",
        "Time in which ops ran (busy), of gaps up to a second between ops (gap) and of longer ones (idle).",
        of, static_cast<double>(ns) * kNs);
  }
}

}  // namespace

std::vector<MetricFamily> metric_page(const MetricInput& in) {
  Page page;
  page.gauge("ttcollect_build_info", "1; the version is a label.", {{"version", program::version()}}, 1);
  page.counter("ttcollect_metrics_cpu_seconds_total", "CPU time of the process that serves these metrics.",
               {}, static_cast<double>(in.cpu_ns) * kNs);
  page.histogram("ttcollect_step_duration_seconds",
                 "Time between the marks step_N_start and step_N_end of the workload.", {},
                 in.times.marked_steps());
  for (const CardSample& card : in.cards) {
    const Labels labels{{"device", card.live_name}};
    of_collector(page, card, labels);
    of_losses(page, card, labels);
    const auto sums = in.times.devices().find(card.live_name);
    const bool known = sums != in.times.devices().end();
    page.gauge("ttcollect_device_info", "1; what the device is, as labels.",
               {{"device", card.live_name},
                {"spec", card.device},
                {"arch", known ? sums->second.arch : ""},
                {"board", known ? sums->second.board : ""}},
               1);
    if (const auto f = in.followed.find(card.live_name); f != in.followed.end())
      of_ring(page, f->second, labels);
    if (!known) continue;
    of_telemetry(page, sums->second.telemetry, labels);
    of_ops(page, sums->second, labels);
  }
  return page.take();
}

}  // namespace ttc::tools
