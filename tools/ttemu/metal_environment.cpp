#include "tools/ttemu/metal_environment.hpp"

#include <cmath>
#include <cstdlib>

namespace ttc::emulation {
namespace {

// The variable is read as tt-metal reads it: what is no number is 0, which is no limit.
uint64_t operation_timeout_ns(const watcher::Environment& environment) {
  const auto set = environment.find("TT_METAL_OPERATION_TIMEOUT_SECONDS");
  if (set == environment.end()) return 0;
  const double seconds = std::strtod(set->second.c_str(), nullptr);
  constexpr double kMost = 1e9;
  return std::isfinite(seconds) && seconds > 0 && seconds < kMost ? static_cast<uint64_t>(seconds * 1e9) : 0;
}

}  // namespace

void settle_metal_environment(Options& o) {
  if (!o.load.empty() || !o.replay.empty()) return;
  watcher::Environment environment = watcher::own_environment();
  for (const std::string& one : o.metal_env)
    environment[one.substr(0, one.find('='))] = one.substr(one.find('=') + 1);
  o.work.operation_timeout_ns = operation_timeout_ns(environment);
  watcher::Settings settings = watcher::read_settings(environment, o.metal_build == "debug");
  watcher::BuildOptions build;
  build.profiler = o.work.recorded;
  build.brisc_text_bytes = o.brisc_text_bytes;
  build.key_lacks_delay = o.metal_key == "no-delay";
  build.arch = o.card.arch;
  if (const auto cache = environment.find("TT_METAL_CACHE");
      cache != environment.end() && !cache->second.empty())
    build.cache = cache->second + "/ttemu";
  const auto record = watcher::DelayRecord::in(*o.world.mailbox, o.card.arch);
  if (!record && (settings.watcher || settings.delay_named))
    throw program::UsageError(
        "the place of the watcher's record in mailbox " + o.mailbox +
        " is not known; leave out TT_METAL_WATCHER and TT_METAL_WATCHER_DEBUG_DELAY, or take --mailbox M4");
  const watcher::Built built = watcher::build(settings, build);
  if (!record) return;
  WatcherSetup setup{std::move(settings), built, *record};
  const auto place = [&](markers::CoreKind kind) {
    return watcher::DelayRecord::in(*o.world.mailbox, o.card.arch, kind);
  };
  setup.active_ethernet = place(markers::CoreKind::active_ethernet);
  setup.idle_ethernet = place(markers::CoreKind::idle_ethernet);
  for (size_t k = 0; k < markers::kCoreKinds; ++k)
    setup.waypoints[k] =
        watcher::Waypoints::in(*o.world.mailbox, o.card.arch, static_cast<markers::CoreKind>(k));
  o.work.watcher = std::make_shared<const WatcherSetup>(std::move(setup));
}

}  // namespace ttc::emulation
