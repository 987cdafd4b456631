#include "collector/program/version.hpp"

namespace ttc::program {

const char* version() {
  return TTC_VERSION;
}
std::string version_of(const char* program) {
  return std::string(program) + " " + version();
}

}  // namespace ttc::program
