// Models the build of kernels and firmware with watcher, profiler and delays: which delay is compiled in, what the cache of
// built files has from before, and what does not fit into the processor's memory.
//
// Sizes are a model of ours: the sum of what each part adds to BRISC's text, so chosen that profiler and watcher together do not fit by
// default, whichever helpers are kept out of line, as tt-metal's maintainers report of both architectures (tt-metal issue 37013). Which
// reduced set fits is a matter of bytes on silicon: `brisc_text_bytes` is the limit here. No size was measured.
#pragma once
#include "tools/watcher/settings.hpp"

namespace ttc::watcher {

struct BuildOptions {
  bool profiler = true;
  uint32_t brisc_text_bytes = 7480;
  // The key of the build lacks the delay: what was built with another delay is taken from the cache.
  bool key_lacks_delay = false;
  std::string arch = "wormhole_b0";
  std::string cache{};  // directory of built files (TT_METAL_CACHE); empty: everything is built again
};

struct Built {
  bool watcher = false;
  bool sanitises = false;
  uint32_t delay_cycles = 0;  // compiled in; what a delayed transaction waits
  uint32_t brisc_text_bytes = 0;
  bool from_cache = false;
  // The delay of a transaction whose mask has its bit set: 0 without watcher and sanitiser.
  uint32_t delays_by() const { return sanitises ? delay_cycles : 0; }
};

// The text is what linker and runtime print.
struct BuildError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// The key of a build; builds of one key share their files. The delay is part of it for each kind of transaction that names
// cores, and only then (rtoptions.hpp, get_compile_hash_string).
std::string build_key(const Settings& settings, const BuildOptions& options);

// Throws BuildError; std::runtime_error where the cache cannot be written.
Built build(const Settings& settings, const BuildOptions& options);

}  // namespace ttc::watcher
