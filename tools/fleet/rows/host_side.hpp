// Names of device ops, and marked steps, from the workload's host side. Pure, in bounded memory.
#pragma once
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>

#include "tools/fleet/wire/op_codes.hpp"

namespace ttc::fleet {

class HostSide {
 public:
  static constexpr size_t kMostNamed = 1 << 20;  // ops; above that the older half is dropped
  static constexpr size_t kMostSteps = 4096;

  // A host_events chunk; others are passed over.
  void take(std::span<const uint64_t> chunk);

  // code_of() the op's name; 0: not known.
  uint32_t code_of_op(uint32_t chip, uint32_t host_id) const;
  // The number of the marked step that holds an instant, from 1 and repeating after 65535; 0: none.
  uint16_t step_at(uint64_t raw_ns) const;
  const OpCodes& codes() const { return codes_; }
  void name(uint32_t chip, uint32_t host_id, std::string_view name);

 private:
  struct Step {
    uint64_t begin_ns = 0, end_ns = ~uint64_t{0};
    uint64_t number = 0;
  };
  void mark(std::string_view text, uint64_t raw_ns);

  OpCodes codes_;
  std::unordered_map<uint64_t, uint32_t> young_, old_;  // codes by chip and host id
  std::deque<Step> steps_;                              // by begin
};

}  // namespace ttc::fleet
