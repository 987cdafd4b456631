#include "collector/doctor/look/variables.hpp"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <set>
#include <string>

namespace ttc::collect::doctor {
namespace {

constexpr Reading kText = Reading::text, kOne = Reading::on_if_1, kSet = Reading::on_when_set;

// Variables that the profiler reads come first: of two names that are equally near, the first is suggested.
constexpr Variable kVariables[] = {
    {"TT_METAL_DEVICE_PROFILER", kOne},
    {"TT_METAL_DEVICE_PROFILER_DISPATCH", kOne, true},
    {"TT_METAL_DEVICE_PROFILER_NOC_EVENTS", kOne},
    {"TT_METAL_DEVICE_PROFILER_NOC_EVENTS_RPT_PATH"},
    {"TT_METAL_DEVICE_PROFILER_SYNC_EVENTS", kOne},
    {"TT_METAL_PROFILER_PROGRAM_SUPPORT_COUNT", kText, true},
    {"TT_METAL_PROFILER_SYNC", kOne, true},
    {"TT_METAL_PROFILER_SUM", kOne, true},
    {"TT_METAL_PROFILER_MID_RUN_DUMP", kOne, true},
    {"TT_METAL_PROFILER_TRACE_TRACKING", kOne, true},
    {"TT_METAL_PROFILER_CPP_POST_PROCESS", kOne, true},
    {"TT_METAL_PROFILER_DISABLE_DUMP_TO_FILES", kOne, true},
    {"TT_METAL_PROFILER_DISABLE_PUSH_TO_TRACY", kOne, true},
    {"TT_METAL_PROFILER_ACCUMULATE", kOne},
    {"TT_METAL_PROFILER_NO_CACHE_OP_INFO"},
    {"TT_METAL_PROFILER_COMPUTE_CORE_SAMPLE"},
    {"TT_METAL_PROFILER_DIR"},
    {"TT_METAL_PROFILE_PERF_COUNTERS"},
    {"TT_METAL_MEM_PROFILER", kOne},
    {"TT_METAL_TRACE_PROFILER", kOne, true},
    {"TT_METAL_TRACY_MID_RUN_PUSH", kSet},
    {"TT_METAL_DEVICE_DEBUG_DUMP_ENABLED", kOne},
    {"TT_METAL_NOC_DEBUG_POLL_INTERVAL_MS"},
    {"TT_METAL_NOC_DEBUG_FULL_READ_INTERVAL_MS"},
    {"TT_METAL_NOC_DEBUG_WATERMARK_MARGIN_MS"},
    {"TT_METAL_STREAMING_PROFILER", kOne},
    {"TT_METAL_STREAMING_PROFILER_NRELAYS"},
    {"TT_METAL_STREAMING_PROFILER_DRAM_MB"},
    {"TT_METAL_STREAMING_PROFILER_FIFO_MB"},
    {"TT_METAL_STREAMING_PROFILER_RING_MB"},
    {"TT_METAL_STREAMING_PROFILER_DECODE_THREADS"},
    {"TT_METAL_STREAMING_PROFILER_TRACY"},
    {"TT_METAL_STREAMING_PROFILER_OPS_CSV"},
    {"TT_METAL_STREAMING_PROFILER_ZONE_CSV"},
    {"TT_METAL_STREAMING_PROFILER_STALL_CSV"},
    {"TT_METAL_STREAMING_PROFILER_SHIP_MIN_PCT"},
    {"TT_METAL_STREAMING_PROFILER_WRITER_TIMEOUT_S"},
    {"TT_METAL_STREAMING_PROFILER_SYNC_EVENTS"},
    {"TT_METAL_STREAMING_PROFILER_SYNC_CHECK"},
    {"TT_METAL_STREAMING_PROFILER_ETH"},
    {"TT_METAL_DRISC_PROFILER"},
    {"TT_METAL_NO_RT_PROFILER"},  // in documents, and not read by any version (variable_findings.cpp)

    {"TT_METAL_WATCHER", kSet},
    {"TT_METAL_WATCHER_DEBUG_DELAY"},
    {"TT_METAL_WATCHER_TEST_MODE", kSet},
    {"TT_METAL_WATCHER_DUMP_ALL", kSet},
    {"TT_METAL_WATCHER_APPEND", kSet},
    {"TT_METAL_WATCHER_NOINLINE", kSet},
    {"TT_METAL_WATCHER_PHYS_COORDS", kSet},
    {"TT_METAL_WATCHER_TEXT_START", kSet},
    {"TT_METAL_WATCHER_SKIP_LOGGING", kSet},
    {"TT_METAL_WATCHER_DISABLE_ASSERT", kSet},
    {"TT_METAL_WATCHER_DISABLE_PAUSE", kSet},
    {"TT_METAL_WATCHER_DISABLE_RING_BUFFER", kSet},
    {"TT_METAL_WATCHER_DISABLE_STACK_USAGE", kSet},
    {"TT_METAL_WATCHER_DISABLE_SANITIZE_NOC", kSet},
    {"TT_METAL_WATCHER_DISABLE_NOC_SANITIZE", kSet},
    {"TT_METAL_WATCHER_DISABLE_SANITIZE_READ_ONLY_L1", kSet},
    {"TT_METAL_WATCHER_DISABLE_SANITIZE_WRITE_ONLY_L1", kSet},
    {"TT_METAL_WATCHER_DISABLE_WAYPOINT", kSet},
    {"TT_METAL_WATCHER_DISABLE_DISPATCH", kSet},
    {"TT_METAL_WATCHER_DISABLE_ETH_LINK_STATUS", kSet},
    {"TT_METAL_WATCHER_ENABLE_NOC_SANITIZE_LINKED_TRANSACTION", kSet},

    {"TT_METAL_HOME"},
    {"TT_METAL_RUNTIME_ROOT"},
    {"TT_METAL_CACHE"},
    {"TT_METAL_KERNEL_PATH"},
    {"TT_METAL_LOGS_PATH"},
    {"TT_METAL_SIMULATOR"},
    {"TT_METAL_MOCK_CLUSTER_DESC_PATH"},
    {"TT_METAL_VISIBLE_DEVICES"},
    {"TT_METAL_CORE_GRID_OVERRIDE_TODEPRECATE"},
    {"TT_METAL_NULL_KERNELS", kSet},
    {"TT_METAL_KERNELS_EARLY_RETURN", kSet},
    {"TT_METAL_CLEAR_L1", kOne},
    {"TT_METAL_CLEAR_DRAM", kOne},
    {"TT_METAL_KERNEL_MAP", kSet},
    {"TT_METAL_DISPATCH_DATA_COLLECTION", kSet},
    {"TT_METAL_GTEST_ETH_DISPATCH", kSet},
    {"TT_METAL_SKIP_LOADING_FW", kSet},
    {"TT_METAL_SKIP_DELETING_BUILT_CACHE", kSet},
    {"TT_METAL_DISABLE_XIP_DUMP", kOne},
    {"TT_METAL_ENABLE_HW_CACHE_INVALIDATION", kSet},
    {"TT_METAL_DISABLE_RELAXED_MEM_ORDERING", kSet},
    {"TT_METAL_ENABLE_GATHERING", kSet},
    {"TT_METAL_FABRIC_BW_TELEMETRY", kSet},
    {"TT_METAL_FABRIC_TELEMETRY"},
    {"TT_METAL_FORCE_REINIT", kSet},
    {"TT_METAL_DISABLE_FABRIC_TWO_ERISC", kSet},
    {"TT_METAL_LOG_KERNELS_COMPILE_COMMANDS", kSet},
    {"TT_METAL_SLOW_DISPATCH_MODE", kSet},
    {"TT_METAL_SKIP_ETH_CORES_WITH_RETRAIN", kOne},
    {"TT_METAL_VALIDATE_PROGRAM_BINARIES", kOne},
    {"TT_METAL_DISABLE_DMA_OPS", kOne},
    {"TT_METAL_ENABLE_ERISC_IRAM"},
    {"TT_METAL_DISABLE_MULTI_AERISC", kSet},
    {"TT_METAL_USE_MGD_2_0"},
    {"TT_METAL_FORCE_JIT_COMPILE", kSet},
    {"TT_METAL_GTEST_NUM_HW_CQS"},
    {"TT_METAL_ARC_DEBUG_BUFFER_SIZE"},
    {"TT_METAL_OPERATION_TIMEOUT_SECONDS"},
    {"TT_METAL_DISPATCH_TIMEOUT_COMMAND_TO_EXECUTE"},
    {"TT_METAL_INSPECTOR"},
    {"TT_METAL_INSPECTOR_INITIALIZATION_IS_IMPORTANT"},
    {"TT_METAL_INSPECTOR_WARN_ON_WRITE_EXCEPTIONS"},
    {"TT_METAL_INSPECTOR_RPC_SERVER_ADDRESS"},
    {"TT_METAL_INSPECTOR_RPC"},
    {"TT_METAL_INSPECTOR_SERIALIZE_ON_DISPATCH_TIMEOUT"},
    {"TT_METAL_RISCV_DEBUG_INFO"},
    {"TT_METAL_LIGHTWEIGHT_KERNEL_ASSERTS", kSet},
    {"TT_METAL_LLK_ASSERTS", kSet},
    {"TT_METAL_NUMA_BASED_AFFINITY", kOne},
    {"TT_METAL_FABRIC_ROUTER_SYNC_TIMEOUT_MS"},
    {"TT_METAL_BACKEND_DUMP_RUN_CMD", kOne},
    {"TT_METAL_THREADCOUNT"},
    {"TT_METAL_CCACHE_KERNEL_SUPPORT", kSet},
    {"TT_METAL_CQ_SIZE_OVERRIDE"},
    {"TT_METAL_KERNEL_READBACK_ENABLE"},
    {"TT_METAL_JIT_ANALYTICS"},
    {"TT_METAL_JIT_SERVER_ENDPOINT"},
    {"TT_METAL_RECORD_NOC_TRANSFER_DATA", kSet},
    {"TT_METAL_LOGGER_FILE"},
    {"TT_METAL_LOGGER_LEVEL"},
    {"TT_METAL_LOGGER_TYPES"},
    {"TT_METAL_ENV"},
};

// Debug features name their targets by prefix and suffix.
constexpr std::string_view kFeatures[] = {"DPRINT", "READ_DEBUG_DELAY", "WRITE_DEBUG_DELAY",
                                          "ATOMIC_DEBUG_DELAY", "ENABLE_L1_DATA_CACHE"};
constexpr std::string_view kTargets[] = {
    "_CORES", "_ETH_CORES", "_CHIPS", "_RISCVS", "_FILE", "_ONE_FILE_PER_RISC", "_PREPEND_DEVICE_CORE_RISC"};

const std::vector<std::string>& feature_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> made;
    for (const std::string_view feature : kFeatures)
      for (const std::string_view target : kTargets)
        made.push_back("TT_METAL_" + std::string(feature) + std::string(target));
    return made;
  }();
  return names;
}

