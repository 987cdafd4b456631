// ttmon top: which zones and which programs take the time, live.
#pragma once
#include <csignal>
#include <cstdint>
#include <string>
#include <vector>

namespace ttc::tools {

struct TopOptions {
  std::vector<std::string> from;  // live:NAME or FILE.ttc
  unsigned rows = 15;
  uint64_t interval_ns = 1'000'000'000;
  bool once = false;  // everything there is, then end
  bool json = false;  // one object a showing
};

// Runs until its sources end or `stop` is set. Throws SourceError.
void show_top(const TopOptions& options, const volatile std::sig_atomic_t& stop);

}  // namespace ttc::tools
