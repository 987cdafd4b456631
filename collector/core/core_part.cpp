#include "collector/core/core_part.hpp"

#include <algorithm>

namespace ttc::collect {
namespace {

using card::Access;

constexpr uint64_t kReportWaitingNs = 2'000'000'000;
constexpr uint32_t kLandingLoads = 512;
constexpr size_t kHostsKept = 2048;

}  // namespace

bool CorePart::may_accumulate() const {
  if (kind().accumulates) return true;
  return !dev.mode_known && dev.attachment.layout->format.dispatch_core != 0 && is_tensix();
}

void CorePart::read_clock(uint64_t older_than_ns) const {
  const uint64_t host_ns = reader.now_ns();
  if (host_ns - dev.clock.newest_ns() < older_than_ns) return;
  if (const auto cycles = reader.wall_clock())  // else the next visit fails likewise
    dev.clock.add({host_ns, *cycles});
}

uint64_t CorePart::cycles_at(uint64_t host_ns) const {
  if (dev.clock.newest_ns() < host_ns) read_clock(0);
  return dev.clock.at(host_ns);
}

Access CorePart::wait_until_landed() const {
  const uint64_t began_ns = reader.now_ns();
  for (uint32_t i = 0; i < kLandingLoads && reader.now_ns() - began_ns < timing::kLandedNs; ++i)
    if (const auto again = sample(); !again) return again.error();
  return Access::ok;
}

card::Expected<bool> CorePart::is_being_pushed() const {
  const auto now = sample();
  if (!now) return card::failed(now.error());
  return !now->empty();
}

bool CorePart::words_wait(const ControlSample& snap) const {
  for (uint32_t r = 0; r < device::kMaxRiscs; ++r)
    if (snap.host_end[r] > core.lanes[r].cursor) return true;
  return false;
}

bool CorePart::near_full(const ControlSample& snap) const {
  return std::any_of(snap.host_end.begin(), snap.host_end.end(),
                     [&](uint32_t end) { return end + device::kBufferWords + 4 > dev.log_words(); });
}

void CorePart::note_reset(bool long_ago) const {
  core.rewind.note(core.polls, long_ago, reader.now_ns());
  if (is_tensix()) dev.resets.noticed(core.rewind.after_ns);
}

void CorePart::remember_hosts(std::span<const uint32_t> hosts) const {
  core.hosts.insert(core.hosts.end(), hosts.begin(), hosts.end());
  if (core.hosts.size() > 2 * kHostsKept)
    core.hosts.erase(core.hosts.begin(), core.hosts.end() - static_cast<ptrdiff_t>(kHostsKept));
}

Publisher::Core CorePart::chunk_core(uint32_t run_counter, uint64_t read_time_ns, uint32_t notes) const {
  return {core.tile.at.x,       core.tile.at.y, core.tile.kind, mode(), core.tile.flat_id,
          core.account.epoch(), run_counter,    read_time_ns,   notes};
}

void CorePart::report_waiting(uint64_t& since_ns, const std::string& why) const {
  if (since_ns == 0) since_ns = reader.now_ns();
  if (dev.waiting_reported || reader.now_ns() - since_ns < kReportWaitingNs) return;
  dev.waiting_reported = true;
  if (dev.options.report) dev.options.report("markers wait in the logs: " + why);
}

std::string CorePart::place() const {
  return "core (" + std::to_string(core.tile.at.x) + "," + std::to_string(core.tile.at.y) + ")";
}

}  // namespace ttc::collect
