// How fast chunks become the device CSV: the whole pipeline (decode, name, order, format) into /dev/null,
// against appending as many rows that are already text.
#include <cstring>
#include <filesystem>
#include <fstream>

#include "firmware_markers/decoder.hpp"
#include "machine.hpp"
#include "pipeline/device_csv.hpp"
#include "pipeline/pipeline.hpp"
#include "synthetic_log.hpp"

namespace {

using namespace ttc;
using namespace ttc::bench;

using Chunk = std::vector<uint64_t>;
constexpr size_t kSpanBytes = 4 << 10;  // some dozen frames of a lane: what a busy visit brings

Chunk text_chunk(shm::ChunkKind kind, const std::string& text) {
  shm::ChunkHeader h;
  h.bytes = static_cast<uint32_t>(sizeof h + text.size());
  h.kind = kind;
  Chunk chunk((h.bytes + 7) / 8);
  std::memcpy(chunk.data(), &h, sizeof h);
  std::memcpy(reinterpret_cast<char*>(chunk.data()) + sizeof h, text.data(), text.size());
  return chunk;
}

std::string notes_of(const emulation::ZoneCatalog& zones) {
  std::string notes;
  for (const auto* z : zones.firmware_zones()) notes += z->note + '\n';
  for (uint32_t i = 0; i < zones.kernel_zones(); ++i)
    for (const auto* z : zones.kernel_zones_of(i)) notes += z->note + '\n';
  return notes;
}

// One lane, cut into spans, and the place of the next one.
struct LaneFeed {
  LaneLog log;
  std::vector<std::span<const uint32_t>> pieces;
  markers::LaneDecoder past;  // for the digests
  uint32_t offset = 0;
};

Chunk words_chunk(std::vector<LaneFeed>& lanes, size_t piece, uint8_t x, uint8_t y, markers::Batch& scratch) {
  shm::ChunkHeader h;
  h.kind = shm::ChunkKind::device_words;
  h.core_x = x;
  h.core_y = y;
  h.generation = 4;
  h.flat_id = lanes[0].log.lane.flat_id;
  h.span_count = static_cast<uint8_t>(lanes.size());
  size_t bytes = sizeof h + lanes.size() * sizeof(shm::SpanEntry);
  std::vector<shm::SpanEntry> spans;
  for (LaneFeed& lane : lanes) {
    shm::SpanEntry s;
    s.risc = lane.log.lane.risc;
    s.word_offset = lane.offset;
    s.word_count = static_cast<uint32_t>(lane.pieces[piece].size());
    s.data_offset = static_cast<uint32_t>(bytes);
    std::memcpy(s.digest, &lane.past.digest(), sizeof s.digest);
    spans.push_back(s);
    bytes += (s.word_count * 4 + 7) & ~size_t{7};
    lane.offset += s.word_count;
    scratch.clear();
    lane.past.decode(lane.pieces[piece], scratch);
  }
  h.bytes = static_cast<uint32_t>(bytes);
  Chunk chunk((bytes + 7) / 8);
  auto* to = reinterpret_cast<char*>(chunk.data());
  std::memcpy(to, &h, sizeof h);
  std::memcpy(to + sizeof h, spans.data(), spans.size() * sizeof(shm::SpanEntry));
  for (size_t i = 0; i < lanes.size(); ++i)
    std::memcpy(to + spans[i].data_offset, lanes[i].pieces[piece].data(),
                lanes[i].pieces[piece].size_bytes());
  if (const std::string why = shm::check_chunk(chunk); !why.empty()) std::puts(why.c_str()), std::exit(1);
  return chunk;
}

std::vector<Chunk> make_chunks(const LogShape& shape) {
  const emulation::ZoneCatalog zones(shape.most_zones);
  std::vector<Chunk> chunks{
      text_chunk(shm::ChunkKind::session,
                 R"({"device":"emu:bench","chip":0,"arch":"wormhole_b0","aiclk_mhz":1000})"),
      text_chunk(shm::ChunkKind::names, notes_of(zones))};
  constexpr uint8_t kCores = 8;
  markers::Batch scratch;
  for (uint8_t core = 0; core < kCores; ++core) {
    std::vector<LaneFeed> lanes;
    size_t least = ~size_t{0};
    for (uint8_t r = 0; r < device::kMaxRiscs; ++r) {
      LaneLog log =
          make_lane_log(working_set() / kCores / device::kMaxRiscs, r, core, shape, zones, core * 5u + r);
      const markers::Lane lane = log.lane;
      lanes.push_back({std::move(log), {}, markers::LaneDecoder(lane)});
      lanes.back().pieces = pieces_of(lanes.back().log, kSpanBytes);
      least = std::min(least, lanes.back().pieces.size());
    }
    for (size_t piece = 0; piece < least; ++piece)
      chunks.push_back(words_chunk(lanes, piece, static_cast<uint8_t>(1 + core), 2, scratch));
  }
  return chunks;
}

uint64_t export_all(std::span<const Chunk> chunks, const std::string& path) {
  tools::Output out(path, false);
  tools::Pipeline pipeline({}, false);
  tools::DeviceCsv csv(out, {});
  for (const Chunk& chunk : chunks) pipeline.push(chunk, csv);
  csv.end();
  out.commit();
  return pipeline.markers();
}

// What is left of the pipeline when a format does nothing.
struct NoFormat : tools::Format {
  void begin(const tools::Session&) override {}
  void frame(const tools::FrameEvents& f) override { rows += f.markers.size(); }
  void loss(const shm::LossRecord&) override {}
  void names_changed() override {}
  void end() override {}
  uint64_t rows = 0;
};

uint64_t decode_all(std::span<const Chunk> chunks) {
  tools::Pipeline pipeline({}, false);
  NoFormat none;
  for (const Chunk& chunk : chunks) pipeline.push(chunk, none);
  return none.rows;
}

// Real rows of this export, as text.
std::vector<std::string> sample_rows(std::span<const Chunk> chunks) {
  const std::string path = std::filesystem::temp_directory_path() / ("csv_bench-" + std::to_string(getpid()));
  export_all(chunks.first(std::min<size_t>(chunks.size(), 10)), path);
  std::vector<std::string> rows;
  std::ifstream in(path);
  for (std::string row; std::getline(in, row);) rows.push_back(row + '\n');
  rows.erase(rows.begin(), rows.begin() + 2);  // the two head lines
  std::filesystem::remove(path);
  return rows;
}

size_t append_rows(const std::vector<std::string>& rows, uint64_t count) {
  tools::Output out("/dev/null", false);
  size_t bytes = 0;
  for (uint64_t done = 0; done < count;)
    for (size_t i = 0; i < rows.size() && done < count; ++i, ++done) {
      out.append(rows[i]);
      bytes += rows[i].size();
    }
  out.commit();
  return bytes;
}

void measure(const char* what, const LogShape& shape) {
  const auto chunks = make_chunks(shape);
  const auto rows = sample_rows(chunks);
  Best exporting, decoding, appending;
  uint64_t count = 0;
  size_t bytes = 0;
  for (int i = 0; i < repetitions(5); ++i) {
    exporting.cpu_time([&] { count = export_all(chunks, "/dev/null"); });
    decoding.cpu_time([&] { keep(decode_all(chunks)); });
    appending.cpu_time([&] { bytes = append_rows(rows, count); });
  }
  const auto rate = [&](const Best& b) { return static_cast<double>(count) * 1000 / b.ns(); };
  result("%s: %zu chunks, %.1f M rows, about %zu MB of text", what, chunks.size(),
         static_cast<double>(count) / 1e6, bytes / 1000000);
  result("  export %.1f M rows/s %s; ready rows appended %.1f M rows/s, ratio %.2f", rate(exporting),
         judged(rate(exporting), ">=", 10).c_str(), rate(appending), appending.ns() / exporting.ns());
  result("  of it decode, order and account %.1f M rows/s, format and write %.1f ns a row", rate(decoding),
         (exporting.ns() - decoding.ns()) / static_cast<double>(count));
}

}  // namespace

int main() {
  print_machine("csv_bench");
  measure("4 zones, data in every 4th frame", {4, 4, 4});
  measure("60 zones", {60, 60, 0});
}
