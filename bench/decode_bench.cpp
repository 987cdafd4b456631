// How fast words become markers, by each path that the processor has, and how fast the drain verifies them before it publishes: against a memcpy
// of the same bytes, which is what moving them once costs. And the roofline: what of a marker is read from memory and written to a batch that stays in the
// caches, and how fast the words can be read at all.
#include <cstring>

#include "bench/machine.hpp"
#include "bench/synthetic_log.hpp"
#include "firmware_markers/decoder.hpp"

namespace {

using namespace ttc;
using namespace ttc::bench;

constexpr size_t kPieceBytes = 16 << 10;

struct TakeAll {
  bool sat_out_ok(uint32_t) const { return true; }
  bool take(const markers::VerifiedFrame&) const { return true; }
};

size_t decode(const LaneLog& log, const std::vector<std::span<const uint32_t>>& pieces, markers::Batch& batch,
              markers::DecodePath path) {
  markers::LaneDecoder decoder(log.lane, path);
  size_t decoded = 0;
  for (const auto piece : pieces) {
    batch.clear();
    decoder.decode(piece, batch);
    decoded += batch.markers().size();
    keep(batch);
  }
  return decoded;
}

size_t verify(const LaneLog& log, const std::vector<std::span<const uint32_t>>& pieces) {
  markers::FrameDigest digest;
  size_t verified = 0;
  for (const auto piece : pieces)
    verified += markers::verify_frames(piece, log.lane, {}, false, digest, TakeAll{}).markers;
  return verified;
}

// Nothing but loads.
uint64_t read_all(std::span<const uint32_t> words) {
  using Vector = uint64_t __attribute__((vector_size(32)));
  Vector sum{}, other{};
  for (size_t i = 0; i + 16 <= words.size(); i += 16) {
    Vector a, b;
    std::memcpy(&a, words.data() + i, sizeof a);
    std::memcpy(&b, words.data() + i + 8, sizeof b);
    sum += a, other += b;
  }
  sum += other;
  return sum[0] + sum[1] + sum[2] + sum[3];
}

double bytes_written(const LaneLog& log) {
  markers::LaneDecoder decoder(log.lane);
  markers::Batch batch;
  decoder.decode(log.words, batch);
  double bytes = 0;
  for (const markers::Marker& m : batch.markers())
    bytes += sizeof m + (m.type == markers::MarkerType::ts_data ? sizeof(uint64_t) : 0);
  return bytes + static_cast<double>(batch.frames().size() * sizeof(markers::Frame));
}

void measure(const char* what, const LogShape& shape, double target) {
  const emulation::ZoneCatalog zones(64);
  const LaneLog log = make_lane_log(working_set(), 1, 17, shape, zones, 20250701);
  const auto pieces = pieces_of(log, kPieceBytes);
  const size_t bytes = log.words.size() * 4;
  std::vector<uint32_t> copy(log.words.size());
  markers::Batch batch;
  std::vector<markers::DecodePath> paths;
  for (const markers::DecodePath path : markers::kDecodePaths)
    if (markers::has(path)) paths.push_back(path);
  Best copying, reading, verifying;
  std::vector<Best> decoding(paths.size());
  size_t decoded = 0, verified = 0;
  for (int i = 0; i < repetitions(9); ++i) {  // in turn, so that a noisy neighbour affects all
    copying.cpu_time([&] { std::memcpy(copy.data(), log.words.data(), bytes), keep(copy); });
    reading.cpu_time([&] { keep(read_all(log.words)); });
    for (size_t p = 0; p < paths.size(); ++p) {
      decoding[p].cpu_time([&] { decoded = decode(log, pieces, batch, paths[p]); });
      if (decoded != log.markers)
        result("  WRONG: recorded %zu, decoded %zu markers", log.markers, decoded), std::exit(1);
    }
    verifying.cpu_time([&] { verified = verify(log, pieces); });
  }
  result("%s: %.1f words a frame, %zu MiB; memcpy %.2f GB/s", what,
         static_cast<double>(log.words.size()) / static_cast<double>(log.frame_ends.size()), bytes >> 20,
         copying.gb_per_s(bytes));
  const auto per_marker = [&](double n) { return n / static_cast<double>(log.markers); };
  result(
      "  roofline: a marker is %.1f B read from memory and %.1f B written to a batch in the caches; reading "
      "alone %.2f GB/s, ratio to memcpy "
      "%.2f",
      per_marker(static_cast<double>(bytes)), per_marker(bytes_written(log)), reading.gb_per_s(bytes),
      copying.ns() / reading.ns());
  for (size_t p = 0; p < paths.size(); ++p) {
    const double ratio = copying.ns() / decoding[p].ns();
    result("  decode by %s: %.2f GB/s, %.0f M markers/s, ratio to memcpy %.2f %s; %.2f of reading alone",
           std::string(markers::to_string(paths[p])).c_str(), decoding[p].gb_per_s(bytes),
           static_cast<double>(decoded) / decoding[p].ns() * 1000, ratio,
           judged(ratio, ">=", paths[p] == markers::DecodePath::portable ? 0.3 : target).c_str(),
           reading.ns() / decoding[p].ns());
  }
  result("  verify  %.2f GB/s, %.0f M markers/s, ratio to memcpy %.2f", verifying.gb_per_s(bytes),
         static_cast<double>(verified) / verifying.ns() * 1000, copying.ns() / verifying.ns());
  if (verified != log.markers)
    result("  WRONG: recorded %zu, verified %zu markers", log.markers, verified), std::exit(1);
}

}  // namespace

int main() {
  print_machine("decode_bench");
  measure("4 zones", {4, 4, 0}, 0.5);
  measure("2 to 16 zones, data in every 4th frame", {2, 16, 4}, 0.6);
  measure("60 zones, data in every 4th frame", {60, 60, 4}, 0.6);
}
