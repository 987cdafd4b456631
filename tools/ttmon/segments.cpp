#include "tools/ttmon/segments.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "shm/reader.hpp"
#include "ttcollect/host_time.hpp"
#include "ttcollect/late_reader.hpp"
#include "ttcollect/live_clock.hpp"

namespace ttc::tools {
namespace {

constexpr uint64_t kLossesEveryNs = 1'000'000'000;

using Readers = std::vector<shm::Reader>;

// The segment's current account of losses, by cause.
std::map<std::string, LossSum> read_losses(const std::string& live_name) {
  std::map<uint64_t, shm::LossRecord> records;
  try {
    shm::Reader reader(live_name, shm::StartAt::newest);  // the account comes first
    for (std::vector<uint64_t> chunk; reader.next(chunk, 0) == shm::Reader::Next::chunk;) {
      if (shm::header_of(chunk).kind != shm::ChunkKind::loss) continue;
      shm::LossRecord r;
      std::memcpy(&r, shm::body_of(chunk).data(), sizeof r);
      records[r.id] = r;
    }
  } catch (const shm::SegmentError&) {
    return {};  // it was removed meanwhile; what is shown beside this is the last there was
  }
  std::map<std::string, LossSum> lost;
  for (const auto& [id, r] : records) {
    LossSum& l = lost[shm::to_string(r.cause)];
    ++l.intervals;
    if (r.precision == shm::LossPrecision::exact_words)
      l.words += r.words;
    else if (r.precision == shm::LossPrecision::bounded_launches)
      l.launches += r.launches;
    else
      ++l.unknown;
  }
  return lost;
}

std::string late_now(const std::string& live_name) {
  try {
    shm::Reader reader(live_name, shm::StartAt::oldest);
    for (std::vector<uint64_t> chunk;;) {
      const shm::Reader::Next next = reader.next(chunk, 0);
      if (next != shm::Reader::Next::chunk && next != shm::Reader::Next::lapped)
        return collect::late_reader(reader);
      const bool of_the_ring =
          next == shm::Reader::Next::chunk && !(shm::header_of(chunk).flags & shm::kStanding);
      if (of_the_ring && (reader.overwritten().chunks == 0 || reader.overwritten().kept_from_ns))
        return collect::late_reader(reader);
    }
  } catch (const shm::SegmentError&) {
    return {};  // likewise
  }
}

// The newest conditional segment, else the newest: of the last two periods no more is known yet.
const collect::ClockSegment& best_of(const collect::ClockMap& map) {
  for (auto s = map.segments().rbegin(); s != map.segments().rend(); ++s)
    if (s->kind == collect::BoundKind::conditional) return *s;
  return map.segments().back();
}

std::vector<ClockState> clocks_of(const shm::Reader& reader) {
  std::vector<uint64_t> words;
  std::vector<ClockState> clocks;
  if (!reader.clock(words)) return clocks;
  for (const collect::ClockMap& map : collect::live_clock(words)) {
    if (map.empty()) continue;
    const collect::ClockSegment& s = best_of(map);
    clocks.push_back({map.head().domain, map.segments().size(),
                      static_cast<double>(s.to_cycles - s.from_cycles) * collect::kHostTicksPerNs * 1e9 /
                          static_cast<double>(s.host_to - s.host_from),
                      static_cast<double>(s.bound) / collect::kHostTicksPerNs, to_string(s.kind)});
  }
  return clocks;
}

// Every live collector; when there is none, what earlier ones left.
Readers attach_to_all() {
  Readers live, left;
  for (const shm::SegmentInfo& s : shm::list_segments()) {
    if (!s.refused.empty() || is_host_side(s)) continue;
    try {
      shm::Reader reader(s.live_name, shm::StartAt::newest);
      (reader.writer_alive() ? live : left).push_back(std::move(reader));
    } catch (const shm::SegmentError&) {
      continue;  // it went away after it was listed
    }
  }
  return live.empty() ? std::move(left) : std::move(live);
}

Readers attach_to_any() {
  Readers all = attach_to_all();
  if (all.empty())
    throw shm::SegmentError("no collector is running and none left a segment; start ttcollect --device ...");
  return all;
}

}  // namespace

const char* to_string(Writer writer) {
  switch (writer) {
    case Writer::live:
      return "live";
    case Writer::ended:
      return "ended";
    case Writer::died:
      break;
  }
  return "not running";
}

Segments::Segments(std::vector<std::string> names) : names_(std::move(names)) {
  for (const std::string& name : names_) {
    Attached one(shm::Reader(name, shm::StartAt::newest));
    if (is_host_side(one.reader.info()))
      throw shm::SegmentError(
          "live:" + name +
          " is the host side of a workload, and no collector; ttmon reads its names of ops by itself");
    attached_.emplace(name, std::move(one));
  }
  if (!names_.empty()) return;
  for (shm::Reader& reader : attach_to_any()) {
    const std::string live_name = reader.info().live_name;
    attached_.emplace(live_name, Attached(std::move(reader)));
  }
}

// Collectors come and go.
void Segments::attach_new() {
  for (const shm::SegmentInfo& s : shm::list_segments()) {
    if (!s.refused.empty() || !s.alive || is_host_side(s) ||
        (!names_.empty() && std::find(names_.begin(), names_.end(), s.live_name) == names_.end()))
      continue;
    const auto known = attached_.find(s.live_name);
    if (known != attached_.end() && known->second.reader.info().session == s.session) continue;
    try {
      Attached one(shm::Reader(s.live_name, shm::StartAt::newest));
      if (known != attached_.end()) attached_.erase(known);
      attached_.emplace(s.live_name, std::move(one));
    } catch (const shm::SegmentError&) {
      continue;  // it went away after it was listed
    }
  }
}

const std::map<std::string, LossSum>& Segments::losses_of(Attached& one, uint64_t now_ns) {
  const uint64_t intervals = one.reader.counter(shm::Counter::loss_intervals);
  if (one.losses.at_ns == 0 || (intervals > 0 && now_ns - one.losses.at_ns > kLossesEveryNs))
    one.losses = {now_ns, read_losses(one.reader.info().live_name)};
  return one.losses.sums;
}

// The state read when it was attached to is outdated: once its writer is gone, its last state counts.
Writer Segments::writer_of(Attached& one) {
  if (one.reader.writer_alive()) return Writer::live;
  if (!one.ended) {
    one.ended = one.reader.info().ended;
    try {
      const shm::Reader now(one.reader.info().live_name, shm::StartAt::newest);
      if (now.info().session == one.reader.info().session) one.ended = now.info().ended;
    } catch (const shm::SegmentError&) {
      // It was removed: keep the state that was read when it was attached to.
    }
  }
  return *one.ended ? Writer::ended : Writer::died;
}

CardSample Segments::look_at(Attached& one, const LookFor& what) {
  const shm::SegmentInfo& info = one.reader.info();
  CardSample s;
  s.live_name = info.live_name;
  s.device = info.device_spec;
  s.pid = info.writer_pid;
  s.session = info.session;
  s.writer = writer_of(one);
  s.at_ns = collect::monotonic_now_ns();
  s.heartbeat_ns = one.reader.heartbeat_ns();
  for (size_t i = 0; i < shm::kCounters; ++i)
    s.counters[i] = one.reader.counter(static_cast<shm::Counter>(i));
  s.lost = losses_of(one, s.at_ns);
  s.clocks = clocks_of(one.reader);
  if (what.overwritten) s.overwritten = late_now(info.live_name);
  if (!what.activity_budget) return s;
  try {
    if (!one.activity) one.activity = std::make_unique<ActivityReader>(info.live_name);
    s.activity = one.activity->look(
        what.activity_budget / attached_.size(), collect::raw_now_ns(), s.count(shm::Counter::log_words),
        [&](uint64_t workload_pid) { return op_names_.of(info.writer_pid, workload_pid); });
  } catch (const shm::SegmentError&) {
    return s;  // it was removed meanwhile; the counters are those of the memory that is still mapped
  }
  return s;
}

std::vector<CardSample> Segments::look(const LookFor& what) {
  attach_new();
  if (what.activity_budget) op_names_.look(what.activity_budget / 4);
  std::vector<CardSample> samples;
  for (auto& [name, one] : attached_) samples.push_back(look_at(one, what));
  return samples;
}

bool Segments::any_alive() const {
  return std::any_of(attached_.begin(), attached_.end(),
                     [](const auto& one) { return one.second.reader.writer_alive(); });
}

void Segments::clear_activity() {
  for (auto& [name, one] : attached_)
    if (one.activity) one.activity->clear();
}

std::vector<std::string> all_collectors() {
  std::vector<std::string> names;
  for (const shm::Reader& r : attach_to_any()) names.push_back("live:" + r.info().live_name);
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace ttc::tools
