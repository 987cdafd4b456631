#include "wide_frames.hpp"

#include <cstring>

#if defined(__x86_64__) && (defined(__GNUC__) || defined(__clang__))
#define TTC_WIDE_FRAMES 1
#ifdef __clang__
#define TTC_UNROLLED  // by itself
#else
#define TTC_UNROLLED _Pragma("GCC unroll 8")
// GCC 12's own headers of AVX-512 begin with a vector that is not set, and it warns of that where they are inlined (GCC bug 105593).
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#include <immintrin.h>
#endif

namespace ttc::markers {

#ifdef TTC_WIDE_FRAMES
namespace {
using namespace device;

// odd_types() of packet_pair.hpp.
constexpr auto kFirstOrdinary = static_cast<long long>(uint64_t{kUnsetWord + 1} << 32);
constexpr auto kBehindOrdinary =
    static_cast<long long>((uint64_t{marker_high(kZoneEnd + 1, 0, 0)} << 32) - (uint64_t{1} << 63));
constexpr auto kStartTop = static_cast<long long>(uint64_t{marker_high(kZoneStart, 0, 0)} << 32);
constexpr auto kEndTop = static_cast<long long>(uint64_t{marker_high(kZoneEnd, 0, 0)} << 32);
constexpr size_t kPrefetchWords = 512;
bool is_data(uint32_t high) {
  return high >> 28 == (8 | kTsData);
}

// What each variant defines: the mask of kPackets packets that are no zones in order of time, when they are converted behind `before`; and of
// those whose words are 0, as a sentinel's are.

namespace avx2 {
#define TTC_WIDE_TARGET [[gnu::target("avx2,bmi,bmi2")]]
#define TTC_WIDE_INLINE [[gnu::target("avx2,bmi,bmi2"), gnu::always_inline]]
constexpr unsigned kPackets = 4;
using Times = __m256i;
TTC_WIDE_INLINE inline Times all_lanes(uint64_t time) {
  return _mm256_set1_epi64x(static_cast<long long>(time));
}
TTC_WIDE_INLINE inline uint32_t convert(const uint32_t* words, Times& before, Marker* to) {
  const __m256i packets =
      _mm256_shuffle_epi32(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(words)), 0xb1);
  const __m256i times = _mm256_and_si256(packets, _mm256_set1_epi64x(kClockMask));
  // The time before each: the last of those before, and the first three of these.
  const __m256i earlier = _mm256_permute4x64_epi64(_mm256_blend_epi32(times, before, 0xc0), 0x93);
  const __m256i types = _mm256_or_si256(_mm256_sub_epi64(packets, _mm256_set1_epi64x(kFirstOrdinary)),
                                        _mm256_sub_epi64(packets, _mm256_set1_epi64x(kBehindOrdinary)));
  const __m256i odd =
      _mm256_or_si256(types, _mm256_slli_epi64(_mm256_sub_epi64(times, earlier), 64 - kClockBits));
  const __m256i rests = _mm256_and_si256(_mm256_srli_epi64(packets, 44), _mm256_set1_epi64x(0x7ffff));
  const __m256i even = _mm256_unpacklo_epi64(times, rests), uneven = _mm256_unpackhi_epi64(times, rests);
  auto* const at = reinterpret_cast<__m256i*>(to);
  _mm256_storeu_si256(at, _mm256_permute2x128_si256(even, uneven, 0x20));
  _mm256_storeu_si256(at + 1, _mm256_permute2x128_si256(even, uneven, 0x31));
  before = times;
  return static_cast<uint32_t>(_mm256_movemask_pd(_mm256_castsi256_pd(odd)));
}
TTC_WIDE_INLINE inline uint32_t empty(const uint32_t* words) {
  const __m256i packets = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(words));
  return static_cast<uint32_t>(
      _mm256_movemask_pd(_mm256_castsi256_pd(_mm256_cmpeq_epi64(packets, _mm256_setzero_si256()))));
}
#include "wide_frames.inc"
#undef TTC_WIDE_TARGET
#undef TTC_WIDE_INLINE
}  // namespace avx2

namespace avx512 {
#define TTC_WIDE_TARGET [[gnu::target("avx512f,avx512dq,avx512vl,avx2,bmi,bmi2")]]
#define TTC_WIDE_INLINE [[gnu::target("avx512f,avx512dq,avx512vl,avx2,bmi,bmi2"), gnu::always_inline]]
constexpr unsigned kPackets = 8;
using Times = __m512i;
TTC_WIDE_INLINE inline Times all_lanes(uint64_t time) {
  return _mm512_set1_epi64(static_cast<long long>(time));
}
TTC_WIDE_INLINE inline uint32_t convert(const uint32_t* words, Times& before, Marker* to) {
  const __m512i packets = _mm512_shuffle_epi32(_mm512_loadu_si512(words), _MM_PERM_CDAB);
  const __m512i times = _mm512_and_si512(packets, _mm512_set1_epi64(kClockMask));
  const __m512i earlier = _mm512_alignr_epi64(times, before, 7);
  constexpr int kOr = 0xfe;
  const __m512i odd =
      _mm512_ternarylogic_epi64(_mm512_sub_epi64(packets, _mm512_set1_epi64(kFirstOrdinary)),
                                _mm512_sub_epi64(packets, _mm512_set1_epi64(kBehindOrdinary)),
                                _mm512_slli_epi64(_mm512_sub_epi64(times, earlier), 64 - kClockBits), kOr);
  const __m512i rests = _mm512_and_si512(_mm512_srli_epi64(packets, 44), _mm512_set1_epi64(0x7ffff));
  const __m512i low = _mm512_setr_epi64(0, 8, 1, 9, 2, 10, 3, 11);
  const __m512i high = _mm512_setr_epi64(4, 12, 5, 13, 6, 14, 7, 15);
  _mm512_storeu_si512(to, _mm512_permutex2var_epi64(times, low, rests));
  _mm512_storeu_si512(to + 4, _mm512_permutex2var_epi64(times, high, rests));
  before = times;
  return _mm512_movepi64_mask(odd);
}
TTC_WIDE_INLINE inline uint32_t empty(const uint32_t* words) {
  const __m512i packets = _mm512_loadu_si512(words);
  return _mm512_testn_epi64_mask(packets, packets);
}
#include "wide_frames.inc"
#undef TTC_WIDE_TARGET
#undef TTC_WIDE_INLINE
}  // namespace avx512
}  // namespace

TakeOrdinary take_ordinary(DecodePath path) {
  if (!has(path)) return nullptr;
  return path == DecodePath::avx512 ? avx512::take : path == DecodePath::avx2 ? avx2::take : nullptr;
}
bool has(DecodePath path) {
  switch (path) {
    case DecodePath::avx2:
      return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2");
    case DecodePath::avx512:
      return has(DecodePath::avx2) && __builtin_cpu_supports("avx512f") &&
             __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
    case DecodePath::portable:
      break;
  }
  return true;
}
#else
TakeOrdinary take_ordinary(DecodePath) {
  return nullptr;
}
bool has(DecodePath path) {
  return path == DecodePath::portable;
}
#endif

std::string_view to_string(DecodePath path) {
  constexpr std::string_view kNames[] = {"portable", "avx2", "avx512"};
  return kNames[static_cast<size_t>(path)];
}

DecodePath fastest_path() {
  static const DecodePath fastest = has(DecodePath::avx512) ? DecodePath::avx512
                                    : has(DecodePath::avx2) ? DecodePath::avx2
                                                            : DecodePath::portable;
  return fastest;
}

}  // namespace ttc::markers
