// Any memory as a tile's L1: discovery refuses or accepts, always with a reason, and reads nothing outside.
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "firmware_markers/discovery.hpp"

// Bytes 0, 2, 3: architecture, requested generation, kind of core; bytes 4..7: where the image begins; the
// rest is the image.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace ttc::markers;
  if (size < 8) return 0;
  const Placement& placement = *placement_for(data[0] & 1 ? "blackhole" : "wormhole_b0");
  const Layout* only = data[0] & 2 ? &layouts()[data[2] % layouts().size()] : nullptr;
  const auto kind = static_cast<CoreKind>(data[3] % kCoreKinds);
  uint32_t base = placement.place(kind).mailbox_base;
  if (data[0] & 8) {
    std::memcpy(&base, data + 4, 4);
    base &= ~3u;
  }
  std::vector<uint32_t> words((size - 8) / 4);
  if (!words.empty()) std::memcpy(words.data(), data + 8, words.size() * 4);
  // A magic word is as unlikely as any other: the first word that is all ones is replaced by it.
  for (uint32_t& word : words)
    if (word == 0xffffffff) word = placement.place(kind).magic;
  const Discovery d = discover({base, words}, placement, kind, only);
  if (d.evidence.empty() || joined(d.evidence).empty()) std::abort();
  if (!d) return 0;
  if (only && d.layout != only) std::abort();
  // Only firmware before mid 2025 had its buffer elsewhere.
  const bool may_be_elsewhere = d.layout->format.risc_dram_address_count == 0;
  if ((d.vector.dram_address != placement.dram_base && !may_be_elsewhere) ||
      d.vector.core_count_per_dram == 0 || d.vector.flat_id > 255)
    std::abort();
  if (d.buffer_address != d.control_address + 4u * d.layout->format.control_words) std::abort();
  const LogPlace place =
      log_place(d.vector.flat_id, 4, d.vector.core_count_per_dram, placement.dram_base, 48000);
  if (place.address < placement.dram_base) std::abort();
  return 0;
}
