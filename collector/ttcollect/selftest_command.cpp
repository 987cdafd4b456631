// `ttcollect selftest`: the watches of collector/selftest, and a collector of our own for a part of the time.
#include "collector/ttcollect/selftest_command.hpp"

#include <algorithm>
#include <cstdio>

#include "collector/program/printable.hpp"
#include "collector/selftest/selftest.hpp"
#include "collector/ttcollect/program.hpp"
#include "collector/ttcollect/run.hpp"
#include "shm/segment.hpp"

namespace ttc::collect {
namespace {

constexpr uint64_t kRingBytes = 8u << 20;

selftest::CollectFigures figures_of(const DeviceResult& d) {
  selftest::CollectFigures f;
  f.seconds = d.duration_s;
  f.programs = d.programs;
  f.markers = d.markers;
  f.missed_poll_deadlines = d.missed_poll_deadlines;
  f.intervals_of_loss = d.lost.size();
  for (const shm::LossRecord& r : d.lost)
    if (r.precision == shm::LossPrecision::exact_words) f.words_lost += r.words;
  f.sweep_p99_ns = d.sweep_p99;
  return f;
}

// Removes the ring of a collector that was broken off, unless its writer is running.
void remove_ring(const std::string& device) {
  for (const shm::SegmentInfo& s : shm::list_segments())
    if (s.device_spec == device && !s.alive)
      if (const shm::Removal done = shm::remove_segment(s.live_name); !done) say(Exit::kOk, done.why_not);
}

// Makes a ring and removes it again. If one of the name exists, it stays, and no data is collected.
std::optional<selftest::CollectFigures> collect_for(const std::string& device, uint64_t for_ns,
                                                    std::string& why_not) {
  const auto segments = shm::list_segments();
  const auto same = std::find_if(segments.begin(), segments.end(),
                                 [&](const shm::SegmentInfo& s) { return s.device_spec == device; });
  if (same != segments.end()) {
    why_not = same->alive ? "another ttcollect collects from the card"
                          : "the ring of an earlier run is still there (`ttcollect clean` removes it)";
    return std::nullopt;
  }
  RunOptions options;
  options.devices = {device};
  options.duration_ns = for_ns;
  options.open.power_vote = false;
  options.ring_bytes = kRingBytes;
  options.quiet = true;
  try {
    const RunResult result = run(options);
    const DeviceResult& d = result.devices.at(0);
    if (const shm::Removal done = shm::remove_segment(d.live_name); !done) say(Exit::kOk, done.why_not);
    return figures_of(d);
  } catch (const std::exception&) {  // its sentence may name paths and processes
    remove_ring(device);
    why_not = "a collector could not be started; `ttcollect --device` prints the reason";
    return std::nullopt;
  }
}

int verdict(const selftest::Result& result) {
  if (selftest::any_contradicted(result.lines)) return Exit::kContradicted;
  return result.figures.vanished ? Exit::kCardVanished : Exit::kOk;
}

}  // namespace

int run_selftest(const CommandLine& line) {
  const bool as_json = line.selftest_json || line.as_json;
  if (line.selftest_list) {
    std::fputs(
        (as_json ? selftest::assumptions_as_json() + "\n" : selftest::assumptions_as_markdown()).c_str(),
        stdout);
    return Exit::kOk;
  }
  if (line.tested.empty())
    return say(Exit::kUsage, "selftest needs --device; `ttcollect list` shows what is there");
  selftest::Options options;
  options.device = line.tested;
  options.duration_ns = line.test_ns;
  options.until_contradicted = line.test_until_contradicted;
  options.reference_timer = line.test_reference_timer;
  options.collect = [&](uint64_t for_ns, std::string& why_not) {
    return collect_for(line.tested, for_ns, why_not);
  };
  try {
    const selftest::Result result = selftest::run(options);
    std::fputs((as_json ? selftest::to_json(result) + "\n" : selftest::to_text(result)).c_str(), stdout);
    return verdict(result);
  } catch (const card::OpenError& e) {
    return say(Exit::kNoDevice, e.what());
  }
}

}  // namespace ttc::collect
