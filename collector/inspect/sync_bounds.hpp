// What is known of the bounds of a `ttcollect sync`: how large they are for how much of the time, and why the widest are wide.
#pragma once
#include <string>
#include <vector>

#include "collector/inspect/sync_run.hpp"

namespace ttc::collect {

// "41 ns", "1.20 us", "17.9 ms"
std::string duration(double ns);
double since_start(const SyncResult& r, HostTime t);  // s
double hz_of(const ClockSegment& s);

// Shares of the time covered, which are those of markers that are spread over it evenly, by the kind and the size of the bound.
struct BoundShares {
  double up_to_100_ns = 0, up_to_1_us = 0, up_to_10_us = 0, wider = 0, hard = 0;
};
BoundShares bound_shares_of(const SyncResult& r);
// "64.2 % within 100 ns, 20.1 % 1 us, ..."
std::string text_of(const BoundShares& shares);

struct WideBound {
  double at_s, bound_ns;
  std::string why;
};
// The widest bounds, the widest first, one of those that lie together.
std::vector<WideBound> widest_bounds(const SyncResult& r);
// "at 0.200 s 119.1 ms: no read for 13.0 ms"
std::string text_of(const WideBound& wide);

}  // namespace ttc::collect
