// The same words by every path of the decoder that this processor has: they must not differ in anything.
#pragma once
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "firmware_markers/decoder.hpp"

namespace ttc::test {

// All that a decoder made of some words, as text of fixed places.
inline std::vector<uint64_t> decoded_by(markers::DecodePath path, std::span<const uint32_t> words,
                                        const markers::Lane& lane, const markers::FrameDigest& before) {
  markers::LaneDecoder decoder(lane, path);
  decoder.resume(before);
  markers::Batch batch;
  std::vector<uint64_t> all;
  // In two calls: the second begins behind frames that are in the batch.
  for (const auto part :
       {words.first(words.size() / 2 & ~size_t{1}), words.subspan(words.size() / 2 & ~size_t{1})})
    decoder.decode(part, batch);
  for (const markers::Frame& f : batch.frames())
    all.insert(all.end(),
               {f.host_id, f.trace_counter, f.risc, f.sat_out, f.first_marker, f.marker_count, f.first_word});
  for (const markers::Marker& m : batch.markers()) {
    all.insert(all.end(), {m.time_cycles, m.id, static_cast<uint64_t>(m.type), m.flags, m.payload});
    using markers::MarkerType;
    const bool wide = m.type == MarkerType::ts_data_16b;
    if (wide || m.type == MarkerType::ts_data || m.type == MarkerType::zone_total)
      for (uint32_t word = 0; word <= wide; ++word) all.push_back(batch.payload(m.payload + word));
  }
  const auto append = [&](const auto& object) {
    static_assert(sizeof object % 8 == 0);
    const size_t at = all.size();
    all.resize(at + sizeof object / 8);
    std::memcpy(all.data() + at, &object, sizeof object);
  };
  append(decoder.digest());
  append(decoder.anomalies());
  return all;
}

// Names of the paths that differ from the portable one; empty: none does.
inline std::string paths_that_differ(std::span<const uint32_t> words, const markers::Lane& lane,
                                     const markers::FrameDigest& before = {}) {
  std::string differ;
  const auto portable = decoded_by(markers::DecodePath::portable, words, lane, before);
  for (const markers::DecodePath path : markers::kDecodePaths)
    if (path != markers::DecodePath::portable && markers::has(path) &&
        decoded_by(path, words, lane, before) != portable)
      differ += std::string(markers::to_string(path)) + " ";
  return differ;
}

}  // namespace ttc::test
