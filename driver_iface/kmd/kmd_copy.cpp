#include "driver_iface/kmd/kmd_copy.hpp"

#include <array>
#include <atomic>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace ttc::card::kmd {
namespace {

inline __attribute__((always_inline)) void put(uint64_t*& to, const uint64_t* words, size_t count) {
  for (size_t i = 0; i < count; ++i) __atomic_store_n(to++, words[i], __ATOMIC_RELEASE);
}
inline __attribute__((always_inline)) bool may_load(const volatile uint64_t* from, size_t words,
                                                    size_t bytes) {
  return words * 8 >= bytes && reinterpret_cast<uintptr_t>(from) % bytes == 0;
}
inline __attribute__((always_inline)) void one(uint64_t*& to, const volatile uint64_t*& from, size_t& words) {
  const uint64_t word = *from++;
  put(to, &word, 1);
  --words;
}

void copy_plain(uint64_t* to, const volatile uint64_t* from, size_t words) noexcept {
  while (words) one(to, from, words);
}

#if defined(__x86_64__)
// The intrinsics need a pointer without const and volatile. Each address is loaded once, so there are no loads
// that volatile would keep from being merged.
inline __attribute__((always_inline)) void* plain_pointer(const volatile uint64_t* from) {
  return const_cast<uint64_t*>(from);
}

__attribute__((target("sse4.1"))) void copy_sse41(uint64_t* to, const volatile uint64_t* from,
                                                  size_t words) noexcept {
  alignas(16) uint64_t part[8];
  while (words) {
    if (may_load(from, words, 64)) {
      // Four in a row empty one line buffer.
      for (size_t i = 0; i < 8; i += 2)
        _mm_store_si128(reinterpret_cast<__m128i*>(part + i),
                        _mm_stream_load_si128(static_cast<__m128i*>(plain_pointer(from + i))));
      put(to, part, 8), from += 8, words -= 8;
    } else if (may_load(from, words, 16)) {
      _mm_store_si128(reinterpret_cast<__m128i*>(part),
                      _mm_stream_load_si128(static_cast<__m128i*>(plain_pointer(from))));
      put(to, part, 2), from += 2, words -= 2;
    } else {
      one(to, from, words);
    }
  }
}

__attribute__((target("avx2"))) void copy_avx2(uint64_t* to, const volatile uint64_t* from,
                                               size_t words) noexcept {
  alignas(32) uint64_t part[4];
  while (words) {
    if (may_load(from, words, 32)) {
      _mm256_store_si256(reinterpret_cast<__m256i*>(part),
                         _mm256_stream_load_si256(static_cast<__m256i*>(plain_pointer(from))));
      put(to, part, 4), from += 4, words -= 4;
    } else if (may_load(from, words, 16)) {
      _mm_store_si128(reinterpret_cast<__m128i*>(part),
                      _mm_stream_load_si128(static_cast<__m128i*>(plain_pointer(from))));
      put(to, part, 2), from += 2, words -= 2;
    } else {
      one(to, from, words);
    }
  }
}

__attribute__((target("avx512f"))) void copy_avx512(uint64_t* to, const volatile uint64_t* from,
                                                    size_t words) noexcept {
  alignas(64) uint64_t part[8];
  while (words) {
    if (may_load(from, words, 64)) {
      _mm512_store_si512(part, _mm512_stream_load_si512(plain_pointer(from)));
      put(to, part, 8), from += 8, words -= 8;
    } else if (may_load(from, words, 32)) {
      _mm256_store_si256(reinterpret_cast<__m256i*>(part),
                         _mm256_stream_load_si256(static_cast<__m256i*>(plain_pointer(from))));
      put(to, part, 4), from += 4, words -= 4;
    } else if (may_load(from, words, 16)) {
      _mm_store_si128(reinterpret_cast<__m128i*>(part),
                      _mm_stream_load_si128(static_cast<__m128i*>(plain_pointer(from))));
      put(to, part, 2), from += 2, words -= 2;
    } else {
      one(to, from, words);
    }
  }
}

size_t count_widths() {
  if (!__builtin_cpu_supports("sse4.1")) return 1;
  if (!__builtin_cpu_supports("avx2")) return 2;
  return __builtin_cpu_supports("avx512f") ? 4 : 3;
}
#endif

constexpr std::array kWidths = {CopyWidth::plain, CopyWidth::sse41, CopyWidth::avx2, CopyWidth::avx512};

}  // namespace

const char* to_string(CopyWidth width) {
  constexpr const char* kNames[] = {"8-byte loads", "SSE4.1", "AVX2", "AVX-512"};
  return kNames[static_cast<size_t>(width)];
}

Copy copy_of(CopyWidth width) {
#if defined(__x86_64__)
  switch (width) {
    case CopyWidth::sse41:
      return copy_sse41;
    case CopyWidth::avx2:
      return copy_avx2;
    case CopyWidth::avx512:
      return copy_avx512;
    case CopyWidth::plain:
      break;
  }
#else
  (void)width;
#endif
  return copy_plain;
}

std::span<const CopyWidth> copy_widths() {
#if defined(__x86_64__)
  static const size_t kCount = count_widths();
#else
  constexpr size_t kCount = 1;
#endif
  return {kWidths.data(), kCount};
}

CopyWidth widest_copy() {
  return copy_widths().back();
}

void fence() {
#if defined(__x86_64__)
  _mm_mfence();
#else
  std::atomic_thread_fence(std::memory_order_seq_cst);
#endif
}

}  // namespace ttc::card::kmd
