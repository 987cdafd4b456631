// How fast chunks become what viewers read: the whole pipeline (decode, host time, name, pair, format) beside
// the same pipeline into a format that does nothing, which is what reading alone costs. Perfetto and Chrome
// go into /dev/null, Tracy into a socket whose other end throws everything away.
#include <sys/resource.h>
#include <sys/socket.h>

#include <thread>

#include "bench/synthetic_chunks.hpp"
#include "tools/pipeline/pipeline.hpp"
#include "tools/viewers/chrome/chrome.hpp"
#include "tools/viewers/perfetto/perfetto.hpp"
#include "tools/viewers/tracy_timeline.hpp"

namespace {

using namespace ttc;
using namespace ttc::bench;

struct NoFormat : tools::Format {
  void begin(const tools::Session&) override {}
  void frame(const tools::FrameEvents& f) override {
    for (const markers::Marker& m : f.markers) zones += m.type == markers::MarkerType::zone_end;
  }
  void loss(const shm::LossRecord&) override {}
  void names_changed() override {}
  void end() override {}
  uint64_t zones = 0;
};

void push_all(std::span<const Chunk> chunks, tools::Format& format) {
  tools::Pipeline pipeline({}, false, {}, tools::HostClock::raw);
  for (const Chunk& chunk : chunks) pipeline.push(chunk, format);
  pipeline.finish(format);
  format.end();
}

template <class Writer>
void to_file(std::span<const Chunk> chunks) {
  tools::Output out("/dev/null", false);
  tools::Timeline timeline(std::make_unique<Writer>(out, tools::FormatOptions{}));
  push_all(chunks, timeline);
  out.commit();
}

// A socket that is emptied as fast as can be, or nothing at all.
class Discard : public tracy::BlockSink {
 public:
  explicit Discard(bool through_socket) {
    if (!through_socket) return;
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends_) != 0) std::perror("socketpair"), std::exit(1);
    reader_ = std::thread([this] {
      std::vector<char> bytes(1 << 20);
      while (read(ends_[1], bytes.data(), bytes.size()) > 0) {
      }
    });
  }
  ~Discard() override {
    if (!reader_.joinable()) return;
    shutdown(ends_[0], SHUT_RDWR);
    reader_.join();
    close(ends_[0]);
    close(ends_[1]);
  }
  void block(std::span<const char> bytes) override {
    sent += bytes.size();
    while (reader_.joinable() && !bytes.empty()) {
      const ssize_t wrote = write(ends_[0], bytes.data(), bytes.size());
      if (wrote <= 0) std::perror("write"), std::exit(1);
      bytes = bytes.subspan(static_cast<size_t>(wrote));
    }
  }
  size_t sent = 0;

 private:
  int ends_[2] = {-1, -1};
  std::thread reader_;
};

size_t to_tracy(std::span<const Chunk> chunks, const tracy::Dialect& dialect, bool through_socket) {
  Discard sink(through_socket);
  auto writer = std::make_unique<tools::TracyTimeline>(dialect, sink, 1, false);
  tools::TracyTimeline& tracy = *writer;
  tools::Timeline timeline(std::move(writer));
  push_all(chunks, timeline);
  tracy.client().stream().flush();
  return sink.sent;
}

long resident_mib() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss >> 10;
}

void measure(const char* what, const LogShape& shape) {
  std::vector<Chunk> chunks = make_chunks(shape);
  chunks.insert(chunks.begin() + 2, clock_chunk());
  NoFormat none;
  push_all(chunks, none);
  const uint64_t zones = none.zones;
  Best reading;
  for (int i = 0; i < repetitions(5); ++i) reading.cpu_time([&] { push_all(chunks, none); });
  result("%s: %zu chunks, %.1f M zones; reading alone %.1f M zones/s", what, chunks.size(),
         static_cast<double>(zones) / 1e6, static_cast<double>(zones) * 1000 / reading.ns());
  const auto measure = [&](const char* name, double target, auto&& run) {
    const long before = resident_mib();
    Best all;
    for (int i = 0; i < repetitions(5); ++i) all.cpu_time(run);
    const double beside = static_cast<double>(zones) * 1000 / (all.ns() - reading.ns());
    result("  %-24s %.1f M zones/s beside reading %s; with it %.1f M, ratio to reading %.2f; %ld MiB more",
           name, beside, judged(beside, ">=", target).c_str(), static_cast<double>(zones) * 1000 / all.ns(),
           reading.ns() / all.ns(), resident_mib() - before);
  };
  measure("perfetto", 10, [&] { to_file<tools::Perfetto>(chunks); });
  measure("chrome", 3, [&] { to_file<tools::Chrome>(chunks); });
  for (const tracy::Dialect& dialect : tracy::dialects()) {
    if (dialect.protocol != 64 && dialect.protocol != 82 && dialect.protocol != 83) continue;
    measure(("tracy " + std::to_string(dialect.protocol)).c_str(), 5,
            [&] { keep(to_tracy(chunks, dialect, true)); });
  }
}

}  // namespace

int main() {
  print_machine("viewer_bench");
  measure("4 zones, data in every 4th frame", {4, 4, 4});
  measure("60 zones", {60, 60, 0});
}
