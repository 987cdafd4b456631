// `ttmon profilers`: profilers on a card that ttcollect does not collect from, examined from outside. The card is opened for reading,
// without a power vote.
#pragma once
#include <csignal>
#include <cstdint>
#include <stdexcept>
#include <string>

namespace ttc::tools {

struct ProfilersOptions {
  std::string device;
  uint64_t for_ns = 2'000'000'000;
  uint64_t every_ns = 1'000'000;
  bool search = true, json = false;
  std::string trace;  // a file of Chrome's trace format, which Perfetto opens; empty: none
};

// The trace cannot be written.
struct TraceError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Throws card::OpenError and TraceError.
void show_profilers(const ProfilersOptions& options, const volatile std::sig_atomic_t& stop);

}  // namespace ttc::tools
