// Decimal digits of times that come in order: all but the last six are mostly those of the time before, and
// kept. A row of device CSV spends a third of its time on this number otherwise.
#pragma once
#include <array>
#include <charconv>
#include <cstdint>
#include <cstring>

namespace ttc::tools {

class DecimalClock {
 public:
  static constexpr size_t kRoom = 24;  // that put() may write to, whatever the number

  char* put(char* at, uint64_t time) {
    const uint64_t upper = time / 1'000'000;
    auto rest = static_cast<uint32_t>(time % 1'000'000);
    if (upper == 0) return std::to_chars(at, at + kRoom, rest).ptr;
    if (upper != upper_) {
      upper_ = upper;
      length_ = static_cast<size_t>(std::to_chars(digits_, digits_ + sizeof digits_, upper).ptr - digits_);
    }
    std::memcpy(at, digits_, sizeof digits_);
    at += length_;
    for (int pair = 2; pair >= 0; --pair, rest /= 100)
      std::memcpy(at + 2 * pair, &kPairs[2 * (rest % 100)], 2);
    return at + 6;
  }

 private:
  static constexpr std::array<char, 200> kPairs = [] {
    std::array<char, 200> pairs{};
    for (unsigned i = 0; i < 100; ++i) {
      pairs[2 * i] = static_cast<char>('0' + i / 10);
      pairs[2 * i + 1] = static_cast<char>('0' + i % 10);
    }
    return pairs;
  }();

  uint64_t upper_ = 0;
  size_t length_ = 0;
  char digits_[16] = {};
};

}  // namespace ttc::tools
