#include "tools/pipeline/decoded_chunk.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "firmware_markers/layout.hpp"

namespace ttc::tools {

void DecodedChunk::view(std::span<const uint64_t> chunk, const Rules& rules) {
  chunk_ = chunk;
  rules_ = rules;
  batch_.clear(), lanes_.clear(), picked_.clear(), ordered_.clear();
  anomalies_ = {};
  complaint_.clear();
  without_bound_ = 0;
  has_words_ = picked_all_ = all_alone_ = false;
}

void DecodedChunk::run(Ids& ids, Seen& seen, Work& work) {
  decode();
  picked_all_ = !may_repeat();
  if (!picked_all_) return;
  for (uint32_t i = 0; i < batch_.frames().size(); ++i) {
    const auto from = static_cast<uint32_t>(ordered_.size());
    if (!pick(batch_.frames()[i])) continue;
    const auto to = static_cast<uint32_t>(ordered_.size());
    const auto markers = std::span<const markers::Marker>(ordered_).subspan(from);
    Picked& one = picked_.emplace_back();
    one.frame = i;
    one.markers_end = to;
    one.main_zone = main_zone_of(batch_.frames()[i]);
    if (!work.to) one.zones = FrameZones::of(markers, one.main_zone);
    note_ids(markers, ids, seen);
  }
  date();
  if (work.to) give_to(work);
}

void DecodedChunk::give_to(Work& work) {
  const shm::ChunkHeader& h = header();
  const collect::ClockMap* const clock = rules_.times ? rules_.times->clock_of(h.core_x, h.core_y) : nullptr;
  const auto mode = static_cast<device::Mode>(h.firmware_mode);
  // Common to all frames: a frame is small, and so much memory is not filled in for each.
  FrameEvents events{
      rules_.chip, h.core_x, h.core_y,     static_cast<markers::CoreKind>(h.core_kind), mode, 0, 0, 0,
      {},          batch_,   *rules_.names};
  events.seen_ns = seen_ns(h);
  events.tile_clock = clock;
  uint32_t from = 0;
  all_alone_ = true;
  for (Picked& one : picked_) {
    const markers::Frame& decoded = batch_.frames()[one.frame];
    events.risc = decoded.risc;
    events.host_id = decoded.host_id;
    events.trace_counter = trace_counter_of(mode, decoded.trace_counter);
    events.markers = std::span<const markers::Marker>(ordered_).subspan(from, one.markers_end - from);
    events.main_zone = one.main_zone;
    if (rules_.times) events.host_times = std::span(times_.of).subspan(from, one.markers_end - from);
    events.semantics = {};
    const Apart apart = work.semantics->apart(events);
    if (apart == Apart::unless_dispatch) events.semantics = work.semantics->of(events, h.generation);
    one.alone = work.to->frame(events) ? apart : Apart::no;
    all_alone_ &= one.alone != Apart::no;
    if (one.alone == Apart::no) one.zones = FrameZones::of(events.markers, one.main_zone);
    one.work_frame = work.frames++;
    from = one.markers_end;
  }
}

void DecodedChunk::decode() {
  const shm::ChunkHeader& h = header();
  const markers::Layout* layout = markers::layout_by_generation(h.generation);
  if (!layout) {
    complaint_ = "a chunk is of layout generation " + std::to_string(h.generation) +
                 ", which this build does not support";
    return;
  }
  if (h.core_kind >= markers::kCoreKinds ||
      h.firmware_mode > static_cast<uint8_t>(device::Mode::accumulate)) {
    complaint_ = "a chunk is of a kind of core or firmware that this build does not support";
    return;
  }
  for (const shm::SpanEntry& span : shm::spans_of(chunk_)) decode_span(span, *layout);
}

void DecodedChunk::decode_span(const shm::SpanEntry& span, const markers::Layout& layout) {
  const shm::ChunkHeader& h = header();
  if (span.risc >= device::kMaxRiscs) {
    complaint_ = "a span names RISC " + std::to_string(span.risc);
    return;
  }
  if (span.source > shm::SpanSource::l1_buffer) {
    complaint_ = "a chunk has words of source " + std::to_string(static_cast<unsigned>(span.source)) +
                 ", which this build does not support";
    return;
  }
  has_words_ = true;
  if (!rules_.filter->wants(h.core_x, h.core_y, span.risc)) return;
  markers::LaneDecoder decoder({&layout.format, span.risc, static_cast<uint8_t>(h.flat_id),
                                static_cast<device::Mode>(h.firmware_mode)});
  markers::FrameDigest digest;
  std::memcpy(&digest, span.digest, sizeof digest);
  decoder.resume(digest);
  if (span.source == shm::SpanSource::l1_buffer)
    decoder.decode_buffer(shm::words_of(chunk_, span), batch_);
  else
    decoder.decode(shm::words_of(chunk_, span), batch_);
  anomalies_.add(decoder.anomalies());
  lanes_.push_back({span.risc, static_cast<uint32_t>(batch_.markers().size())});
}

void DecodedChunk::skip_repeats(std::span<markers::Marker> lane, uint64_t& until) {
  const uint64_t before = until;
  for (markers::Marker& m : lane) {
    if (m.flags & markers::kStale) continue;
    if (before != 0 && markers::clock_difference(m.time_cycles, before) <= 0)
      m.flags |= markers::kStale;
    else if (until == 0 || markers::clock_difference(m.time_cycles, until) > 0)
      until = m.time_cycles;
  }
}

// False: the filter excludes all of the frame.
bool DecodedChunk::pick(const markers::Frame& frame) {
  const shm::ChunkHeader& h = header();
  const Filter& filter = *rules_.filter;
  if (!filter.host_ids.empty() && !filter.host_ids.contains(frame.host_id)) return false;
  const uint8_t unwanted = markers::kStale | (rules_.keep_duplicates ? 0 : markers::kDuplicate);
  const size_t from = ordered_.size();
  for (const markers::Marker& m : batch_.markers(frame))
    if (!(m.flags & unwanted)) ordered_.push_back(m);
  if (!filter.wants_all_markers()) {
    const auto processor = markers::risc_name(static_cast<markers::CoreKind>(h.core_kind), frame.risc,
                                              static_cast<device::Mode>(h.firmware_mode));
    const auto unwanted_by_filter = [&](const markers::Marker& m) {
      return !filter.wants(m, *rules_.names, processor);
    };
    ordered_.erase(
        std::remove_if(ordered_.begin() + static_cast<ptrdiff_t>(from), ordered_.end(), unwanted_by_filter),
        ordered_.end());
  }
  if (ordered_.size() == from) return false;
  if (rules_.order == Order::time) sort_by_time(from);
  return true;
}

// One pass without branches over all markers; nearly every frame ends there.
void DecodedChunk::note_ids(std::span<const markers::Marker> markers, Ids& ids, Seen& seen) {
  const auto new_in = [&seen](const markers::Marker& m) {
    const uint8_t is = is_of_a_name(m) ? Seen::kAny | Seen::kNamed : Seen::kAny;
    return static_cast<uint8_t>(is & ~seen[m.id]);
  };
  uint8_t fresh = 0;
  bool wide = false;
  for (const markers::Marker& m : markers) {
    fresh |= new_in(m);
    wide |= m.type == markers::MarkerType::ts_data_16b;
  }
  ids.wide |= wide;
  if (fresh == 0) return;
  for (const markers::Marker& m : markers) {
    const uint8_t as = new_in(m);
    if (as & Seen::kAny) ids.all.push_back(m.id);
    if (as & Seen::kNamed) ids.named.push_back(m.id);
    if (as) seen.add(m.id, as);
  }
}

// The host times of what was picked last.
void DecodedChunk::date() {
  if (!rules_.times || ordered_.empty()) return;
  const shm::ChunkHeader& h = header();
  marker_times_.clear();
  for (const markers::Marker& m : ordered_) marker_times_.push_back(m.time_cycles);
  without_bound_ += rules_.times->convert(h.core_x, h.core_y, h.read_time_ns, marker_times_, times_);
}

// The four guaranteed markers come first in a frame and are not in time order. The customs are, but for
// totals, which come last and are dated to the start of their frame. Frames are short and come by the million: nothing is allocated.
void DecodedChunk::sort_by_time(size_t from) {
  const auto earlier = [](const markers::Marker& a, const markers::Marker& b) {
    return markers::clock_difference(a.time_cycles, b.time_cycles) < 0;
  };
  const auto begin = ordered_.begin() + static_cast<ptrdiff_t>(from);
  const auto customs =
      std::find_if(begin, ordered_.end(), [](const auto& m) { return !(m.flags & markers::kGuaranteed); });
  for (auto g = begin; g != customs; ++g)
    for (auto at = g; at != begin && earlier(*at, *std::prev(at)); --at) std::iter_swap(at, std::prev(at));
  if (!std::is_sorted(customs, ordered_.end(), earlier)) std::stable_sort(customs, ordered_.end(), earlier);
  // The guaranteed markers, at most four, are put at their places among the others, the last one first: what is
  // behind it is in order.
  for (auto g = customs; g != begin;) {
    --g;
    const auto place = std::lower_bound(std::next(g), ordered_.end(), *g, earlier);
    if (place == std::next(g)) return;
    std::rotate(g, std::next(g), place);
  }
}

DecodedChunk::Frame DecodedChunk::frame_of(const markers::Frame& decoded, uint32_t from, uint32_t to,
                                           uint16_t main_zone) const {
  Frame frame{decoded, std::span(ordered_).subspan(from, to - from), {}};
  if (rules_.times) frame.times = std::span(times_.of).subspan(from, to - from);
  frame.main_zone = main_zone;
  return frame;
}

uint16_t DecodedChunk::main_zone_of(const markers::Frame& decoded) const {
  const markers::Marker& first = batch_.markers(decoded).front();
  return first.flags & markers::kGuaranteed ? first.id : uint16_t{0};
}

}  // namespace ttc::tools
