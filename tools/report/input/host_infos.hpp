// The JSON texts that describe ops, in a spill (text/spill.hpp): memory holds only those that were parsed last,
// however many ops there are.
#pragma once
#include <array>
#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string_view>

#include "tools/report/text/spill.hpp"

namespace ttc::report {

class HostInfos {
 public:
  using Json = nlohmann::ordered_json;

  // Gives the place of a text that is JSON. Throws std::runtime_error, as Spill does.
  uint64_t add(std::string_view text);
  std::shared_ptr<const Json> at(uint64_t place);

 private:
  struct Parsed {
    uint64_t place = 0;
    std::shared_ptr<const Json> json;  // null: none
  };
  // Cached ops name what described them first, often in turns.
  static constexpr size_t kParsed = 64;
  Spill texts_;
  std::array<Parsed, kParsed> parsed_;  // by a hash of their places
};

}  // namespace ttc::report
