// How fast words become markers, and how fast the drain verifies them before it publishes: against a memcpy
// of the same bytes, which is what moving them once costs.
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

size_t decode(const LaneLog& log, const std::vector<std::span<const uint32_t>>& pieces,
              markers::Batch& batch) {
  markers::LaneDecoder decoder(log.lane);
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

void measure(const char* what, const LogShape& shape) {
  const emulation::ZoneCatalog zones(64);
  const LaneLog log = make_lane_log(working_set(), 1, 17, shape, zones, 20250701);
  const auto pieces = pieces_of(log, kPieceBytes);
  const size_t bytes = log.words.size() * 4;
  std::vector<uint32_t> copy(log.words.size());
  markers::Batch batch;
  Best copying, decoding, verifying;
  size_t decoded = 0, verified = 0;
  for (int i = 0; i < repetitions(9); ++i) {  // in turn, so that a noisy neighbour meets all three
    copying.cpu_time([&] { std::memcpy(copy.data(), log.words.data(), bytes), keep(copy); });
    decoding.cpu_time([&] { decoded = decode(log, pieces, batch); });
    verifying.cpu_time([&] { verified = verify(log, pieces); });
  }
  result("%s: %.1f words a frame, %zu MiB; memcpy %.2f GB/s", what,
         static_cast<double>(log.words.size()) / static_cast<double>(log.frame_ends.size()), bytes >> 20,
         copying.gb_per_s(bytes));
  const double ratio = copying.ns() / decoding.ns();
  result("  decode  %.2f GB/s, %.0f M markers/s, ratio to memcpy %.2f %s", decoding.gb_per_s(bytes),
         static_cast<double>(decoded) / decoding.ns() * 1000, ratio, judged(ratio, ">=", 0.3).c_str());
  result("  verify  %.2f GB/s, %.0f M markers/s, ratio to memcpy %.2f", verifying.gb_per_s(bytes),
         static_cast<double>(verified) / verifying.ns() * 1000, copying.ns() / verifying.ns());
  if (decoded != log.markers || verified != log.markers)
    result("  WRONG: recorded %zu, decoded %zu, verified %zu markers", log.markers, decoded, verified),
        std::exit(1);
}

}  // namespace

int main() {
  print_machine("decode_bench");
  measure("4 zones", {4, 4, 0});
  measure("2 to 16 zones, data in every 4th frame", {2, 16, 4});
  measure("60 zones, data in every 4th frame", {60, 60, 4});
}
