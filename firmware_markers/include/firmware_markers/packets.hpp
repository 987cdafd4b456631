// The packets of a frame one by one: two words with type, id and time, and the payload that some types have
// (tt-metal kernel_profiler.hpp). The general walk over a frame, for all places where its speed does not
// matter; decoder.cpp and the verification in frame.cpp have their own.
//
// No word outside `words` is read, and every packet is in them whole. What a word means in its frame
// (stale, rolled over, the damaged sentinel of the next frame) is not examined here.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

#include "firmware_markers/frame.hpp"

namespace ttc::markers {

struct Packet {
  size_t at = 0;       // its first word
  uint32_t words = 0;  // its length with payload; 0: no packet
  uint32_t high = 0, low = 0;

  uint32_t type() const { return packet_type(high); }
  uint32_t id() const { return packet_id(high); }
  bool blank() const { return is_blank(high); }  // an unset slot, or padding
  bool timed() const { return !blank() && type() != device::kZoneTotal; }
  uint64_t time() const { return marker_time(high, low); }  // where it is timed(): 44 bits, as stored
};

// `words` of it is 0 where none begins at words[at], its type is unknown, or it is cut.
inline Packet packet_at(std::span<const uint32_t> words, size_t at) {
  if (at + 2 > words.size() || !is_marker(words[at])) return {};
  const uint32_t length = packet_words(packet_type(words[at]));
  if (length == 0 || at + length > words.size()) return {};
  return {at, length, words[at], words[at + 1]};
}

enum class Walking : uint8_t {
  on,          // to the next packet
  ends_here,   // behind this one
  ended_here,  // in front of this one
};

// Calls `visit`, Walking(const Packet&), with the packets that follow one another from words[at] on. Returns
// the word at which the walk ended: behind the last packet unless `visit` ended it.
template <class Visit>
size_t for_each_packet(std::span<const uint32_t> words, size_t at, Visit&& visit) {
  for (;;) {
    const Packet packet = packet_at(words, at);
    if (packet.words == 0) return at;
    const Walking walking = visit(packet);
    if (walking != Walking::ended_here) at += packet.words;
    if (walking != Walking::on) return at;
  }
}

}  // namespace ttc::markers
