// What was observed of each assumption, and what follows from it. Pure.
#pragma once
#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "collector/selftest/assumptions.hpp"

namespace ttc::collect::selftest {

struct Tally {
  uint64_t agree = 0, against = 0;
  std::string detail;  // the observation, as a sentence part; the latest one against, if there is one
  std::string unseen;  // why there is no observation here, if the reason is specific
};

class Tallies {
 public:
  void agrees(Id id, uint64_t times = 1) { of(id).agree += times; }
  void speaks_against(Id id, std::string detail) {
    ++of(id).against;
    of(id).detail = std::move(detail);
  }
  // The observation, unless there is one against it.
  void describe(Id id, std::string detail) {
    if (of(id).against == 0) of(id).detail = std::move(detail);
  }
  void cannot_see(Id id, std::string why) { of(id).unseen = std::move(why); }
  const Tally& operator[](Id id) const { return all_[static_cast<size_t>(id)]; }

 private:
  Tally& of(Id id) { return all_[static_cast<size_t>(id)]; }
  std::array<Tally, kAssumptions> all_;
};

enum class Verdict : uint8_t { confirmed, contradicted, not_seen };
std::string_view to_string(Verdict verdict);

struct Line {
  Id id;
  Verdict verdict;
  std::string evidence;
};

// A line an assumption, in the table's order.
std::vector<Line> judge(const Tallies& tallies);
bool any_contradicted(const std::vector<Line>& lines);

}  // namespace ttc::collect::selftest
