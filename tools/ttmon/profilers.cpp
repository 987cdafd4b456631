#include "tools/ttmon/profilers.hpp"

#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstring>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <thread>

#include "collector/program/json_text.hpp"
#include "collector/program/output_guard.hpp"
#include "collector/program/pending_file.hpp"
#include "collector/program/program.hpp"
#include "tools/other_profilers/watch.hpp"
#include "ttcollect/host_time.hpp"

namespace ttc::tools {
namespace {

using collect::raw_now_ns;
using other_profilers::Found;
using other_profilers::OpRecord;
using other_profilers::ResidentCore;
using other_profilers::StreamLane;
using Json = nlohmann::ordered_json;

constexpr uint64_t kSearchAgainNs = 500'000'000;  // while nothing is found: the workload may have just begun

constexpr const char* kRiscs[] = {"BRISC", "NCRISC", "TRISC0", "TRISC1", "TRISC2"};

std::string name_of(card::Coord at) {
  return "(" + std::to_string(at.x) + "," + std::to_string(at.y) + ")";
}

class Watching {
 public:
  explicit Watching(const ProfilersOptions& options)
      : options_(options), watch_(options.device, options.search) {}

  void watch(const volatile std::sig_atomic_t& stop) {
    const uint64_t begun = raw_now_ns();
    uint64_t searched = begun;
    for (uint64_t now = begun; !stop && now - begun < options_.for_ns; now = raw_now_ns()) {
      if (watch_.gone()) break;
      if (!anything() && now - searched > kSearchAgainNs) {
        watch_.find();
        searched = raw_now_ns();
      }
      if (anything() && begun_.ns == 0) begun_ = pair();
      watch_.look(records_);
      if (!options_.trace.empty()) take_samples();
      std::this_thread::sleep_for(std::chrono::nanoseconds(options_.every_ns));
    }
    if (anything()) ended_ = pair();
  }

  Json as_json() const {
    Json named = Json::array(), streaming = Json::array();
    for (const Found::Named& n : found().named)
      named.push_back({{"name", n.name}, {"evidence", n.evidence}, {"excludes", n.excludes}});
    for (size_t i = 0; i < watch_.cores().size(); ++i) streaming.push_back(core_json(i));
    Json out{{"device", watch_.card().identity().live_name}, {"profilers", named}, {"streaming", streaming}};
    if (watch_.ring())
      out["real_time"] = {{"tile", name_of(found().real_time->at)},
                          {"address", watch_.ring()->address()},
                          {"records", watch_.ring()->records()},
                          {"programs", programs()},
                          {"missed", watch_.ring()->missed()},
                          {"doubtful", watch_.ring()->doubtful()},
                          {"restarts", watch_.ring()->restarts()},
                          {"terminated", watch_.ring()->terminated()},
                          {"busiest_cycles", longest().end - longest().start}};
    Json residents = Json::array();
    for (size_t i = 0; i < watch_.residents().size(); ++i) residents.push_back(resident_json(i));
    out["residents"] = residents;
    out["unread_looks"] = watch_.unread();
    out["round_trips"] = watch_.card().transactions().round_trips;
    return out;
  }

