// What drain, clock and driver layer take for granted of a card and its driver: one table, from which the selftest's lines, its
// verdicts and docs/selftest.md are made. README "Known limits" is checked against it (tests/process/selftest_test.py).
// None was verified on silicon.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ttc::collect::selftest {

enum class Id : uint8_t {
  log_grows,
  index_first,
  landing_time,
  marker_whole,
  reset_write_time,
  poll_deadline,
  run_counter,
  reset_all_cores,
  risc_addresses,
  clock_forward,
  clock_limit,
  one_change,
  wander,
  one_pll,
  wall_latch,
  wall_high,
  timer_rate,
  timer_latch,
  node_id,
  fused_off,
  dram_numbering,
  flat_ids,
  two_windows,
  poll_in_time,
  fresh_loads,
  reset_cuts,
  aiclk,
  ids
};
inline constexpr size_t kAssumptions = static_cast<size_t>(Id::ids);

enum class Layer : uint8_t { drain, clock, driver };
std::string_view to_string(Layer layer);

struct Assumption {
  Id id;
  std::string_view name;  // kebab case
  Layer layer;
  std::string_view sentence;
  std::string constant;       // with its unit, as the code has it; empty: none
  std::string_view source;    // where the code that relies on it is, and the source of the assumption
  std::string_view counts;    // what one observation is, as in "12 pushes"
  uint32_t confirms;          // so many that agree, none against
  uint32_t contradicts;       // so many against; fewer may be the host's doing
  std::string_view unseen;    // why there may be no observation
  std::vector<Id> needs;      // while one of these is contradicted, observations prove nothing about this one
  std::string_view hidden{};  // the part of it that reads cannot show, however long the test lasts
};

// The assumptions in order of Id.
std::span<const Assumption> assumptions();
const Assumption& assumption(Id id);

// The table as Markdown, which docs/selftest.md holds; as JSON for tests.
std::string assumptions_as_markdown();
std::string assumptions_as_json();

}  // namespace ttc::collect::selftest
