#include "tools/viewers/host/op_names.hpp"

namespace ttc::tools {

void OpNames::add(uint32_t chip, uint32_t host_id, std::string_view name) {
  const uint64_t key = uint64_t{chip} << 32 | host_id;
  if (by_program_.size() >= kMost && !by_program_.contains(key)) return;
  by_program_[key] = &*names_.emplace(name).first;
}

const std::string* OpNames::find(uint32_t chip, uint32_t host_id) const {
  const auto found = by_program_.find(uint64_t{chip} << 32 | host_id);
  return found == by_program_.end() ? nullptr : found->second;
}

}  // namespace ttc::tools
