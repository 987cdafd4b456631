// Zone names: the 16-bit ids in markers are hashes of strings that the kernel compiler prints as notes.
//
//   hash16(s): 32-bit FNV-1a over the bytes, high half xor low half        (tt-metal kernel_profiler.hpp)
//   s = NAME,FILE,LINE,KERNEL_PROFILER
//   note line = anything '#pragma message: s'      (the closing quote is the last character)
//
// Two strings may share a hash. All are kept; a hash with more than one is ambiguous (ambiguous()). Which one a
// marker means follows from the processor that recorded it, where the names show it: BRISC-FW is never
// TRISC_0's. Where they do not, the first string wins and the choice is reported as undecided.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace ttc::markers {

constexpr uint16_t hash16(std::string_view text) {
  uint32_t h = 2166136261u;
  for (const char c : text) h = (h ^ static_cast<uint8_t>(c)) * 16777619u;
  return static_cast<uint16_t>((h & 0xffff) ^ (h >> 16));
}

struct ZoneSource {
  std::string name;
  std::string file;
  uint32_t line = 0;
  bool operator==(const ZoneSource&) const = default;
};

// The hashed string inside one log line; empty when the line carries no note.
std::string_view zone_string_in(std::string_view log_line);
// Takes NAME,FILE,LINE,KERNEL_PROFILER apart. FILE may contain commas, NAME may not.
std::optional<ZoneSource> parse_zone_string(std::string_view zone_string);

// False when the name begins with a processor's name and that is not `processor`'s (as risc_name() spells it;
// TENSIX_RISC_AGG is any but Ethernet's).
bool could_run_on(std::string_view zone_name, std::string_view processor);

class ZoneNames {
 public:
  // True when the note was new. Malformed notes are counted and refused.
  bool add_zone_string(std::string_view zone_string);
  // First source added for the hash, or null.
  const ZoneSource* find(uint16_t hash) const;
  bool ambiguous(uint16_t hash) const;

  struct Choice {
    const ZoneSource* source = nullptr;
    bool undecided = false;  // another name fits the processor as well
  };
  Choice choose(uint16_t hash, std::string_view processor) const;
  std::span<const ZoneSource> sources(uint16_t hash) const;
  size_t size() const { return count_; }
  uint64_t malformed() const { return malformed_; }

 private:
  std::unordered_map<uint16_t, std::vector<ZoneSource>> by_hash_;
  size_t count_ = 0;
  uint64_t malformed_ = 0;
};

}  // namespace ttc::markers
