// Texts of any length in a spill (spill.hpp), each with its length in front.
#pragma once
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "tools/report/text/spill.hpp"

namespace ttc::report {

class Texts {
 public:
  // Gives the place of the text. Throws std::runtime_error, as Spill does.
  uint64_t add(std::string_view text) {
    const auto size = static_cast<uint32_t>(text.size());
    std::string record(reinterpret_cast<const char*>(&size), sizeof size);
    record += text;
    return bytes_.append(record);
  }
  // Valid until the next call.
  std::string_view at(uint64_t place) {
    uint32_t size = 0;
    std::memcpy(&size, bytes_.at(place, sizeof size).data(), sizeof size);
    return bytes_.at(place + sizeof size, size);
  }
  // The place of the text that was added right after `text`, which is at `place`.
  static uint64_t behind(uint64_t place, std::string_view text) {
    return place + sizeof(uint32_t) + text.size();
  }

 private:
  Spill bytes_;
};

}  // namespace ttc::report
