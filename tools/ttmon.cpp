// ttmon: the counters of a running collector, straight from its segment; costs the collector nothing.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <thread>

#include "shm/reader.hpp"

namespace {

using namespace ttc;

enum Exit { kOk = 0, kUsage = 2, kNoSource = 3 };

volatile std::sig_atomic_t stop_asked = 0;

std::string state_of(const shm::Reader& reader) {
  if (reader.writer_alive()) return "live";
  return reader.info().ended ? "ended" : "not running";
}

nlohmann::ordered_json snapshot(const shm::Reader& reader) {
  nlohmann::ordered_json j{{"live", reader.info().live_name},
                           {"device", reader.info().device_spec},
                           {"pid", reader.info().writer_pid},
                           {"state", state_of(reader)}};
  for (size_t i = 0; i < shm::kCounters; ++i) {
    const auto counter = static_cast<shm::Counter>(i);
    j["counters"][shm::label(counter)] = reader.counter(counter);
  }
  return j;
}

void show(const shm::Reader& reader, bool terminal) {
  if (terminal) std::fputs("\033[H\033[J", stdout);
  std::printf("live:%s  %s  pid %lld  %s\n", reader.info().live_name.c_str(),
              reader.info().device_spec.c_str(), static_cast<long long>(reader.info().writer_pid),
              state_of(reader).c_str());
  for (size_t i = 0; i < shm::kCounters; ++i) {
    const auto counter = static_cast<shm::Counter>(i);
    std::printf("  %-22s %20llu\n", shm::label(counter),
                static_cast<unsigned long long>(reader.counter(counter)));
  }
  std::fflush(stdout);
}

std::string the_only_segment() {
  std::vector<std::string> live;
  for (const shm::SegmentInfo& s : shm::list_segments())
    if (s.refused.empty()) live.push_back(s.live_name);
  if (live.size() == 1) return live.front();
  throw shm::SegmentError(
      live.empty()
          ? "no collector is running and none left a segment; start ttcollect --device ..."
          : std::to_string(live.size()) + " segments are there; name one, `ttcollect list` shows them");
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Shows a collector's counters.", "ttmon");
  app.footer("Exit codes: 0 ok, 2 wrong usage, 3 no such segment.");
  app.set_version_flag("--version", "ttmon " TTC_VERSION);
  std::string name;
  bool once = false, json = false;
  double interval_s = 0.5;
  app.add_option("name", name, "live name, with or without live: (default: the only one)");
  app.add_flag("--once", once, "print once and exit");
  app.add_flag("--json", json, "one JSON object a line");
  app.add_option("--interval", interval_s, "seconds between two looks")->check(CLI::Range(0.05, 3600.0));
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? kOk : kUsage;
  }
  try {
    if (name.starts_with("live:")) name.erase(0, 5);
    if (name.empty()) name = the_only_segment();
    const shm::Reader reader(name, shm::StartAt::newest);
    std::signal(SIGINT, [](int) { stop_asked = 1; });
    do {
      if (json)
        std::printf("%s\n", snapshot(reader).dump().c_str()), std::fflush(stdout);
      else
        show(reader, !once && isatty(STDOUT_FILENO));
      if (once || !reader.writer_alive()) break;
      std::this_thread::sleep_for(std::chrono::duration<double>(interval_s));
    } while (!stop_asked);
    return kOk;
  } catch (const shm::SegmentError& e) {
    std::fprintf(stderr, "ttmon: %s\n", e.what());
    return kNoSource;
  }
}
