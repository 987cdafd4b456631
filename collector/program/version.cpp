#include "collector/program/version.hpp"

namespace ttc::program {

const char* version() {
  return TTC_VERSION;
}
std::string version_of(const char* program) {
  const std::string commit = TTC_COMMIT;
  return std::string(program) + " " + version() + (commit.empty() ? "" : " (" + commit + ")");
}

}  // namespace ttc::program
