// Words in, typed markers out.
//
// decode() takes whole spans of one lane's log and appends frames and markers to a Batch. It never reads
// outside the words it is given, never loops without progress, never throws on content: whatever does not fit
// the format moves a counter in Anomalies and decoding continues at the next frame that can be recognised.
//
// What a frame's markers mean beyond the words (tt-metal kernel_profiler.hpp, tt-isa-documentation
// WormholeB0/TensixTile/DebugTimestamper.md):
//   duplicate  quick push repeats FW/KERNEL slots of its run in every frame
//   stale      a RISC that sat out a launch has its old custom markers pushed again under the new host id
//   repaired   the time was 2^32 cycles early because the low half rolled over between the two reads
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "firmware_markers/frame.hpp"

namespace ttc::markers {

enum class MarkerType : uint8_t { zone_start, zone_end, zone_total, ts_data, ts_event, ts_data_16b };
std::string_view to_string(MarkerType type);  // the words of the device CSV

enum MarkerFlags : uint8_t {
  kGuaranteed = 1,  // from one of the four slots, which are not in time order
  kDuplicate = 2,   // already in the previous frame of the same launch
  kStale = 4,       // left over from an earlier launch: not an event of this one
  kRepaired = 8,    // 2^32 was added to the time
  kQuickPush = 16,  // the zone the firmware itself records around a quick push (known by its place)
};

struct Marker {
  uint64_t time_cycles;  // 44-bit wall clock of the tile; for totals the FW start of the frame
  uint16_t id;           // hash16 of the zone string, event id, or a fixed id
  MarkerType type;
  uint8_t flags;
  uint32_t payload;  // index into Batch::payloads: 1 word for totals and data, 2 for 16-byte data
};
static_assert(sizeof(Marker) == 16);

struct Frame {
  uint32_t host_id;
  uint16_t trace_counter;
  uint8_t risc;
  bool sat_out;  // the RISC took no part in this launch: no slot was set
  uint32_t first_marker;
  uint32_t marker_count;
  uint32_t first_word;  // in the span
};

// Monotone counts, one per kind of oddity. Every one is visible to users (`ttexport --anomalies`).
struct Anomalies {
  uint64_t unparsable_words = 0;  // skipped while looking for the next frame
  uint64_t resyncs = 0;
  uint64_t damaged_sentinels = 0;  // frame accepted by identity although its 0,0 was overwritten
  uint64_t overrun_frames = 0;     // longer than the L1 buffer
  uint64_t truncated_packets = 0;  // payload cut by the end of the span
  uint64_t unknown_packets = 0;    // type 6 or 7: not the classic backend
  uint64_t stale_markers = 0;
  uint64_t duplicate_markers = 0;
  uint64_t repaired_times = 0;
  uint64_t backward_times = 0;  // custom marker earlier than the one before, beyond repair

  void add(const Anomalies& other);
};

// Output of decode(), reused from call to call. Grows to the largest span, is never shrunk.
class Batch {
 public:
  std::span<const Frame> frames() const { return {frames_.get(), frame_count_}; }
  std::span<Marker> markers() { return {markers_.get(), marker_count_}; }
  std::span<const Marker> markers() const { return {markers_.get(), marker_count_}; }
  std::span<const Marker> markers(const Frame& f) const {
    return markers().subspan(f.first_marker, f.marker_count);
  }
  uint64_t payload(uint32_t index) const { return payloads_[index]; }
  void clear() { frame_count_ = marker_count_ = payload_count_ = 0; }

 private:
  friend class LaneDecoder;
  void reserve(size_t words);  // room for everything `words` more words can hold

  std::unique_ptr<Frame[]> frames_;
  std::unique_ptr<Marker[]> markers_;
  std::unique_ptr<uint64_t[]> payloads_;
  size_t capacity_words_ = 0;
  uint32_t frame_count_ = 0;
  uint32_t marker_count_ = 0;
  uint32_t payload_count_ = 0;
};

// The instructions by which a decoder takes ordinary frames. All decode the same (src/wide_frames.hpp).
enum class DecodePath : uint8_t { portable, avx2, avx512 };
inline constexpr DecodePath kDecodePaths[] = {DecodePath::portable, DecodePath::avx2, DecodePath::avx512};
std::string_view to_string(DecodePath path);
bool has(DecodePath path);  // this processor
DecodePath fastest_path();  // that it has

class LaneDecoder {
 public:
  explicit LaneDecoder(const Lane& lane, DecodePath path = fastest_path()) : lane_(lane), path_(path) {}

  // Appends to `out`. `words` should hold whole frames; a cut frame at either end is counted and not decoded.
  void decode(std::span<const uint32_t> words, Batch& out);

  // The words of an L1 buffer that was not pushed yet: one frame, whose identity may not be stamped yet.
  void decode_buffer(std::span<const uint32_t> words, Batch& out);

  // Start over from the digest that a span has of the frame before it.
  void resume(const FrameDigest& digest) { previous_ = digest; }
  const FrameDigest& digest() const { return previous_; }
  const Anomalies& anomalies() const { return anomalies_; }

 private:
  size_t decode_ordinary(std::span<const uint32_t> words, size_t at, Batch& out);
  struct Customs;  // what is known while the custom markers of a frame are read

  size_t decode_frame(std::span<const uint32_t> words, size_t at, Batch& out);
  void decode_guaranteed(std::span<const uint32_t> frame, uint64_t& start, uint64_t& last, bool same_launch,
                         Batch& out);
  void decode_odd_guaranteed(std::span<const uint32_t> frame, uint64_t& start, uint64_t& last,
                             bool same_launch, Batch& out);
  size_t decode_customs(std::span<const uint32_t> words, size_t at, Customs& customs, Batch& out);
  static size_t decode_zones(std::span<const uint32_t> words, size_t begin, Customs& customs);
  bool decode_packet(std::span<const uint32_t> words, size_t& pos, Customs& customs, Batch& out);
  uint8_t judge_time(uint64_t& time, Customs& customs);
  static void flag_quick_push(const Frame& frame, Batch& out);
  size_t resync(std::span<const uint32_t> words, size_t at);

  Lane lane_;
  DecodePath path_;
  FrameDigest previous_;
  Anomalies anomalies_;
  bool next_starts_ = false;  // decode_customs() ended at a frame that it has examined
};

}  // namespace ttc::markers
