// Places at which tests kill the process: those between two steps that must not have to happen together. In
// what ships there is nothing there.
#pragma once

namespace ttc::collect {
#ifdef TTC_TEST_POINTS
void test_point(const char* name);  // tests/process/test_point.cpp
#else
inline void test_point(const char*) {}
#endif
}  // namespace ttc::collect
