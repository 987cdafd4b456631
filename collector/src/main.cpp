// ttcollect: the command line. Everything it does is in run.cpp.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "collector/capture_reader.hpp"
#include "report.hpp"

namespace {

using namespace ttc;

enum Exit {
  kOk = 0,
  kUsage = 2,
  kNoDevice = 3,
  kNoProfiler = 4,
  kSegment = 5,
  kOutput = 6,
  kCardVanished = 7
};

constexpr const char* kFooter =
    "Exit codes: 0 ended in order, 2 wrong usage, 3 no such device, 4 no profiler found on it, 5 segment "
    "cannot be\n"
    "made or is taken, 6 output file failed, 7 the card vanished while collecting (what was read is kept).";

int say(Exit code, const std::string& what) {
  std::fprintf(stderr, "ttcollect: %s\n", what.c_str());
  return code;
}

int list(bool as_json) {
  nlohmann::ordered_json out{{"cards", nlohmann::json::array()}, {"segments", nlohmann::json::array()}};
  for (const std::string& spec : card::present_cards()) {
    out["cards"].push_back(spec);
    if (!as_json) std::printf("card     %s\n", spec.c_str());
  }
  for (const shm::SegmentInfo& s : shm::list_segments()) {
    const char* state = !s.refused.empty() ? "unreadable"
                        : s.alive          ? "live"
                        : s.ended          ? "ended"
                                           : "crash remains";
    out["segments"].push_back({{"live", s.live_name},
                               {"device", s.device_spec},
                               {"state", state},
                               {"pid", s.writer_pid},
                               {"bytes", s.bytes}});
    if (!as_json)
      std::printf("segment  live:%s  %s  %s, pid %lld, %llu MiB\n", s.live_name.c_str(),
                  s.device_spec.c_str(), state, static_cast<long long>(s.writer_pid),
                  static_cast<unsigned long long>(s.bytes >> 20));
  }
  if (as_json)
    std::printf("%s\n", out.dump().c_str());
  else if (out["cards"].empty() && out["segments"].empty())
    std::printf("no card and no segment; start an emulated card with ttemu --name NAME\n");
  return kOk;
}

int clean() {
  for (const shm::SegmentInfo& s : shm::list_segments()) {
    if (s.alive) continue;
    if (shm::remove_segment(s.live_name)) std::printf("removed live:%s\n", s.live_name.c_str());
  }
  return kOk;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Collects device-profiler markers from a Tenstorrent card beside a running workload.",
               "ttcollect");
  app.footer(kFooter);
  app.set_version_flag("--version", "ttcollect " TTC_VERSION);
  collect::RunOptions o;
  double idle_us = 1000, busy_us = 50;
  bool as_json = false;
  app.add_option("--device,-d", o.device, "the card: emu:NAME");
  app.add_option("--for", o.duration_ns, "stop after this long: 500ms, 5s, 10min (default: until Ctrl-C)")
      ->transform(CLI::AsNumberWithUnit(
          std::map<std::string, uint64_t>{
              {"ns", 1}, {"us", 1000}, {"ms", 1000000}, {"s", 1000000000}, {"min", 60000000000}},
          CLI::AsNumberWithUnit::UNIT_REQUIRED, "TIME"));
  app.add_option("--output,-o", o.output, "also write a capture file, FILE.ttc");
  app.add_flag("--json", as_json, "print one JSON object at the end");
  app.add_flag("--quiet,-q", o.quiet, "no live line, no notes");
  app.add_option("--wait", o.wait_ns, "wait up to this long for card and profiler to appear: 30s")
      ->transform(CLI::AsNumberWithUnit(
          std::map<std::string, uint64_t>{{"ms", 1000000}, {"s", 1000000000}, {"min", 60000000000}},
          CLI::AsNumberWithUnit::UNIT_REQUIRED, "TIME"));
  app.add_option("--layout", o.layout, "profiler generation, instead of discovery: G3, G4")
      ->check([](const std::string& s) {
        return markers::layout_by_name(s) ? std::string() : "'" + s + "' is not a known layout; try G3 or G4";
      });
  app.add_option("--region-bytes", o.drain.bytes_per_risc,
                 "bytes per RISC in the DRAM log, instead of learning them (48000 is tt-metal's default)")
      ->check(CLI::Range(48u, 1u << 28));
  app.add_option("--metal-home", o.metal_home,
                 "where the zone logs are, instead of asking the workload's process");
  app.add_option("--ring", o.ring_bytes, "size of the shared ring: 32MiB (at least 256KiB)")
      ->transform(CLI::AsSizeValue(false))
      ->check(CLI::Range(uint64_t{256} << 10, uint64_t{1} << 31));
  app.add_option("--group", o.group, "group that may read the segment (mode 0640)");
  app.add_option("--idle-us", idle_us, "longest time between two looks at a core; worst case of the latency")
      ->check(CLI::Range(10.0, 1e6));
  app.add_option("--busy-us", busy_us, "time between two looks at a core that had news")
      ->check(CLI::Range(0.0, 1e6));
  app.add_flag("--plain", o.plain, "do not use io_uring");
  app.add_flag("--descriptor-reads", o.descriptor_reads,
               "read payload through the card's descriptor with io_uring, where it has one");
  bool list_json = false;
  CLI::App* list_cmd = app.add_subcommand("list", "cards and segments that are there");
  list_cmd->add_flag("--json", list_json, "as JSON");
  CLI::App* clean_cmd = app.add_subcommand("clean", "remove segments no living collector holds");
  app.require_subcommand(0, 1);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? kOk : kUsage;
  }
  if (*list_cmd) return list(list_json || as_json);
  if (*clean_cmd) return clean();
  if (o.device.empty())
    return say(kUsage, "no device named; --device emu:NAME, and `ttcollect list` shows what is there");
  o.json = as_json;
  o.drain.idle_interval_ns = static_cast<uint64_t>(idle_us * 1000);
  o.drain.busy_interval_ns = std::min(static_cast<uint64_t>(busy_us * 1000), o.drain.idle_interval_ns);
  try {
    const collect::RunResult result = collect::run(o);
    if (as_json)
      std::printf("%s\n", collect::to_json(result).c_str());
    else if (!o.quiet)
      std::fprintf(stderr, "ttcollect: %s\n", collect::to_text(result).c_str());
    if (!result.output_error.empty()) return say(kOutput, o.output + ": " + result.output_error);
    if (result.card_vanished)
      return say(kCardVanished, o.device + " went away unannounced; everything read until then is in live:" +
                                    result.live_name + (o.output.empty() ? "" : " and " + o.output));
    return kOk;
  } catch (const card::OpenError& e) {
    return say(kNoDevice, e.what());
  } catch (const collect::AttachError& e) {
    return say(kNoProfiler, e.what());
  } catch (const shm::SegmentError& e) {
    return say(kSegment, e.what());
  } catch (const collect::CaptureError& e) {
    return say(kOutput, e.what());
  }
}