const std::vector<Variable>& table() {
  static const std::vector<Variable> all = [] {
    std::vector<Variable> made(std::begin(kVariables), std::end(kVariables));
    for (const std::string& name : feature_names()) made.push_back({name});
    return made;
  }();
  return all;
}

std::string upper(std::string_view text) {
  std::string made(text);
  for (char& c : made) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return made;
}

std::vector<std::string> words_of(const std::string& name) {
  std::vector<std::string> words;
  std::string word;
  for (const char c : name + "_")
    if (c != '_')
      word += c;
    else if (!word.empty())
      words.push_back(std::move(word)), word.clear();
  std::sort(words.begin(), words.end());
  return words;
}

// Letters wrong, missing, too many, or two neighbours swapped (optimal string alignment).
unsigned letters_between(const std::string& a, const std::string& b) {
  std::vector<std::vector<unsigned>> d(a.size() + 1, std::vector<unsigned>(b.size() + 1));
  for (unsigned i = 0; i <= a.size(); ++i) d[i][0] = i;
  for (unsigned j = 0; j <= b.size(); ++j) d[0][j] = j;
  for (size_t i = 1; i <= a.size(); ++i)
    for (size_t j = 1; j <= b.size(); ++j) {
      d[i][j] = std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + (a[i - 1] != b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
    }
  return d[a.size()][b.size()];
}

// How far apart two names are: a word moved counts like a letter, one left out like two, one too many like three.
unsigned distance(const std::string& typed, const std::string& known) {
  const unsigned letters = letters_between(typed, known);
  const auto a = words_of(typed), b = words_of(known);
  if (a == b) return std::min(letters, 1u);
  if (a.size() + 1 == b.size() && std::includes(b.begin(), b.end(), a.begin(), a.end()))
    return std::min(letters, 2u);
  if (b.size() + 1 == a.size() && std::includes(a.begin(), a.end(), b.begin(), b.end()))
    return std::min(letters, 3u);
  return letters;
}

// Compares names whose prefix is not tt-metal's, which may belong to another program.
bool nearly_known(const std::string& typed) {
  constexpr unsigned kLetters = 2;
  return std::any_of(table().begin(), table().end(), [&](const Variable& v) {
    return letters_between(typed, std::string(v.name)) <= kLetters;
  });
}

}  // namespace

