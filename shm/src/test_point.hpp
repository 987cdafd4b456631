// Places at which tests kill the process: between two stores or calls that need not happen together.
// Expands to nothing in shipped builds.
#pragma once

namespace ttc::shm {
#ifdef TTC_TEST_POINTS
void test_point(const char* name);  // tests/process/test_point.cpp
#else
inline void test_point(const char*) {}
#endif
}  // namespace ttc::shm
