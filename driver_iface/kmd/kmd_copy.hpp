// Copying out of a window. A load is a round trip to the card whatever its width, so the widest there is;
// every address is loaded once, and no load touches a byte outside of the requested range (tt-umd
// device/pcie/silicon_tlb_window.cpp, tt-umd tests/microbenchmark, tt-isa-documentation
// WormholeB0/PCIExpressTile).
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

namespace ttc::card::kmd {

// Widths are by the widest load: 8 bytes, 16 (movntdqa), 32, 64. Lines in write-combining memory are fetched whole by
// the streaming forms; on uncached memory these are loads like any other.
enum class CopyWidth : uint8_t { plain, sse41, avx2, avx512 };
const char* to_string(CopyWidth width);

// `from` and `to` are aligned to 8. Stores are 64-bit release stores: `to` may be memory readers examine.
using Copy = void (*)(uint64_t* to, const volatile uint64_t* from, size_t words) noexcept;
Copy copy_of(CopyWidth width);

std::span<const CopyWidth> copy_widths();  // what this CPU can, narrowest first
CopyWidth widest_copy();

// A load behind the fence is not served by data fetched before it: after an aim, and between two copies of the same
// line through write-combining memory, whose buffers may hold a stale one.
void fence();

}  // namespace ttc::card::kmd
