#include "collector/loss/span_time.hpp"

#include <cstring>

#include "firmware_markers/decoder.hpp"

namespace ttc::collect {

uint64_t last_time_of(const shm::ChunkHeader& h, const shm::SpanEntry& span,
                      std::span<const uint32_t> words) {
  const markers::Layout* layout = markers::layout_by_generation(h.generation);
  if (!layout || span.risc >= device::kMaxRiscs ||
      h.firmware_mode > static_cast<uint8_t>(device::Mode::accumulate))
    return 0;
  markers::LaneDecoder decoder({&layout->format, span.risc, static_cast<uint8_t>(h.flat_id),
                                static_cast<device::Mode>(h.firmware_mode)});
  markers::FrameDigest digest;
  std::memcpy(&digest, span.digest, sizeof digest);
  decoder.resume(digest);
  markers::Batch batch;
  if (span.source == shm::SpanSource::l1_buffer)
    decoder.decode_buffer(words, batch);
  else
    decoder.decode(words, batch);
  return decoder.digest().last_time;
}

}  // namespace ttc::collect
