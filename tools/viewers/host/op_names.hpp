// Names of the chips' programs from the workload's host side, by chip and host id.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

namespace ttc::tools {

class OpNames {
 public:
  static constexpr size_t kMost = 4'000'000;  // further ones stay without a name

  // A later name of the same program replaces it from then on.
  void add(uint32_t chip, uint32_t host_id, std::string_view name);
  // Null: it is not known.
  const std::string* find(uint32_t chip, uint32_t host_id) const;
  size_t size() const { return by_program_.size(); }

 private:
  std::unordered_set<std::string> names_;  // its nodes stay where they are
  std::unordered_map<uint64_t, const std::string*> by_program_;
};

}  // namespace ttc::tools
