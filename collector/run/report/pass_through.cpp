#include "collector/run/report/pass_through.hpp"

#include "ttcollect/host_time.hpp"

namespace ttc::collect {

PassThrough::PassThrough(const std::string& where, const std::string& capture)
    : helper_("ttexport", {"--format", "tracy", "--growing", "--listen", where, "--from", capture},
              HelperProgram::Output::kept, HelperProgram::Output::passed_on) {}

void PassThrough::finish(unsigned most_ms) {
  helper_.ask_to_end();
  constexpr unsigned kTendMs = 20;
  constexpr uint64_t kNsPerMs = 1'000'000;
  const uint64_t began_ns = monotonic_now_ns();
  while (helper_.tend(kTendMs))
    if (monotonic_now_ns() - began_ns > most_ms * kNsPerMs) return;  // and is killed
}

}  // namespace ttc::collect
