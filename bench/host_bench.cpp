// What a zone of the workload's host side costs: a Tracy stream as its bytes arrive (0.13, LZ4 as a client packs it), taken
// apart, put into ring and capture. CPU time of all threads counts, because the workload uses the same cores.
#include <lz4.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <memory>

#include "bench/machine.hpp"
#include "collector/host_side/host_publisher.hpp"
#include "collector/record/capture_writer.hpp"
#include "collector/tracy_server/exchange.hpp"

namespace {

using namespace ttc;
using namespace ttc::bench;
using tracy_server::Exchange;
using tracy_server::Item;

constexpr uint32_t kProtocol = 76;
constexpr size_t kFrame = 256u << 10, kReceive = 256u << 10, kBatch = 64u << 10;

uint8_t number_of(Item item) {
  const tracy_server::Dialect& d = *tracy_server::dialect_of(kProtocol, false);
  return static_cast<uint8_t>(std::find(d.items.begin(), d.items.end(), item) - d.items.begin());
}

template <class T>
void put(std::string& to, T value) {
  to.append(reinterpret_cast<const char*>(&value), sizeof value);
}

// Pairs of zones, one around the other, with times that differ as those of a program do.
class Stream {
 public:
  explicit Stream(uint64_t zones) {
    bytes.assign(1, '\1');
    std::string welcome(tracy_server::dialect_of(kProtocol, false)->welcome_bytes, '\0');
    const double one = 1;
    std::memcpy(welcome.data(), &one, sizeof one);
    bytes += welcome;
    const uint8_t begin = number_of(Item::zone_begin), end = number_of(Item::zone_end);
    put(items_, number_of(Item::thread_context)), put(items_, uint32_t{1});
    uint64_t random = 7;
    const auto step = [&] {
      return static_cast<int64_t>(random = random * 6364136223846793005u + 1) >> 54 & 511;
    };
    for (uint64_t pair = 0; pair < zones / 2; ++pair) {
      put(items_, begin), put(items_, step()), put(items_, 0x400000 + (pair % 97) * 32);
      put(items_, begin), put(items_, step()), put(items_, 0x500000 + (pair % 61) * 32);
      put(items_, end), put(items_, step()), put(items_, end), put(items_, step());
      if (items_.size() + 64 > kFrame) frame();
    }
    frame();
  }
  std::string bytes;
  uint64_t unpacked = 0;

 private:
  void frame() {
    std::string packed(static_cast<size_t>(LZ4_compressBound(static_cast<int>(items_.size()))), '\0');
    packed.resize(static_cast<size_t>(LZ4_compress_default(
        items_.data(), packed.data(), static_cast<int>(items_.size()), static_cast<int>(packed.size()))));
    put(bytes, static_cast<uint32_t>(packed.size()));
    bytes += packed;
    unpacked += items_.size();
    items_.clear();
  }
  std::string items_;
};

uint64_t process_cpu_ns() {
  return clock_ns(CLOCK_PROCESS_CPUTIME_ID);
}

uint64_t receive_all(const Stream& stream, const tracy_server::EventDecoder::Take& take) {
  Exchange exchange(kProtocol, take);
  const auto bytes = std::as_bytes(std::span(stream.bytes));
  for (size_t at = 0; at < bytes.size(); at += kReceive)
    exchange.receive(bytes.subspan(at, std::min(kReceive, bytes.size() - at)));
  if (exchange.state() != tracy_server::ExchangeState::frames)
    std::puts(exchange.why().c_str()), std::exit(1);
  exchange.finish();
  return exchange.decoder().events();
}

// Into ring and file; events that were not recorded.
uint64_t record(const Stream& stream, const std::string& path) {
  const std::string name = "bench-host-" + std::to_string(getpid());
  uint64_t lost = 0;
  {
    collect::HostPublisher publisher(name);
    collect::CaptureOptions options;
    options.path = path;
    collect::CaptureWriter writer(options, publisher.session());
    const auto feed = std::make_shared<collect::ChunkFeed>();
    writer.add(feed);
    publisher.record_into(feed);
    collect::HostBatch batch;
    receive_all(stream, [&](const collect::HostEvent& event) {
      batch.add(event);
      if (batch.events.size() >= kBatch) publisher.publish(batch);
    });
    publisher.publish(batch);
    publisher.end();
    writer.finish();
    lost = publisher.events_not_recorded();
    if (!writer.error().empty() || writer.dropped_bytes())
      std::printf("%s, %lu bytes dropped\n", writer.error().c_str(), writer.dropped_bytes()), std::exit(1);
  }
  shm::remove_segment(name);
  return lost;
}

}  // namespace

int main() {
  print_machine("host_bench");
  const uint64_t zones = once() ? 20'000 : 3'000'000;
  const Stream stream(zones);
  const std::string path =
      std::filesystem::temp_directory_path() / ("bench-host-" + std::to_string(getpid()) + ".ttc");
  Best decoding, recording;
  uint64_t lost = 0, file_bytes = 0;
  for (int i = 0; i < repetitions(5); ++i) {
    uint64_t events = 0;
    decoding.cpu_time([&] { events = receive_all(stream, [](const collect::HostEvent& e) { keep(e); }); });
    if (events < 2 * zones) std::printf("%lu events of %lu zones\n", events, zones), std::exit(1);
    const uint64_t began = process_cpu_ns();
    lost += record(stream, path);
    recording.add(process_cpu_ns() - began);
    file_bytes = std::filesystem::file_size(path);
  }
  std::filesystem::remove(path);
  const double decoded = static_cast<double>(zones) * 1e3 / decoding.ns();
  const double recorded = static_cast<double>(zones) * 1e3 / recording.ns();
  result("taking apart: %.1f M zones/s of CPU, %.2f GB/s of items", decoded,
         decoding.gb_per_s(stream.unpacked));
  result("to ring and capture, all threads: %.1f M zones/s of CPU, %.2f of taking apart %s", recorded,
         recorded / decoded, judged(recorded, ">=", 5).c_str());
  result("%.2f bytes a zone on the wire, %.2f in the file; %lu events not recorded",
         static_cast<double>(stream.bytes.size()) / static_cast<double>(zones),
         static_cast<double>(file_bytes) / static_cast<double>(zones), lost);
}
