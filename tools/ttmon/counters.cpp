#include "tools/ttmon/counters.hpp"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <map>
#include <nlohmann/json.hpp>
#include <thread>
#include <utility>
#include <vector>

#include "collector/program/json_text.hpp"
#include "collector/program/printable.hpp"
#include "shm/reader.hpp"
#include "ttcollect/late_reader.hpp"
#include "ttcollect/live_clock.hpp"

namespace ttc::tools {
namespace {

using Readers = std::vector<shm::Reader>;

// What a collector did to its card between two polls, a second.
struct Footprint {
  double reads = 0, bytes = 0, re_aims = 0, link_percent = 0;
  bool known = false;  // there were two polls
};

class Footprints {
 public:
  // Since the last call for this reader's collector.
  Footprint of(const shm::Reader& reader) {
    using shm::Counter;
    const auto count = [&](Counter c) { return static_cast<double>(reader.counter(c)); };
    const Sample now{std::chrono::steady_clock::now(), reader.info().session, count(Counter::round_trips),
                     count(Counter::card_bytes), count(Counter::window_moves)};
    const Sample before = std::exchange(samples_[reader.info().live_name], now);
    const double seconds = std::chrono::duration<double>(now.at - before.at).count();
    if (before.session != now.session || seconds <= 0) return {};
    Footprint f{(now.reads - before.reads) / seconds, (now.bytes - before.bytes) / seconds,
                (now.re_aims - before.re_aims) / seconds, 0, true};
    if (const double link = count(Counter::link_bytes_per_s); link > 0) f.link_percent = 100 * f.bytes / link;
    return f;
  }

