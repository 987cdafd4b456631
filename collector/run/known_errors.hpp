// Error texts of workloads whose cause is known, one row each. Pure. The texts are from guides and public threads
// (the source is beside each row); none was verified on silicon by us.
#pragma once
#include <span>
#include <string_view>

namespace ttc::collect {

struct KnownError {
  std::string_view id;          // kebab case
  std::string_view all_of[2];   // parts of one line; an empty one is none
  std::string_view cause, fix;  // sentence parts
};
std::span<const KnownError> known_errors();

// The first row that a line matches; null: none.
const KnownError* known_error(std::string_view line);

}  // namespace ttc::collect
