// Zones a second of a live run, by name: count_zones live:NAME [SECONDS]
#include <cstdio>
#include <cstdlib>
#include <map>

#include "ttcollect/marker_stream.hpp"

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: %s live:NAME [SECONDS]\n", argv[0]);
    return 2;
  }
  using Clock = std::chrono::steady_clock;
  const int seconds = argc > 2 ? std::atoi(argv[2]) : 10;
  try {
    ttcollect::Options options;
    options.tables = TTCOLLECT_ZONES;
    options.host_times = 0;  // counting needs none, and without them zones come as soon as they are read
    options.wait_ms = 10'000;
    ttcollect::MarkerStream stream(argv[1], options);
    const auto end = Clock::now() + std::chrono::seconds(seconds);
    auto printed = Clock::now();
    std::map<std::string, unsigned long> counts;
    while (Clock::now() < end) {
      const auto batch = stream.next(std::chrono::milliseconds(100));
      if (!batch) break;
      for (const ttcollect_zone& zone : batch->zones()) ++counts[std::string(batch->name(zone.name))];
      if (batch->lapped()) std::fprintf(stderr, "some were missed: this program was too slow\n");
      if (Clock::now() - printed < std::chrono::seconds(1)) continue;
      printed = Clock::now();
      for (const auto& [name, count] : counts) std::printf("%10lu  %s\n", count, name.c_str());
      std::printf("\n");
      std::fflush(stdout);
    }
    unsigned long sum = 0;
    for (const auto& [name, count] : counts) sum += count;
    std::printf("%lu zones\n", sum);
    for (const std::string& remark : stream.remarks()) std::fprintf(stderr, "%s\n", remark.c_str());
  } catch (const ttcollect::Error& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 1;
  }
}