  std::string as_text() const {
    std::string text;
    for (const Found::Named& n : found().named)
      text += n.name + ": " + n.evidence + (n.excludes.empty() ? "" : "\n  excludes " + n.excludes) + "\n";
    if (found().named.empty()) return "no profiler but perhaps the device profiler, which ttcollect reads\n";
    char line[200];
    if (!watch_.cores().empty())
      text +=
          "streaming profiler's rings, in words of 512; reading consumes nothing\n"
          "  core     RISC         words   fill   peak   stalls   seen  unseen  overwritten\n";
    for (size_t i = 0; i < watch_.cores().size(); ++i)
      for (uint32_t r = 0; r < other_profilers::kStreamRiscs; ++r) {
        const StreamLane& l = watch_.cores()[i].lanes()[r];
        std::snprintf(line, sizeof line, "  %-8s %-7s %10llu %6u %6u %8llu %6llu %7llu %12llu%s\n",
                      name_of(found().streaming[i].at).c_str(), kRiscs[r], ull(l.words), l.fill, l.peak_fill,
                      ull(l.stalls), ull(l.stalls_seen), ull(l.unseen), ull(l.overwritten),
                      watch_.cores()[i].armed() ? "" : "  not armed");
        text += line;
      }
    for (size_t i = 0; i < watch_.residents().size(); ++i) {
      const ResidentCore& r = watch_.residents()[i];
      std::snprintf(line, sizeof line,
                    "streaming profiler's core %s, control block at 0x%X: %s, %.0f heartbeats a second, "
                    "longest silence %.1f ms, %u records dropped\n",
                    name_of(watch_.resident_places()[i].at).c_str(), watch_.resident_places()[i].address,
                    to_string(r.now().state), r.beats_a_second(), static_cast<double>(r.silent_ns()) / 1e6,
                    r.now().dropped);
      text += line;
    }
    if (!watch_.ring()) return text;
    const OpRecord most = longest();
    std::snprintf(line, sizeof line,
                  "real-time profiler's ring at %s 0x%X: %llu records, %llu of programs, %llu missed, %llu "
                  "doubtful%s\n",
                  name_of(found().real_time->at).c_str(), watch_.ring()->address(),
                  ull(watch_.ring()->records()), ull(programs()), ull(watch_.ring()->missed()),
                  ull(watch_.ring()->doubtful()), watch_.ring()->terminated() ? ", ended" : "");
    text += line;
    std::snprintf(line, sizeof line, "  longest: program %u, %llu cycles\n", most.runtime_id,
                  ull(most.end - most.start));
    return programs() ? text + line : text;
  }

  void write_trace() const {
    Json events = Json::array();
    const auto name = [&](int pid, const char* what) {
      events.push_back({{"ph", "M"}, {"pid", pid}, {"name", "process_name"}, {"args", {{"name", what}}}});
    };
    if (!watch_.cores().empty()) name(1, "streaming profiler's rings (words that no relay took)");
    if (watch_.ring()) name(2, "real-time profiler");
    for (const Sample& s : samples_)
      events.push_back({{"ph", "C"},
                        {"pid", 1},
                        {"name", "ring " + name_of(found().streaming[s.core].at)},
                        {"ts", us(s.ns)},
                        {"args", {{"fill", s.fill}, {"stalls", s.stalls}}}});
    for (const OpRecord& r : records_) {
      const double start = us_of(r.start);
      if (r.sync)
        events.push_back({{"ph", "i"}, {"pid", 2}, {"tid", 2}, {"s", "t"}, {"name", "clock"}, {"ts", start}});
      else
        events.push_back({{"ph", "X"},
                          {"pid", 2},
                          {"tid", 1},
                          {"name", "program " + std::to_string(r.runtime_id)},
                          {"ts", start},
                          {"dur", us_of(r.end) - start},
                          {"args",
                           {{"start_cycles", r.start},
                            {"end_cycles", r.end},
                            {"record", r.index},
                            {"program", r.runtime_id}}}});
    }
    write_whole(Json{{"displayTimeUnit", "ns"}, {"otherData", as_json()}, {"traceEvents", events}}.dump());
  }

 private:
  bool anything() const { return watch_.anything(); }

  struct Sample {
    uint64_t ns;
    size_t core;
    uint32_t fill, stalls;
  };
  struct Pair {  // of host time and a tile's clock
    uint64_t ns = 0, cycles = 0;
  };
  const Found& found() const { return watch_.found(); }
  static unsigned long long ull(uint64_t v) { return v; }

