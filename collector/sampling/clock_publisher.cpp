#include "collector/sampling/clock_publisher.hpp"

#include <time.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <utility>

#include "ttcollect/host_time.hpp"

namespace ttc::collect {
namespace {

using card::Access;

constexpr uint64_t kFirstSampleNs = 5'000'000;  // the drain examines everything first
constexpr uint64_t kGiveNs = 10'000'000;        // wakes the models' thread
constexpr uint64_t kTableNs = 62'500'000, kChunkNs = 500'000'000, kTelemetryNs = 100'000'000;
constexpr size_t kRecentInTable = 1024;  // segments; fewer where the table has no room
constexpr int kLastSamples = 12;         // so that the last markers lie well within samples

void append(std::vector<std::byte>& to, const void* bytes, size_t count) {
  const auto* from = static_cast<const std::byte*>(bytes);
  to.insert(to.end(), from, from + count);
}

std::vector<std::byte> body_of(const ClockHead& head, std::span<const ClockSegment> segments) {
  std::vector<std::byte> body;
  append(body, &head, sizeof head);
  if (!segments.empty()) append(body, segments.data(), segments.size_bytes());
  return body;
}

void wait_until(uint64_t monotonic_ns) {
  const timespec until{static_cast<time_t>(monotonic_ns / 1'000'000'000),
                       static_cast<long>(monotonic_ns % 1'000'000'000)};
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr) == EINTR) {
  }
}

}  // namespace

ClockPublisher::ClockPublisher(card::Card& card, ClockSampler& sampler, Publisher& publisher,
                               shm::SegmentWriter& segment, Visibility::Take visible)
    : card_(card),
      sampler_(sampler),
      publisher_(publisher),
      segment_(segment),
      domains_(1),
      models_(sampler.first_era()),
      visibility_(std::move(visible)),
      due_ns_(monotonic_now_ns() + kFirstSampleNs) {}

Access ClockPublisher::poll(uint64_t now_ns) {
  if (now_ns < due_ns_) return Access::ok;
  const uint64_t period = sampler_.period_ns();
  due_ns_ += (now_ns - due_ns_) / period * period + period;
  if (!models_.behind() && sampler_.sample() == Access::gone) return Access::gone;
  publish_domains();
  publish_telemetry(now_ns);
  give(now_ns);
  if (auto made = models_.take()) take(*std::move(made));
  if (now_ns >= chunk_due_ns_) {
    chunk_due_ns_ = now_ns + kChunkNs;
    publish_fresh();
  }
  return Access::ok;
}

void ClockPublisher::publish_domains() {
  if (const std::string domains = sampler_.take_domains(); !domains.empty())
    segment_.add_standing(shm::ChunkKind::clock_domains, domains);
}

void ClockPublisher::give(uint64_t now_ns) {
  sampler_.move_inputs(inputs_);
  if (now_ns < give_due_ns_) return;
  give_due_ns_ = now_ns + kGiveNs;
  const bool table = now_ns >= table_due_ns_;
  if (table) table_due_ns_ = now_ns + kTableNs;
  models_.give(inputs_, sampler_.domains(), table);
}

void ClockPublisher::take(ModelThread::Made made) {
  sampler_.learn(std::move(made.known));
  domains_.resize(made.final.size());
  for (size_t d = 0; d < domains_.size(); ++d) {
    Segments& s = domains_[d];
    s.fresh.insert(s.fresh.end(), made.final[d].begin(), made.final[d].end());
    s.recent.insert(s.recent.end(), made.final[d].begin(), made.final[d].end());
    if (s.recent.size() > kRecentInTable) s.recent.erase(s.recent.begin(), s.recent.end() - kRecentInTable);
  }
  if (!domains_.front().recent.empty()) bound_ = domains_.front().recent.back().bound;
  if (!made.provisional) return;
  write_table(*made.provisional);
  count();
}

void ClockPublisher::publish_fresh() {
  for (size_t d = 0; d < domains_.size(); ++d) {
    visibility_.settle(d, sampler_.head(d), domains_[d].recent, raw_now_ns());
    publisher_.publish_body(shm::ChunkKind::clock, body_of(sampler_.head(d), domains_[d].fresh));
    domains_[d].fresh.clear();
  }
}

// Every domain's head, recent and provisional segments, each body behind its length in bytes
// (live_clock.hpp).
void ClockPublisher::write_table(const ClockModels::Segments& provisional) {
  std::vector<std::byte> table;
  const size_t room =
      (shm::ClockTableWriter::capacity() / domains_.size() * 8 - sizeof(uint64_t) - sizeof(ClockHead)) /
      sizeof(ClockSegment);
  for (size_t d = 0; d < domains_.size(); ++d) {
    std::vector<ClockSegment> segments = domains_[d].recent;
    segments.insert(segments.end(), provisional[d].begin(), provisional[d].end());
    if (segments.size() > room)
      segments.erase(segments.begin(), segments.end() - static_cast<ptrdiff_t>(room));
    const std::vector<std::byte> body = body_of(sampler_.head(d), segments);
    const uint64_t length = body.size();
    if (table.size() + sizeof length + length > shm::ClockTableWriter::capacity() * 8) break;
    append(table, &length, sizeof length);
    append(table, body.data(), body.size());
  }
  std::vector<uint64_t> words(table.size() / 8);
  std::memcpy(words.data(), table.data(), words.size() * 8);
  segment_.set_clock(words);
}

void ClockPublisher::publish_telemetry(uint64_t now_ns) {
  if (now_ns < telemetry_due_ns_) return;
  telemetry_due_ns_ = now_ns + kTelemetryNs;
  const card::Telemetry t = card_.telemetry();
  if (t.aiclk_mhz && std::exchange(reported_aiclk_mhz_, *t.aiclk_mhz) != *t.aiclk_mhz)
    sampler_.expect_motion();
  shm::TelemetryRecord record;
  record.host_ns = raw_now_ns();
  record.known = (t.aiclk_mhz ? 1u : 0u) | (t.power_mw ? 2u : 0u) | (t.temperature_mc ? 4u : 0u);
  add_own_load(record);
  if (record.known == 0) return;
  record.aiclk_mhz = t.aiclk_mhz.value_or(0);
  record.power_mw = t.power_mw.value_or(0);
  record.temperature_mc = t.temperature_mc.value_or(0);
  publisher_.publish_body(shm::ChunkKind::telemetry, std::as_bytes(std::span(&record, 1)));
}

void ClockPublisher::add_own_load(shm::TelemetryRecord& record) {
  using shm::Counter;
  const uint64_t bytes = segment_.get(Counter::card_bytes), carried = segment_.get(Counter::link_bytes_per_s);
  const auto ppm = [](double share) {
    return static_cast<uint32_t>(std::lround(std::min(share, 1.0) * 1e6));
  };
  if (carried && load_known_ns_ && record.host_ns > load_known_ns_ && bytes >= bytes_known_) {
    const double seconds = static_cast<double>(record.host_ns - load_known_ns_) / 1e9;
    record.link_share_ppm =
        ppm(static_cast<double>(bytes - bytes_known_) / seconds / static_cast<double>(carried));
    record.known |= 1u << 3;
  }
  load_known_ns_ = record.host_ns;
  bytes_known_ = bytes;
  const uint64_t log_words = segment_.get(Counter::log_words);
  const uint32_t fullest = publisher_.take_fullest_log_words();
  if (!log_words) return;
  record.log_fill_ppm = ppm(static_cast<double>(fullest) / static_cast<double>(log_words));
  record.known |= 1u << 4;
}

void ClockPublisher::count() {
  using shm::Counter;
  const ClockSampler::Figures f = sampler_.figures();
  segment_.set(Counter::clock_samples, f.stats.samples);
  segment_.set(Counter::clock_steps, f.stats.steps);
  segment_.set(Counter::clock_violations, f.stats.violations);
  segment_.set(Counter::clock_eras, f.stats.eras);
  segment_.set(Counter::clock_hz, static_cast<uint64_t>(f.hz));
  segment_.set(Counter::visibility_without_clock, visibility_.without_clock());
  segment_.set(Counter::clock_bound_ns, bound_ == kNoBound ? 0 : bound_ / kHostTicksPerNs);
}

void ClockPublisher::close(bool card_answers, bool has_time) {
  for (int i = 0; has_time && card_answers && i < kLastSamples; ++i) {
    wait_until(due_ns_);
    card_answers = poll(monotonic_now_ns()) == Access::ok;
  }
  // A run shorter than the first round over the tiles would have no times but those of one.
  if (!has_time && card_answers) card_answers = sampler_.sample() == Access::ok;
  if (card_answers) sampler_.finish_first_round();
  publish_domains();
  sampler_.move_inputs(inputs_);
  models_.give(inputs_, sampler_.domains(), false);
  const uint64_t bound = bound_;  // not that of the last samples
  take(models_.finish());
  bound_ = bound;
  publish_fresh();
}

}  // namespace ttc::collect
