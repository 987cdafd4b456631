#include "collector/ttcollect/commands.hpp"

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>

#include "collector/capture/capture_file.hpp"
#include "collector/doctor/doctor.hpp"
#include "collector/inspect/inventory.hpp"
#include "collector/inspect/probe.hpp"
#include "collector/inspect/sync_run.hpp"
#include "collector/ttcollect/program.hpp"
#include "collector/ttcollect/report.hpp"
#include "collector/ttcollect/selftest_command.hpp"

namespace ttc::collect {
namespace {

// Prints a sentence for each failure and returns the exit code: a failed output before broken-off collecting, that before a vanished card.
int verdict(const RunResult& result, const std::string& output) {
  const DeviceResult* failed = nullptr;
  for (const DeviceResult& d : result.devices)
    if (!d.output_error.empty() && !failed) failed = &d;
  if (failed) say(Exit::kOutput, output + ": " + failed->output_error);
  bool vanished = false;
  for (const DeviceResult& d : result.devices) {
    if (!d.card_vanished) continue;
    vanished = true;
    say(Exit::kCardVanished,
        d.identity.spec + " went away unannounced; everything read until then is in live:" + d.live_name +
            (output.empty() ? "" : " and " + output));
  }
  bool broke = false;
  for (const DeviceResult& d : result.devices) {
    if (d.failure.empty()) continue;
    broke = true;
    say(Exit::kFailed, d.identity.spec + ": collecting broke off: " + d.failure +
                           "; what was read until then is in live:" + d.live_name +
                           (output.empty() ? "" : " and " + output));
  }
  for (const std::string& failure : result.companion_failures) say(Exit::kOutput, failure);
  return failed || !result.companion_failures.empty() ? Exit::kOutput
         : broke                                      ? Exit::kFailed
         : vanished                                   ? Exit::kCardVanished
                                                      : Exit::kOk;
}

int list_all(bool as_json, const std::string& root) {
  try {
    list(as_json, card::roots_below(root));
    return Exit::kOk;
  } catch (const card::InventoryError& e) {
    return say(Exit::kNoDevice, e.what());
  }
}

int examine(const CommandLine& line) {
  doctor::Look look;
  look.root = line.doctor_root;
  look.only_pid = line.doctor_pid;
  try {
    return doctor::examine(look, line.doctor_json || line.as_json) ? Exit::kOk : Exit::kInTheWay;
  } catch (const doctor::NoSuchProcess& e) {
    return say(Exit::kNoDevice, e.what());
  } catch (const card::InventoryError& e) {
    return say(Exit::kNoDevice, e.what());
  }
}

int probe_one(const std::string& device, const card::OpenOptions& open, uint32_t samples, bool as_json) {
  try {
    probe(device, open, samples, as_json);
    return Exit::kOk;
  } catch (const card::OpenError& e) {
    return say(Exit::kNoDevice, e.what());
  } catch (const ProbeError& e) {
    return say(Exit::kCardVanished, e.what());
  }
}

int run_sync(const RunOptions& o, bool as_json, const std::string& svg) {
  if (!o.output.empty())
    return say(Exit::kUsage, "sync collects no markers, so --output has no use; --svg FILE draws its result");
  SyncOptions options;
  options.devices = o.devices;
  if (o.duration_ns) options.duration_ns = o.duration_ns;
  options.sampler = o.sampler;
  options.open = o.open;
  try {
    const std::vector<SyncResult> results = sync(options);
    std::fputs((as_json ? sync_json(results) + "\n" : sync_table(results)).c_str(), stdout);
    if (!svg.empty()) {
      std::ofstream file(svg);
      file << sync_svg(results) << std::flush;
      if (!file) return say(Exit::kOutput, svg + " cannot be written: " + std::strerror(errno));
    }
    for (const SyncResult& r : results)
      if (r.vanished)
        return say(Exit::kCardVanished, r.identity.spec + " went away while its clock was read");
    return Exit::kOk;
  } catch (const DeviceListError& e) {
    return say(Exit::kUsage, e.what());
  } catch (const card::OpenError& e) {
    return say(Exit::kNoDevice, e.what());
  }
}

// Conditions that would spoil the recording. Printed once the drains run, which must not wait for it, or
// when a card was refused, for which they may be the reason.
void say_what_is_in_the_way(const RunOptions& o) {
  if (o.quiet || o.devices.empty()) return;
  for (const std::string& sentence : doctor::in_the_way_of(o.devices)) say(Exit::kOk, sentence);
}

int collect_devices(const CommandLine& line) {
  const RunOptions& o = line.run;
  if (o.verbose && o.flight.bytes)
    say(Exit::kOk, flight_arithmetic(o.flight, o.ring_bytes));
  else if (o.verbose && !o.output.empty())
    say(Exit::kOk, capture_arithmetic(o.capture, o.ring_bytes));
  const RunResult result = run(o);
  if (line.as_json) std::printf("%s\n", to_json(result).c_str());
  if (!line.as_json && !o.quiet) {
    for (const DeviceResult& d : result.devices) say_lines(to_text(d, o.verbose));
    if (result.capture) say_lines(to_text(*result.capture, o.verbose));
  }
  return verdict(result, o.output);
}

int run_collector(const CommandLine& line) {
  const auto refused = [&](int code, const std::exception& e) {
    if (line.as_json) std::printf("%s\n", refusal_json(code, e.what()).c_str());
    return say(code, e.what());
  };
  const auto refused_by_a_card = [&](int code, const std::exception& e) {
    refused(code, e);
    say_what_is_in_the_way(line.run);
    return code;
  };
  try {
    return collect_devices(line);
  } catch (const DeviceListError& e) {
    return refused(Exit::kUsage, e);
  } catch (const card::OpenError& e) {
    return refused_by_a_card(Exit::kNoDevice, e);
  } catch (const AttachError& e) {
    return refused_by_a_card(Exit::kNoProfiler, e);
  } catch (const shm::SegmentError& e) {
    return refused(Exit::kSegment, e);
  } catch (const CaptureError& e) {
    return refused(Exit::kOutput, e);
  }
}

}  // namespace

int run_command(CommandLine& line) {
  if (*line.list) return list_all(line.list_json || line.as_json, line.root);
  if (*line.doctor) return examine(line);
  if (*line.probe)
    return probe_one(line.probed, line.run.open, line.samples, line.probe_json || line.as_json);
  if (*line.clean) return clean(), Exit::kOk;
  if (*line.selftest) return run_selftest(line);
  complete(line);
  line.run.when_begun = [&line] { say_what_is_in_the_way(line.run); };
  return *line.sync ? run_sync(line.run, line.as_json, line.svg) : run_collector(line);
}

}  // namespace ttc::collect
