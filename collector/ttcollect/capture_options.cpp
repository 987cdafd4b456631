#include "collector/ttcollect/capture_options.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <bit>
#include <cstdio>

#include "collector/program/option_names.hpp"

namespace ttc::collect {
namespace {

// The largest rate expected of a busy card, and the longest stall expected of a disk; their product is the default
// memory. Measured (bench/LEARNT.md): an emulated n150 at full rate stays below, and an SSD's pauses (a
// journal commit, a cache flush) do.
constexpr double kRate = 100e6;  // bytes of chunks a second
constexpr double kStall = 0.64;  // seconds
constexpr const char* kCaptureFile = "Capture file (-o)";
constexpr uint64_t kLargestFlight = uint64_t{1} << 30;

std::string mib(uint64_t bytes) {
  char text[40];
  std::snprintf(text, sizeof text, "%.4g MiB", static_cast<double>(bytes) / (1 << 20));
  return text;
}

bool bounds_a_file(const TypedCapture& t) {
  const TypedCapture usual;
  const CaptureBounds& b = t.options.bounds;
  return b.max_bytes || b.max_age_ns || b.durable_ns || t.rotate.bytes || t.rotate.nanoseconds ||
         t.keep != usual.keep || t.options.memory_bytes != usual.options.memory_bytes ||
         t.options.packers != usual.options.packers;
}

}  // namespace

void add_capture_options(CLI::App& app, TypedCapture& t) {
  CaptureBounds& b = t.options.bounds;
  const auto size = [&](const char* name, uint64_t& to, const char* what) {
    program::add_size_option(app, name, to, what)->group(kCaptureFile);
  };
  const auto time = [&](const char* name, uint64_t& to, const char* what) {
    program::add_duration_option(app, name, to, what)->group(kCaptureFile);
  };
  size("--max-size", b.max_bytes, "no more than this on the disk, all files of the run together");
  time("--max-age", b.max_age_ns, "with --rotate: remove files whose last block is older");
  program::add_size_or_duration_option(
      app, "--rotate", t.rotate,
      "a new file after so much or so long (64MiB, 10min): run.0000.ttc, run.0001.ttc, ...; each is\n"
      "complete by itself and gets its name when it is")
      ->group(kCaptureFile);
  app.add_option(
         "--keep", t.keep,
         "what stays when not all can: at --max-size (newest: with --rotate, the oldest file goes; oldest:\n"
         "nothing more is written), and when the disk stays too slow. All else is reported as lost")
      ->check(program::one_of({"newest", "oldest"}))
      ->capture_default_str()
      ->group(kCaptureFile);
  size("--memory", t.options.memory_bytes, "at most this waits for the disk (default: 64MiB)");
  app.add_option("--pack-threads", t.options.packers, "threads that compress")
      ->check(CLI::Range(1u, 64u))
      ->capture_default_str()
      ->group(kCaptureFile);
  time("--durable", b.durable_ns, "sync the file so often, so that a power cut costs no more than that");
}

void add_flight_options(CLI::App& app, TypedCapture& t) {
  constexpr const char* kFlight = "Flight recorder";
  const auto time = [&](const char* name, uint64_t& to, const char* what) {
    program::add_duration_option(app, name, to, what)->group(kFlight);
  };
  program::add_size_option(app, "--flight", t.flight.bytes,
                           "write nothing until a request (SIGUSR1, ttcollect snapshot) or triggered; then "
                           "the last so much of each "
                           "ring,\n"
                           "as NAME.0001.ttc, ... (NAME.ttc is that of -o). The rings get twice as much")
      ->group(kFlight);
  app.add_option(
         "--trigger", t.triggers,
         "zone>100us, zone:NAME, zone:NAME>100us, loss, silent>2s (no marker from a lane that had some),\n"
         "exit (of the workload), reset (of the card); repeatable")
      ->check([](const std::string& text) {
        TriggerRules ignored;
        return add_trigger(text, ignored);
      })
      ->expected(1)
      ->take_all()
      ->group(kFlight);
  time("--pre", t.flight.pre_ns, "record only so long before the trigger (default: all that --flight holds)");
  time("--post", t.flight.post_ns, "and so long after it (default: nothing)");
  time("--trigger-every", t.flight.every_ns, "at most one triggered recording in so long (default: 10s)");
}

std::string resolve_capture_options(TypedCapture& t, const std::string& output) {
  CaptureBounds& b = t.options.bounds;
  if (bounds_a_file(t) && (output.empty() || t.flight.bytes)) {
    const std::string which =
        "--max-size, --max-age, --rotate, --keep, --memory, --pack-threads and --durable are about a capture "
        "file that is written all along";
    return which + (t.flight.bytes ? "; --flight writes files of one size on request" : "; name one with -o");
  }
  if (output == "-")
    return "a capture cannot go to standard output: its blocks are written where they belong, not in a "
           "stream; "
           "name a file with -o";
  b.rotate_bytes = t.rotate.bytes;
  b.rotate_ns = t.rotate.nanoseconds;
  b.keep = t.options.keep_in_memory = t.keep == "newest" ? Keep::newest : Keep::oldest;
  if (b.max_age_ns && !b.rotates()) return "--max-age removes whole files; set their length with --rotate";
  if (b.max_bytes && b.keep == Keep::newest && !b.rotates())
    return "--keep newest at --max-size removes whole files; set their length with --rotate";
  const auto less = [](uint64_t bytes, uint64_t than) { return bytes && than && bytes < than; };
  if (less(b.max_bytes, 2 * b.rotate_bytes))
    return "--max-size must have room for two files of the size that --rotate gives";
  if (less(b.rotate_bytes, 4 * t.options.block_bytes) || less(b.max_bytes, 4 * t.options.block_bytes))
    return "--max-size and --rotate must be at least " + mib(4 * t.options.block_bytes) + ", four blocks";
  if (t.options.memory_bytes < 4 * t.options.block_bytes)
    return "--memory must be at least " + mib(4 * t.options.block_bytes) + ", four blocks";
  return {};
}

std::string resolve_flight_options(TypedCapture& t, const std::string& output, uint64_t& ring_bytes) {
  FlightOptions& f = t.flight;
  if (f.bytes == 0)
    return t.triggers.empty() && !f.pre_ns && !f.post_ns && f.every_ns == FlightOptions{}.every_ns
               ? std::string()
               : "--trigger, --trigger-every, --pre and --post are of a flight recorder; give --flight SIZE";
  if (f.bytes > kLargestFlight)
    return "--flight can be " + mib(kLargestFlight) + " at most: the ring is twice that";
  for (const std::string& text : t.triggers) add_trigger(text, f.rules);
  f.path = output.empty() ? "flight.ttc" : output;
  ring_bytes = std::max(ring_bytes, std::bit_ceil(2 * f.bytes));
  return {};
}

std::string flight_arithmetic(const FlightOptions& f, uint64_t ring_bytes) {
  char text[300];
  std::snprintf(text, sizeof text,
                "flight recorder: rings of %s hold %s to be recorded and %s that may come while it is "
                "written: %.2g s at "
                "%.0f MB/s",
                mib(ring_bytes).c_str(), mib(f.bytes).c_str(), mib(ring_bytes - f.bytes).c_str(),
                static_cast<double>(ring_bytes - f.bytes) / kRate, kRate / 1e6);
  return text;
}

std::string capture_arithmetic(const CaptureOptions& o, uint64_t ring_bytes) {
  char text[400];
  std::snprintf(
      text, sizeof text,
      "capture: %s of memory for what waits for the disk, which may stop for %.2g s at %.0f MB/s "
      "(default: %.0f MB/s x %.2g s); before that the ring holds %.2g s; then blocks of %s are dropped, the "
      "%s "
      "stay, and the loss is reported",
      mib(o.memory_bytes).c_str(), static_cast<double>(o.memory_bytes) / kRate, kRate / 1e6, kRate / 1e6,
      kStall, static_cast<double>(ring_bytes) / kRate, mib(o.block_bytes).c_str(),
      o.keep_in_memory == Keep::newest ? "newest" : "oldest");
  return text;
}

}  // namespace ttc::collect
