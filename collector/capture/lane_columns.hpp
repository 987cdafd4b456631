// The words of lanes as columns and back: which frames (by shape), when (differences of time), what else.
// Words that are no frame are kept as they are, so any words can be stored.
//
// A shape is what a frame's packets are but for their times: one key a packet, the upper twenty bits of its
// first word and how its time is kept. Most frames of a workload have one of few shapes.
#pragma once
#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "collector/capture/block_codec.hpp"
#include "collector/capture/scratch.hpp"

namespace ttc::collect {

using SectionBytes = std::vector<uint8_t>;
struct Sections {
  std::array<SectionBytes, static_cast<size_t>(Section::count)> bytes;
  std::vector<uint32_t> keys;  // what will be section shape_keys
  SectionBytes& operator[](Section s) { return bytes[static_cast<size_t>(s)]; }
  const SectionBytes& operator[](Section s) const { return bytes[static_cast<size_t>(s)]; }
};

// The sections of a block that is taken apart, unpacked. The caller owns the bytes.
struct SectionViews {
  std::array<std::span<const uint8_t>, static_cast<size_t>(Section::count)> bytes;
  bool keyed = false;  // shape_keys is what put_keys() made
  std::span<const uint8_t>& operator[](Section s) { return bytes[static_cast<size_t>(s)]; }
  std::span<const uint8_t> operator[](Section s) const { return bytes[static_cast<size_t>(s)]; }
};

void put_varint(SectionBytes& to, uint64_t value);

// Reads a section from its beginning to its end; throws BlockError beyond it.
class SectionReader {
 public:
  SectionReader(std::span<const uint8_t> bytes, const char* name)
      : at_(bytes.data()), end_(bytes.data() + bytes.size()), name_(name) {}
  size_t left() const { return static_cast<size_t>(end_ - at_); }
  const uint8_t* take(size_t bytes) {
    if (left() < bytes) fail();
    return std::exchange(at_, at_ + bytes);
  }
  uint64_t varint();
  [[noreturn]] void fail() const;

 private:
  const uint8_t* at_;
  const uint8_t* end_;
  const char* name_;
};

// What must be known of a lane's past to predict the digest in front of its next span.
struct LanePast {
  uint32_t identity = 0, host_id = 0;
  uint64_t time = 0;            // of the marker latest written, 44 bits
  uint32_t guaranteed[8] = {};  // of the frame latest written
  uint32_t trailing_words = 0;  // from its first word on
  bool any_frame = false;
  std::array<uint8_t, 64> digest() const;  // as predicted
};

// One packet of a shape.
enum class TimeKind : uint32_t {
  timed = 0,
  blank = 1,  // 0x80000000, 0: padding
  unset = 2,  // 0x80000000 twice: a slot that was not written
  total = 3,  // the second word is a sum
};

struct Shape {
  uint32_t first_key = 0;
  uint32_t customs = 0;  // packets behind the guaranteed four
  uint32_t words = 0;
  uint32_t markers = 0;
  bool plain = false;  // only zone starts, ends and events with times
};

class ShapeTable {
 public:
  const Shape& at(size_t index) const { return shapes_[index]; }
  size_t size() const { return shapes_.size(); }
  const uint32_t* keys(const Shape& s) const { return keys_.data() + s.first_key; }
  // Appends; `keys` are four and those of the customs.
  size_t add(std::span<const uint32_t> keys);
  std::vector<uint32_t> take_keys() { return std::move(keys_); }  // of all; no shape may be requested later

 private:
  std::vector<Shape> shapes_;
  std::vector<uint32_t> keys_;
};

// Shapes by what they look like: open addressing, as where every launch has a shape of its own finding it is
// most of the work.
class ShapeFinder {
 public:
  // Returns the shape with this hash that `is` accepts. If there is none, `otherwise` is stored and returned.
  template <class Is>
  uint32_t find_or(uint64_t hash, uint32_t otherwise, Is is) {
    const auto brief = static_cast<uint32_t>(hash);
    size_t at = brief & (slots_.size() - 1);
    for (; slots_[at].shape != kFree; at = (at + 1) & (slots_.size() - 1))
      if (slots_[at].hash == brief && is(slots_[at].shape)) return slots_[at].shape;
    slots_[at] = {brief, otherwise};
    if (2 * ++used_ > slots_.size()) grow();
    return otherwise;
  }

