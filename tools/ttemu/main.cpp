// ttemu: an emulated card and the workload on it, in one process. Observers attach with --device emu:NAME.
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <new>

#include "tools/device_log/device_log_reader.hpp"
#include "tools/pipeline/memory_image.hpp"
#include "tools/ttemu/runs.hpp"

namespace {

using namespace ttc;
using emulation::kTtemu;

int run_card(emulation::Options& options, char** argv) {
  emulation::ensure_profiler_directory(options.card.name, argv);
  emulation::finish_firmware_options(options);
  const int code = emulation::run(options);
  if (std::getenv("TTEMU_OWN_PROFILER_DIR")) {
    std::error_code ignored;  // a leftover log is harmless and is replaced at the next start
    const std::filesystem::path own = std::getenv("TT_METAL_PROFILER_DIR");
    std::filesystem::remove_all(own, ignored);
    std::filesystem::remove(own.parent_path(), ignored);  // stays while it holds another card's directory
  }
  return code;
}

int run(int argc, char** argv) {
  const auto app =
      program::command_line_of(kTtemu, "An emulated Tenstorrent card with a profiled workload on it.");
  emulation::Options options;
  emulation::add_options(*app, options);
  if (const auto ended = program::parse_command_line(kTtemu, *app, argc, argv)) return *ended;
  emulation::take_given(*app, options);
  if (const auto ended = emulation::read_following(options)) return *ended;
  std::signal(SIGINT, [](int) { emulation::stop = true; });
  std::signal(SIGTERM, [](int) { emulation::stop = true; });
  std::signal(SIGPIPE, SIG_IGN);
  try {
    return run_card(options, argv);
  } catch (const program::UsageError&) {
    throw;
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const watcher::StartError& e) {
    return emulation::say(emulation::EmulatorExit::kWorkload,
                          std::string("the workload ends at its start: ") + e.what());
  } catch (const watcher::BuildError& e) {
    return emulation::say(emulation::EmulatorExit::kWorkload,
                          std::string("the workload does not build:\n") + e.what());
  } catch (const chip::WorkloadError& e) {
    return emulation::say(emulation::EmulatorExit::kUsage, e.what());
  } catch (const emulation::FaultError& e) {
    return emulation::say(emulation::EmulatorExit::kUsage, e.what());
  } catch (const card::OpenError& e) {
    return emulation::say(emulation::EmulatorExit::kCard, e.what());
  } catch (const tools::ImageError& e) {
    return emulation::say(emulation::EmulatorExit::kLoad, e.what());
  } catch (const tools::DeviceLogError& e) {
    return emulation::say(emulation::EmulatorExit::kLoad, e.what());
  } catch (const std::exception& e) {
    return emulation::say(emulation::EmulatorExit::kFile, e.what());
  }
}

}  // namespace

int main(int argc, char** argv) {
  return ttc::program::run_program(kTtemu, [&] { return run(argc, argv); });
}