 private:
  struct Sample {
    std::chrono::steady_clock::time_point at;
    uint64_t session = 0;
    double reads = 0, bytes = 0, re_aims = 0;
  };
  std::map<std::string, Sample> samples_;  // by live name
};

std::string state_of(const shm::Reader& reader) {
  if (reader.writer_alive()) return "live";
  return reader.info().ended ? "ended" : "not running";
}

// The account of losses as it stands in the segment, by cause.
struct Lost {
  uint64_t intervals = 0, words = 0, launches = 0, unknown = 0;
};
std::map<std::string, Lost> losses_of(const shm::Reader& of) {
  std::map<uint64_t, shm::LossRecord> records;
  try {
    shm::Reader reader(of.info().live_name, shm::StartAt::newest);  // the account comes first
    for (std::vector<uint64_t> chunk; reader.next(chunk, 0) == shm::Reader::Next::chunk;) {
      if (shm::header_of(chunk).kind != shm::ChunkKind::loss) continue;
      shm::LossRecord r;
      std::memcpy(&r, shm::body_of(chunk).data(), sizeof r);
      records[r.id] = r;
    }
  } catch (const shm::SegmentError&) {
    return {};  // it was removed meanwhile; what is shown beside this is the last there was
  }
  std::map<std::string, Lost> lost;
  for (const auto& [id, r] : records) {
    Lost& l = lost[shm::to_string(r.cause)];
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

// What a reader that begins now finds overwritten.
std::string late_now(const shm::Reader& of) {
  try {
    shm::Reader reader(of.info().live_name, shm::StartAt::oldest);
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

void show_losses(const shm::Reader& reader) {
  const auto lost = losses_of(reader);
  const std::string late = late_now(reader);
  if (lost.empty()) std::printf(late.empty() ? "  nothing lost\n" : "  nothing lost by the collector\n");
  if (!late.empty()) std::printf("  for a reader that begins now: %s\n", program::printable(late).c_str());
  for (const auto& [cause, l] : lost)
    std::printf(
        "  lost: %-20s %llu intervals: %llu words exactly, at most %llu launches, %llu of unknown size\n",
        cause.c_str(), static_cast<unsigned long long>(l.intervals), static_cast<unsigned long long>(l.words),
        static_cast<unsigned long long>(l.launches), static_cast<unsigned long long>(l.unknown));
}

// Of the domains that have anything to show.
std::vector<collect::ClockMap> clocks_of(const shm::Reader& reader) {
  std::vector<uint64_t> words;
  if (!reader.clock(words)) return {};
  std::vector<collect::ClockMap> maps = collect::live_clock(words);
  std::erase_if(maps, [](const auto& m) { return m.empty(); });
  return maps;
}

// The newest conditional segment, else the newest: nobody can say more of the last two periods yet.
const collect::ClockSegment& best_of(const collect::ClockMap& map) {
  for (auto s = map.segments().rbegin(); s != map.segments().rend(); ++s)
    if (s->kind == collect::BoundKind::conditional) return *s;
  return map.segments().back();
}
double bound_ns(const collect::ClockSegment& s) {
  return static_cast<double>(s.bound) / collect::kHostTicksPerNs;
}
double hz_of(const collect::ClockSegment& s) {
  return static_cast<double>(s.to_cycles - s.from_cycles) * collect::kHostTicksPerNs * 1e9 /
         static_cast<double>(s.host_to - s.host_from);
}

nlohmann::ordered_json snapshot(const shm::Reader& reader, Footprints& footprints) {
  nlohmann::ordered_json j{{"live", reader.info().live_name},
                           {"device", reader.info().device_spec},
                           {"pid", reader.info().writer_pid},
                           {"state", state_of(reader)}};
  for (size_t i = 0; i < shm::kCounters; ++i) {
    const auto counter = static_cast<shm::Counter>(i);
    j["counters"][shm::label(counter)] = reader.counter(counter);
  }
  for (const collect::ClockMap& map : clocks_of(reader)) {
    j["clocks"].push_back({{"domain", map.head().domain},
                           {"segments", map.segments().size()},
                           {"hz", hz_of(best_of(map))},
                           {"bound_ns", bound_ns(best_of(map))},
                           {"kind", to_string(best_of(map).kind)}});
  }
  if (const std::string late = late_now(reader); !late.empty()) j["overwritten"] = late;
  j["lost"] = nlohmann::ordered_json::object();
  for (const auto& [cause, l] : losses_of(reader))
    j["lost"][cause] = {{"intervals", l.intervals},
                        {"words", l.words},
                        {"launches_at_most", l.launches},
                        {"unknown", l.unknown}};
  if (const Footprint f = footprints.of(reader); f.known)
    j["footprint"] = {{"reads_per_s", f.reads},
                      {"bytes_per_s", f.bytes},
                      {"re_aims_per_s", f.re_aims},
                      {"link_percent", f.link_percent}};
  return j;
}

void show_all_counters(const shm::Reader& reader, Footprints& footprints) {
  std::printf("live:%s  %s  pid %lld  %s\n", program::printable(reader.info().live_name).c_str(),
              program::printable(reader.info().device_spec).c_str(),
              static_cast<long long>(reader.info().writer_pid), state_of(reader).c_str());
  for (size_t i = 0; i < shm::kCounters; ++i) {
    const auto counter = static_cast<shm::Counter>(i);
    std::printf("  %-22s %20llu\n", shm::label(counter),
                static_cast<unsigned long long>(reader.counter(counter)));
  }
  if (const Footprint f = footprints.of(reader); f.known)
    std::printf("  card: %.0f reads/s  %.2f MB/s (%.2g %% of the link)  %.0f re-aims/s\n", f.reads,
                f.bytes / 1e6, f.link_percent, f.re_aims);
}

void show_clocks(const shm::Reader& reader) {
  for (const collect::ClockMap& map : clocks_of(reader))
    std::printf("  clock domain %u         %.6f MHz, markers' host times within %.0f ns (%s)\n",
                map.head().domain, hz_of(best_of(map)) / 1e6, bound_ns(best_of(map)),
                to_string(best_of(map).kind));
}

// Several collectors: a line each.
void show_table(const Readers& readers, Footprints& footprints) {
  using shm::Counter;
  constexpr Counter kColumns[] = {Counter::cores,  Counter::programs,       Counter::markers,
                                  Counter::chunks, Counter::loss_intervals, Counter::sweep_ns_p50};
  std::printf("%-28s %-11s %8s", "segment", "state", "pid");
  for (const Counter c : kColumns) std::printf(" %14s", shm::label(c));
  std::printf(" %10s %8s %8s\n", "reads/s", "MB/s", "link %");
  for (const shm::Reader& r : readers) {
    std::printf("%-28s %-11s %8lld", program::printable("live:" + r.info().live_name).c_str(),
                state_of(r).c_str(), static_cast<long long>(r.info().writer_pid));
    for (const Counter c : kColumns) std::printf(" %14llu", static_cast<unsigned long long>(r.counter(c)));
    if (const Footprint f = footprints.of(r); f.known)
      std::printf(" %10.0f %8.2f %8.2g\n", f.reads, f.bytes / 1e6, f.link_percent);
    else
      std::printf(" %10s %8s %8s\n", "-", "-", "-");
  }
}

void show(const Readers& readers, Footprints& footprints, bool json, bool terminal) {
  if (terminal) std::fputs("\033[H\033[J", stdout);
  if (json)
    for (const shm::Reader& r : readers)
      std::printf("%s\n", program::json_text(snapshot(r, footprints)).c_str());
  else if (readers.size() == 1)
    show_all_counters(readers.front(), footprints), show_losses(readers.front()),
        show_clocks(readers.front());
  else
    show_table(readers, footprints);
  std::fflush(stdout);
}

// Every live collector; when there is none, what earlier ones left. Throws SegmentError when there is
// nothing.
Readers attach_to_all() {
  Readers live, left;
  std::vector<shm::SegmentInfo> segments = shm::list_segments();
  std::sort(segments.begin(), segments.end(),
            [](const auto& a, const auto& b) { return a.live_name < b.live_name; });
  for (const shm::SegmentInfo& s : segments) {
    if (!s.refused.empty()) continue;
    try {
      shm::Reader reader(s.live_name, shm::StartAt::newest);
      (reader.writer_alive() ? live : left).push_back(std::move(reader));
    } catch (const shm::SegmentError&) {
      continue;  // it went away after it was listed
    }
  }
  if (live.empty() && left.empty())
    throw shm::SegmentError("no collector is running and none left a segment; start ttcollect --device ...");
  return live.empty() ? std::move(left) : std::move(live);
}

Readers attach_to(const std::string& name) {
  Readers one;
  one.emplace_back(name, shm::StartAt::newest);
  return one;
}

bool any_alive(const Readers& readers) {
  return std::any_of(readers.begin(), readers.end(), [](const auto& r) { return r.writer_alive(); });
}

}  // namespace

void show_counters(const CounterOptions& o, const volatile std::sig_atomic_t& stop) {
  Readers readers = o.name.empty() ? attach_to_all() : attach_to(o.name);
  Footprints footprints;
  for (;;) {
    show(readers, footprints, o.json, !o.json && !o.once && isatty(STDOUT_FILENO));
    if (o.once || !any_alive(readers) || stop) return;
    std::this_thread::sleep_for(std::chrono::nanoseconds(o.interval_ns));
    if (o.name.empty()) readers = attach_to_all();  // collectors come and go
  }
}

std::vector<std::string> all_collectors() {
  std::vector<std::string> names;
  for (const shm::Reader& r : attach_to_all()) names.push_back("live:" + r.info().live_name);
  return names;
}

}  // namespace ttc::tools
