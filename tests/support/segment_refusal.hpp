// The sentence with which something to do with a segment was refused; empty: it was not.
#pragma once
#include <string>

#include "shm/segment.hpp"

namespace ttc::shm {

template <class F>
std::string error_of(F f) {
  try {
    f();
  } catch (const SegmentError& e) {
    return e.what();
  }
  return {};
}

}  // namespace ttc::shm
