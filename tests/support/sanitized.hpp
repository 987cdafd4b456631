// Under a sanitizer tests take many times as long: what others go through in full, they sample.
#pragma once

#if defined(__SANITIZE_THREAD__)
#define TTC_THREAD_SANITIZED 1
#elif defined(__has_feature)
#define TTC_THREAD_SANITIZED __has_feature(thread_sanitizer)
#else
#define TTC_THREAD_SANITIZED 0
#endif

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define TTC_SANITIZED 1
#elif defined(__has_feature)
#define TTC_SANITIZED (__has_feature(address_sanitizer) || __has_feature(thread_sanitizer))
#else
#define TTC_SANITIZED 0
#endif

namespace ttc {

inline constexpr bool kSanitized = TTC_SANITIZED;
// ThreadSanitizer finds nothing in what one thread does alone.
inline constexpr bool kThreadSanitized = TTC_THREAD_SANITIZED;

}  // namespace ttc