  void take_samples() {
    for (size_t i = 0; i < watch_.cores().size(); ++i) {
      Sample sample{raw_now_ns(), i, 0, 0};
      for (const StreamLane& lane : watch_.cores()[i].lanes()) {
        sample.fill = std::max(sample.fill, lane.fill);
        sample.stalls += static_cast<uint32_t>(lane.stalls);
      }
      samples_.push_back(sample);
    }
  }
  Pair pair() {
    Pair p;
    const card::Coord tile = watch_.ring() ? found().real_time->at : found().streaming.front().at;
    const uint64_t before = raw_now_ns();
    if (watch_.card().wall_clock(tile, p.cycles) != card::Access::ok) p.cycles = 0;
    const uint64_t after = raw_now_ns();
    p.ns = before + (after - before) / 2;
    return p;
  }
  double us(uint64_t ns) const { return static_cast<double>(static_cast<int64_t>(ns - begun_.ns)) / 1e3; }
  // A straight line through the two readings of the clock, or the clock rate that the card reports.
  double us_of(uint64_t cycles) const {
    double hz = static_cast<double>(watch_.card().identity().aiclk_mhz) * 1e6;
    if (begun_.cycles != 0 && ended_.cycles > begun_.cycles)
      hz = static_cast<double>(ended_.cycles - begun_.cycles) / static_cast<double>(ended_.ns - begun_.ns) *
           1e9;
    return static_cast<double>(static_cast<int64_t>(cycles - begun_.cycles)) / hz * 1e6;
  }
  uint64_t programs() const {
    uint64_t n = 0;
    for (const OpRecord& r : records_) n += !r.sync;
    return n;
  }
  OpRecord longest() const {
    OpRecord most;
    for (const OpRecord& r : records_)
      if (!r.sync && r.end - r.start > most.end - most.start) most = r;
    return most;
  }
  Json core_json(size_t i) const {
    Json lanes = Json::array();
    for (uint32_t r = 0; r < other_profilers::kStreamRiscs; ++r) {
      const StreamLane& l = watch_.cores()[i].lanes()[r];
      lanes.push_back({{"risc", kRiscs[r]},
                       {"words", l.words},
                       {"fill", l.fill},
                       {"peak_fill", l.peak_fill},
                       {"stalls", l.stalls},
                       {"stalls_seen", l.stalls_seen},
                       {"unseen", l.unseen},
                       {"overwritten", l.overwritten}});
    }
    return {{"core", name_of(found().streaming[i].at)},
            {"armed", watch_.cores()[i].armed()},
            {"restarts", watch_.cores()[i].restarts()},
            {"lanes", lanes}};
  }
  Json resident_json(size_t i) const {
    const ResidentCore& r = watch_.residents()[i];
    return {{"core", name_of(watch_.resident_places()[i].at)},
            {"address", watch_.resident_places()[i].address},
            {"state", to_string(r.now().state)},
            {"heartbeat", r.now().heartbeat},
            {"beats", r.beats()},
            {"beats_a_second", r.beats_a_second()},
            {"longest_silence_ns", r.silent_ns()},
            {"sync_records", r.now().sync_tail},
            {"dropped", r.now().dropped}};
  }
  void write_whole(const std::string& text) const {
    const auto cannot = [&](int error) {
      throw TraceError(options_.trace + " cannot be written: " + std::strerror(error));
    };
    program::PendingFile file(options_.trace);
    if (file.error()) cannot(file.error());
    for (size_t at = 0; at < text.size();) {
      const ssize_t n = ::write(file.fd(), text.data() + at, text.size() - at);
      if (n < 0 && errno != EINTR) cannot(errno);
      if (n > 0) at += static_cast<size_t>(n);
    }
    if (const int error = file.written()) cannot(error);
    if (const int error = file.put_in_place()) cannot(error);
  }

  const ProfilersOptions& options_;
  other_profilers::ProfilerWatch watch_;
  std::vector<OpRecord> records_;
  std::vector<Sample> samples_;
  Pair begun_, ended_;
};

}  // namespace

void show_profilers(const ProfilersOptions& options, const volatile std::sig_atomic_t& stop) {
  if (!options.trace.empty()) program::refuse_foreign_link(options.trace);
  Watching watching(options);
  watching.watch(stop);
  if (!options.trace.empty()) watching.write_trace();
  std::fputs((options.json ? program::json_text(watching.as_json()) + "\n" : watching.as_text()).c_str(),
             stdout);
}

}  // namespace ttc::tools
