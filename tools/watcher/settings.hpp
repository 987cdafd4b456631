// tt-metal's environment variables of its watcher and of debug delays, read as tt-metal reads them: with its grammar and
// with what that makes of mistakes (tt-metal llrt/rtoptions.cpp, hal.cpp, 2026;
// docs/reference/debug-delays.md). Nothing here corrects what a user meant.
#pragma once
#include <array>
#include <cstdint>
#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

namespace ttc::watcher {

using Environment = std::map<std::string, std::string>;

// The workload ends at its start; the text is what it prints.
struct StartError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// NoC transactions that may be delayed; the numbers are the bits of the feedback word.
enum class Transaction : uint8_t { read, write, atomic };
inline constexpr size_t kTransactions = 3;
inline constexpr const char* kTransactionNames[kTransactions] = {"READ", "WRITE", "ATOMIC"};

// A logical coordinate: of the worker grid, or (0, number) of Ethernet cores.
struct LogicalCore {
  uint32_t x = 0, y = 0;
  auto operator<=>(const LogicalCore&) const = default;  // NOLINT(modernize-use-nullptr): of clang-tidy 14
};

struct DelayFeature {
  bool enabled = false;  // some cores were named, or a class of them
  // A class of cores (all, worker, dispatch) names none: the set-up of delays uses lists only.
  bool of_a_class = false;
  std::vector<LogicalCore> workers, ethernet;
  std::vector<int> chips;  // empty: all
  bool all_chips = true;
  uint32_t riscs = 0x1f;          // of a Tensix core, by bit: BRISC, NCRISC, TRISC0 to 2
  uint32_t ethernet_riscs = 0x3;  // ERISC0, ERISC1
};

struct Settings {
  bool watcher = false;
  uint64_t interval_ms = 0;
  bool delay_named = false;  // TT_METAL_WATCHER_DEBUG_DELAY is set, to any text
  uint32_t delay_cycles = 0;
  bool noinline_helpers = false;
  std::set<std::string>
      disabled;  // NOC_SANITIZE, ASSERT, PAUSE, RING_BUFFER, STACK_USAGE, WAYPOINT, DISPATCH, ETH_LINK_STATUS
  std::array<DelayFeature, kTransactions> delays;

  bool sanitises() const { return watcher && !disabled.contains("NOC_SANITIZE"); }
};

// `asserts`: of a Debug build, which a Release build does not have. Throws StartError.
Settings read_settings(const Environment& environment, bool asserts);

// The variables of the process that begin with TT_METAL_.
Environment own_environment();

}  // namespace ttc::watcher
