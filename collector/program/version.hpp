// The version of ttcollect, as in 0.1.0: the same for all of its programs.
#pragma once
#include <string>

namespace ttc::program {

const char* version();
// "<program> <version> (commit ...)", the answer to --version; tools/cmake/commit.cmake.
std::string version_of(const char* program);

}  // namespace ttc::program