 private:
  static constexpr uint32_t kFree = ~0u;
  struct Slot {
    uint32_t hash = 0;
    uint32_t shape = kFree;
  };
  void grow();
  std::vector<Slot> slots_ = std::vector<Slot>(256);
  size_t used_ = 0;
};

class ColumnEncoder {
 public:
  explicit ColumnEncoder(Sections& sections) : s_(sections) {}
  // Room for so many words more.
  void reserve(size_t words);
  // The spans of one lane, in order; `past` is new for each lane.
  void encode(std::span<const uint32_t> words, LanePast& past);
  // Must be called after the last lane: lays out what is kept by byte.
  void finish();

  uint64_t markers() const { return markers_; }
  // The range of the 44-bit times, min > max when none.
  uint64_t earliest() const { return earliest_; }
  uint64_t latest() const { return latest_; }

 private:
  const Shape* shape_at(const uint32_t* words, size_t left);
  bool fits(const uint32_t* words, size_t left, const Shape& shape) const;
  bool parse(const uint32_t* words, size_t left);
  size_t shape_of_parsed();
  void use(size_t shape);
  void put_frame(const uint32_t* words, const Shape& shape, LanePast& past);
  void met(uint64_t time);
  void put_plain_times(const uint32_t* words, const Shape& shape, LanePast& past);
  void put_time(uint64_t time, LanePast& past);
  void put_start(uint64_t time, LanePast& past);
  void put_packet(const uint32_t* words, uint32_t key, LanePast& past);

  Sections& s_;
  ShapeTable shapes_;
  ShapeFinder by_hash_;
  std::vector<uint32_t> follower_;  // of each shape: the shape that came after it last
  size_t last_shape_ = 0;
  std::vector<uint32_t> parsed_;  // used: parsed_keys_
  size_t parsed_keys_ = 0;
  std::vector<uint32_t> identities_, host_ids_, starts_, sums_, payload_, raw_;
  std::vector<uint8_t> low_, high_;
  size_t times_ = 0;  // used of low_ and high_
  uint64_t markers_ = 0;
  uint64_t earliest_ = ~uint64_t{0}, latest_ = 0;
};

// What a decoder works in.
struct ColumnMemory {
  Scratch<uint32_t> keys, identities, host_ids, starts, sums, payload, raw;
  std::vector<Shape> shapes;
};

class ColumnDecoder {
 public:
  ColumnDecoder(const SectionViews& sections, ColumnMemory& memory);
  // Fills `words`, the next span of the lane.
  void decode(std::span<uint32_t> words, LanePast& past);
  // Throws BlockError when anything is left over.
  void finish() const;

 private:
  const Shape& next_shape(uint64_t code);
  void take_frame(uint32_t* words, const Shape& shape, LanePast& past);
  uint64_t take_time(LanePast& past);
  uint64_t take_start(LanePast& past);
  void take_plain(uint32_t* words, const Shape& shape, LanePast& past);
  void take_packet(uint32_t*& at, uint32_t key, LanePast& past);
  uint32_t next_of(std::span<const uint32_t> column, size_t& at, const char* name) const;

  std::vector<Shape>& shapes_;
  SectionReader items_, shape_sizes_, long_;
  std::span<const uint8_t> low_, high_;
  size_t time_at_ = 0;
  std::span<const uint32_t> keys_, identities_, host_ids_, starts_, sums_, payload_, raw_;
  size_t key_at_ = 0, frame_at_ = 0, start_at_ = 0, sum_at_ = 0, payload_at_ = 0, raw_at_ = 0;
};

// u32 by byte: all lowest bytes first.
void put_planes(SectionBytes& to, std::span<const uint32_t> values);
std::span<const uint32_t> take_planes(std::span<const uint8_t> bytes, const char* name,
                                      Scratch<uint32_t>& to);

}  // namespace ttc::collect
