// True if two digests describe a lane alike.
#pragma once
#include <algorithm>
#include <iterator>

#include "firmware_markers/decoder.hpp"

namespace ttc::markers {

inline bool same(const FrameDigest& a, const FrameDigest& b) {
  return std::equal(std::begin(a.guaranteed), std::end(a.guaranteed), b.guaranteed) &&
         a.last_time == b.last_time && a.host_id == b.host_id && a.trailing_words == b.trailing_words &&
         a.known == b.known;
}

}  // namespace ttc::markers
