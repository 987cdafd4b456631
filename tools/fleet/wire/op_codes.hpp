// Names of ops as numbers of 32 bits, and the dictionary of them. Pure.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace ttc::fleet {

// The hash of a name; never 0.
uint32_t code_of(std::string_view name);

class OpCodes {
 public:
  static constexpr size_t kMost = 4096;
  static constexpr size_t kMostLength = 80;  // of a name

  // 0: there are too many.
  uint32_t add(std::string_view name);
  // A line CODE=NAME, as lines() has them. False: it is none.
  bool add_line(std::string_view line);
  std::vector<std::string> lines() const;
  const std::map<uint32_t, std::string>& all() const { return names_; }
  // "Matmul" of an op_of() with a code, "op 17" of a host id.
  std::string name_of(uint64_t op) const;

 private:
  std::map<uint32_t, std::string> names_;
};

}  // namespace ttc::fleet