const Variable* known_variable(std::string_view name) {
  for (const Variable& v : table())
    if (v.name == name) return &v;
  return nullptr;
}

std::vector<std::string_view> known_names() {
  std::vector<std::string_view> names;
  for (const Variable& v : table()) names.push_back(v.name);
  return names;
}

std::string_view nearest_name(std::string_view name) {
  constexpr unsigned kNear = 3;
  const std::string typed = upper(name);
  std::string_view nearest;
  unsigned least = kNear + 1;
  for (const Variable& v : table())
    if (const unsigned d = distance(typed, std::string(v.name)); d < least) {
      least = d;
      nearest = v.name;
    }
  return nearest;
}

std::vector<std::string> names_in_question(const Environment& environment) {
  std::vector<std::string> names;
  for (const auto& [name, value] : environment) {
    if (known_variable(name)) continue;
    const std::string typed = upper(name);
    // Others of tt-metal's family have variables, too: those count only when they are nearly one of the table.
    if (typed.starts_with("TT_METAL_") || (typed.starts_with("TT") && nearly_known(typed)))
      names.push_back(name);
  }
  return names;
}

bool profiler_on(const Environment& environment) {
  return value_in(environment, "TT_METAL_DEVICE_PROFILER").starts_with('1') ||
         value_in(environment, "TT_METAL_DEVICE_PROFILER_NOC_EVENTS").starts_with('1') ||
         value_in(environment, "TT_METAL_DEVICE_DEBUG_DUMP_ENABLED").starts_with('1') ||
         std::strtoul(value_in(environment, "TT_METAL_PROFILE_PERF_COUNTERS").c_str(), nullptr, 10) != 0;
}

bool watcher_on(const Environment& environment) {
  return environment.count("TT_METAL_WATCHER") != 0;
}

}  // namespace ttc::collect::doctor
