// Capture files: bytes a marker, beside zstd and LZ4 of the raw words; packing and unpacking a thread; the
// snapshot of a ring; opening a file of 10 GB.
//
// The markers are the device-side profiler's own (synthetic_log.hpp): time advances by 30 to 93 cycles a
// marker, drawn by a Mersenne twister from seed 1 + lane. In the second workload every launch has another
// number of zones, in the third also other zones: hardly any two launches look alike. CPU time of the thread,
// median of passes.
#include <fcntl.h>
#include <lz4.h>
#include <unistd.h>
#include <zstd.h>

#include <cstring>
#include <filesystem>
#include <functional>
#include <memory>

#include "bench/machine.hpp"
#include "bench/synthetic_log.hpp"
#include "collector/capture/block_codec.hpp"
#include "collector/capture/capture_file.hpp"
#include "collector/record/snapshot.hpp"
#include "shm/segment.hpp"

namespace {

using namespace ttc;
using namespace ttc::collect;

constexpr size_t kBlock = 2 << 20;
constexpr uint8_t kCores = 16;

struct Workload {
  std::vector<ChunkBatch> blocks;
  std::vector<std::vector<uint32_t>> words;  // of each block, for the general compressors
  size_t markers = 0, word_bytes = 0;
};

std::vector<uint64_t> chunk_of(const bench::LaneLog& log, std::span<const uint32_t> words, uint32_t offset,
                               uint8_t core, uint64_t sequence) {
  shm::SpanEntry span;
  span.risc = log.lane.risc;
  span.word_offset = offset;
  span.word_count = static_cast<uint32_t>(words.size());
  span.data_offset = sizeof(shm::ChunkHeader) + 5 * sizeof span;
  shm::ChunkHeader h;
  h.bytes = span.data_offset + span.word_count * 4;
  h.kind = shm::ChunkKind::device_words;
  h.generation = 4;
  h.session = 1;
  h.sequence = sequence;
  h.core_x = core;
  h.span_count = 1;
  h.read_time_ns = sequence * 10000;
  std::vector<uint64_t> chunk((h.bytes + 7) / 8);
  auto* at = reinterpret_cast<char*>(chunk.data());
  std::memcpy(at, &h, sizeof h);
  std::memcpy(at + sizeof h, &span, sizeof span);
  std::memcpy(at + span.data_offset, words.data(), words.size_bytes());
  return chunk;
}

// Lanes of all cores in turn, as sweeps bring them: about 4 KiB each time.
Workload make(const bench::LogShape& shape, size_t bytes) {
  const emulation::ZoneCatalog zones(64);
  Workload w;
  std::vector<bench::LaneLog> logs;
  std::vector<std::vector<std::span<const uint32_t>>> pieces;
  for (uint8_t core = 0; core < kCores; ++core)
    for (uint8_t risc = 0; risc < device::kMaxRiscs; ++risc)
      logs.push_back(bench::make_lane_log(bytes / kCores / device::kMaxRiscs, risc, core, shape, zones,
                                          1 + logs.size()));
  for (const auto& log : logs) pieces.push_back(bench::pieces_of(log, 4096)), w.markers += log.markers;
  std::vector<uint32_t> offsets(logs.size());
  w.blocks.emplace_back();
  w.words.emplace_back();
  uint64_t sequence = 0;
  for (size_t turn = 0; turn < pieces[0].size(); ++turn)
    for (size_t l = 0; l < logs.size(); ++l) {
      if (turn >= pieces[l].size()) continue;
      const auto words = pieces[l][turn];
      const auto chunk =
          chunk_of(logs[l], words, offsets[l], static_cast<uint8_t>(l / device::kMaxRiscs), sequence++);
      offsets[l] += static_cast<uint32_t>(words.size());
      if (w.blocks.back().bytes() + chunk.size() * 8 > kBlock)
        w.blocks.emplace_back(), w.words.emplace_back();
      w.blocks.back().add(chunk);
      w.words.back().insert(w.words.back().end(), words.begin(), words.end());
      w.word_bytes += words.size_bytes();
    }
  w.markers = 0;
  BlockEncoder counter;
  AlignedBytes packed;
  for (const ChunkBatch& b : w.blocks) w.markers += counter.encode(b, 0, packed).markers;
  return w;
}

double median_seconds(int passes, const std::function<void()>& pass) {
  std::vector<double> seconds;
  for (int i = 0; i < passes; ++i) {
    const uint64_t began = bench::thread_cpu_ns();
    pass();
    seconds.push_back(static_cast<double>(bench::thread_cpu_ns() - began) / 1e9);
  }
  std::sort(seconds.begin(), seconds.end());
  return seconds[seconds.size() / 2];
}

void measure(const char* name, const bench::LogShape& shape) {
  const Workload w = make(shape, bench::working_set());
  const int passes = bench::repetitions(7);
  BlockEncoder encoder;
  std::vector<AlignedBytes> packed(w.blocks.size());
  size_t bytes = 0;
  const double pack = median_seconds(passes, [&] {
    bytes = 0;
    for (size_t i = 0; i < w.blocks.size(); ++i) bytes += encoder.encode(w.blocks[i], i, packed[i]).bytes;
  });
  BlockDecoder decoder;
  ChunkBatch chunks;
  const double unpack = median_seconds(passes, [&] {
    for (const AlignedBytes& b : packed) {
      chunks.clear();
      decoder.decode(b.bytes(), false, chunks);
    }
  });
  size_t zstd = 0, lz4 = 0;
  std::vector<char> to;
  const double zstd_s = median_seconds(bench::repetitions(3), [&] {
    zstd = 0;
    for (const auto& words : w.words) {
      to.resize(ZSTD_compressBound(words.size() * 4));
      zstd += ZSTD_compress(to.data(), to.size(), words.data(), words.size() * 4, 1);
    }
  });
  const double lz4_s = median_seconds(bench::repetitions(3), [&] {
    lz4 = 0;
    for (const auto& words : w.words) {
      const int size = static_cast<int>(words.size() * 4);
      to.resize(static_cast<size_t>(LZ4_compressBound(size)));
      lz4 += static_cast<size_t>(LZ4_compress_default(reinterpret_cast<const char*>(words.data()), to.data(),
                                                      size, static_cast<int>(to.size())));
    }
  });
  const auto each = [&](size_t n) { return static_cast<double>(n) / static_cast<double>(w.markers); };
  const auto rate = [&](double seconds) { return static_cast<double>(w.word_bytes) / 1e9 / seconds; };
  std::printf("%s: %zu markers, %.1f MB of words (%.2f bytes a marker)\n", name, w.markers,
              static_cast<double>(w.word_bytes) / 1e6, each(w.word_bytes));
  std::printf("  bytes a marker: capture %.2f (target 2.5), zstd -1 of the words %.2f, LZ4 %.2f\n",
              each(bytes), each(zstd), each(lz4));
  std::printf(
      "  pack %.2f GB/s of words in (target 0.4; zstd -1 %.2f, LZ4 %.2f), unpack %.2f GB/s out (target 1)\n",
      rate(pack), rate(zstd_s), rate(lz4_s), rate(unpack));
}

// A ring full of chunks, written as a file.
void measure_snapshot() {
  const Workload w = make({}, bench::working_set());
  const std::string name = "bench-snapshot-" + std::to_string(getpid());
  const std::string path = std::filesystem::temp_directory_path() / (name + ".ttc");
  shm::SegmentOptions options;
  options.ring_bytes = 2 * bench::working_set();
  auto writer = std::make_unique<shm::SegmentWriter>(name, "bench", 1, options);
  shm::SegmentWriter& segment = *writer;
  segment.add_standing(shm::ChunkKind::session, "{}");
  for (const ChunkBatch& b : w.blocks)
    for (size_t i = 0; i < b.size(); ++i) {
      uint64_t* at = segment.ring().claim(b[i].size_bytes());
      for (size_t k = 0; k < b[i].size(); ++k) shm::store_word(at + k, b[i][k]);
      segment.ring().publish(b[i].size_bytes());
    }
  std::vector<double> cut, total;
  for (int i = 0; i < bench::repetitions(7); ++i) {
    SnapshotOptions o;
    o.last_bytes = bench::working_set();
    const SnapshotResult r = take_snapshot({name}, path, o);
    cut.push_back(static_cast<double>(r.cut_ns) / 1e6);
    total.push_back(static_cast<double>(r.total_ns) / 1e6);
  }
  std::sort(cut.begin(), cut.end());
  std::sort(total.begin(), total.end());
  std::printf(
      "snapshot of %zu MiB: cut %.4f ms at most (target 1), complete %.0f ms at the median, %.0f at most "
      "(target 500)\n",
      bench::working_set() >> 20, cut.back(), total[total.size() / 2], total.back());
  unlink(path.c_str());
  writer.reset();  // only then the segment can be removed
  shm::remove_segment(name);
}

// Sparse, with a true index: opening reads header, trailer and index.
void measure_open() {
  const std::string path =
      std::filesystem::temp_directory_path() / ("bench-open-" + std::to_string(getpid()) + ".ttc");
  const uint64_t all = bench::once() ? 10'000'000 : 10'000'000'000, block_bytes = 272 << 10;
  FileHeader h;
  h.checksum = checksum_of(&h, offsetof(FileHeader, checksum));
  std::vector<IndexEntry> index;
  for (uint64_t at = kCaptureAlign; at + block_bytes <= all; at += block_bytes) {
    IndexEntry e;
    e.offset = at;
    e.header.bytes = block_bytes;
    e.header.number = index.size();
    e.header.read_from_ns = at;
    e.header.header_checksum = at * 0x9e3779b97f4a7c15;  // as hard to pack as a true one
    e.header.content_checksum = at * 0xc2b2ae3d27d4eb4f;
    index.push_back(e);
  }
  const uint64_t end = index.back().offset + block_bytes;
  AlignedBytes block;
  encode_index(index, index.size(), end, block);
  const int fd = open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  const bool made =
      pwrite(fd, &h, sizeof h, 0) == sizeof h && ftruncate(fd, static_cast<off_t>(end)) == 0 &&
      pwrite(fd, block.data(), block.size(), static_cast<off_t>(end)) == static_cast<ssize_t>(block.size());
  if (!made) std::puts("WRONG: no room for the file"), std::exit(1);
  std::vector<double> ms;
  for (int i = 0; i < bench::repetitions(7); ++i) {
    const uint64_t began = bench::now_ns();
    const CaptureFile file(path);
    ms.push_back(static_cast<double>(bench::now_ns() - began) / 1e6);
    if (!file.indexed() || file.blocks().size() != index.size())
      std::puts("WRONG: not opened by its index"), std::exit(1);
  }
  std::sort(ms.begin(), ms.end());
  std::printf("opening %.0f MB of %zu blocks: %.1f ms at the median, %.1f at most (target 100)\n",
              static_cast<double>(end) / 1e6, index.size(), ms[ms.size() / 2], ms.back());
  close(fd);
  unlink(path.c_str());
}

}  // namespace

int main() {
  bench::print_machine("capture_bench");
  measure("4 zones a launch", {});
  measure("0 to 16 zones, data in one launch of 8", {0, 16, 8});
  measure("0 to 16 zones of 64, drawn at random", {0, 16, 0, true});
  measure_snapshot();
  measure_open();
}
