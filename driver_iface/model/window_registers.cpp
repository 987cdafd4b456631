#include "driver_iface/model/window_registers.hpp"

namespace ttc::card::kmd {
namespace {

constexpr unsigned kShift = 21;  // 2 MiB
constexpr uint32_t kWormholeFirst = 156;
constexpr uint64_t kWormholeBase = 0x09C00000;

struct Layout {
  unsigned x_end, y_end, x_start, y_start, noc, noc_bits, multicast, ordering, linked, static_vc;
  unsigned address_bits;
};
constexpr Layout kWormhole = {15, 21, 27, 33, 39, 1, 40, 41, 43, 44, 15};
// On Blackhole a virtual channel is used only when bit 73 is set; the driver's flag is that bit.
constexpr Layout kBlackhole = {43, 49, 55, 61, 67, 2, 69, 70, 72, 73, 43};

const Layout& layout_of(const Arch& arch) {
  return arch.name == "wormhole_b0" ? kWormhole : kBlackhole;
}

void put(WindowWords& words, unsigned bit, unsigned bits, uint64_t value) {
  for (unsigned i = 0; i < bits; ++i)
    if (value >> i & 1) words[(bit + i) / 32] |= 1u << (bit + i) % 32;
}
uint64_t get(const WindowWords& words, unsigned bit, unsigned bits) {
  uint64_t value = 0;
  for (unsigned i = 0; i < bits; ++i) value |= uint64_t{words[(bit + i) / 32] >> (bit + i) % 32 & 1} << i;
  return value;
}

}  // namespace

WindowWords encode_window(const Arch& arch, const NocAim& a) {
  const Layout& l = layout_of(arch);
  WindowWords w{};
  put(w, 0, l.address_bits, a.address >> kShift);
  put(w, l.x_end, 6, a.x_end);
  put(w, l.y_end, 6, a.y_end);
  put(w, l.x_start, 6, a.x_start);
  put(w, l.y_start, 6, a.y_start);
  put(w, l.noc, l.noc_bits, a.noc);
  put(w, l.multicast, 1, a.multicast);
  put(w, l.ordering, 2, a.ordering);
  put(w, l.linked, 1, a.linked);
  put(w, l.static_vc, 1, a.static_vc);
  return w;
}

NocAim decode_window(const Arch& arch, const WindowWords& w) {
  const Layout& l = layout_of(arch);
  NocAim a;
  a.address = get(w, 0, l.address_bits) << kShift;
  a.x_end = static_cast<uint16_t>(get(w, l.x_end, 6));
  a.y_end = static_cast<uint16_t>(get(w, l.y_end, 6));
  a.x_start = static_cast<uint16_t>(get(w, l.x_start, 6));
  a.y_start = static_cast<uint16_t>(get(w, l.y_start, 6));
  a.noc = static_cast<uint8_t>(get(w, l.noc, l.noc_bits));
  a.multicast = static_cast<uint8_t>(get(w, l.multicast, 1));
  a.ordering = static_cast<uint8_t>(get(w, l.ordering, 2));
  a.linked = static_cast<uint8_t>(get(w, l.linked, 1));
  a.static_vc = static_cast<uint8_t>(get(w, l.static_vc, 1));
  return a;
}

uint64_t window_in_bar0(const Arch& arch, uint32_t id) {
  if (arch.name == "wormhole_b0") return kWormholeBase + ((uint64_t{id} - kWormholeFirst) << kShift);
  return uint64_t{id} << kShift;
}

}  // namespace ttc::card::kmd
