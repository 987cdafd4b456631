#include "collector/capture/key_codec.hpp"

#include <array>
#include <bit>
#include <cstring>

#include "collector/capture/block_codec.hpp"
#include "firmware_markers/frame.hpp"

namespace ttc::collect {
namespace {

constexpr size_t kMostDistinct = 0xffff;
constexpr uint32_t kTypeBits =
    device::marker_high(device::kZoneStart, 0, 0) ^ device::marker_high(device::kZoneEnd, 0, 0);

bool is_start(uint32_t key) {
  return markers::is_marker(key) && markers::packet_type(key) == device::kZoneStart;
}

// The open zones, which encoder and decoder track alike.
class OpenZones {
 public:
  void came(uint32_t key) {
    if (is_start(key)) starts_[place_++ % starts_.size()] = key;
  }
  // The key of the zone that ends next if zones nest; 0: none is open.
  uint32_t next_end() const {
    const uint32_t start = starts_[(place_ - 1) % starts_.size()];
    return start ? start ^ kTypeBits : 0;
  }
  void ended() { starts_[--place_ % starts_.size()] = 0; }

 private:
  std::array<uint32_t, 16> starts_{};
  uint32_t place_ = 0;
};

// Places of keys by open addressing.
class Places {
 public:
  Places() : slots_(1024) {}
  // Places count from 1 on, in the order of appearance.
  uint32_t of(uint32_t key) {
    size_t at = slot_of(key);
    for (; slots_[at].place; at = (at + 1) & (slots_.size() - 1))
      if (slots_[at].key == key) return slots_[at].place;
    keys.push_back(key);
    const auto place = static_cast<uint32_t>(keys.size());
    slots_[at] = {key, place};
    if (2 * keys.size() > slots_.size()) grow();
    return place;
  }
  std::vector<uint32_t> keys;

 private:
  struct Slot {
    uint32_t key = 0, place = 0;
  };
  size_t slot_of(uint32_t key) const { return (key * 0x9e3779b1u) >> (32 - std::countr_zero(slots_.size())); }
  void grow() {
    slots_.assign(2 * slots_.size(), {});
    for (uint32_t i = 0; i < keys.size(); ++i) {
      size_t at = slot_of(keys[i]);
      while (slots_[at].place) at = (at + 1) & (slots_.size() - 1);
      slots_[at] = {keys[i], i + 1};
    }
  }
  std::vector<Slot> slots_;
};

}  // namespace

bool put_keys(std::vector<uint8_t>& to, std::span<const uint32_t> keys) {
  Places places;
  OpenZones zones;
  std::vector<uint8_t> codes(2 * keys.size());
  for (size_t i = 0; i < keys.size(); ++i) {
    uint32_t code = 0;
    if (keys[i] != 0 && keys[i] == zones.next_end()) {
      zones.ended();
    } else {
      code = places.of(keys[i]);
      if (code > kMostDistinct) return false;
      zones.came(keys[i]);
    }
    codes[i] = static_cast<uint8_t>(code);
    codes[keys.size() + i] = static_cast<uint8_t>(code >> 8);
  }
  if (2 * places.keys.size() > keys.size()) return false;
  const auto n = static_cast<uint32_t>(places.keys.size());
  const size_t begin = to.size();
  to.resize(begin + sizeof n + 4 * n + codes.size());
  std::memcpy(to.data() + begin, &n, sizeof n);
  if (n) std::memcpy(to.data() + begin + sizeof n, places.keys.data(), 4 * n);
  if (!codes.empty()) std::memcpy(to.data() + begin + sizeof n + 4 * n, codes.data(), codes.size());
  return true;
}

std::span<const uint32_t> take_keys(std::span<const uint8_t> bytes, Scratch<uint32_t>& to) {
  const auto too_short = [] { return BlockError("its section of shape keys is too short"); };
  uint32_t n = 0;
  if (bytes.size() < sizeof n) throw too_short();
  std::memcpy(&n, bytes.data(), sizeof n);
  bytes = bytes.subspan(sizeof n);
  if (n > bytes.size() / 4) throw too_short();
  const uint8_t* distinct = bytes.data();
  bytes = bytes.subspan(size_t{4} * n);
  if (bytes.size() % 2) throw BlockError("its section of shape keys is no whole number of keys");
  const size_t count = bytes.size() / 2;
  const std::span<uint32_t> keys = to.take(count);
  const uint8_t *low = bytes.data(), *high = low + count;
  OpenZones zones;
  for (size_t i = 0; i < count; ++i) {
    const uint32_t code = low[i] | uint32_t{high[i]} << 8;
    if (code > n) throw BlockError("its section of shape keys names one that is not there");
    uint32_t key = 0;
    if (code) {
      std::memcpy(&key, distinct + size_t{4} * (code - 1), sizeof key);
      zones.came(key);
    } else {
      key = zones.next_end();
      if (key == 0) throw BlockError("its section of shape keys ends a zone that is not open");
      zones.ended();
    }
    keys[i] = key;
  }
  return keys;
}

}  // namespace ttc::collect
