// The command line of ttemu.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "collector/program/program.hpp"
#include "tools/chip/host_files.hpp"
#include "tools/emulation/fault_plan.hpp"
#include "tools/emulation/workload.hpp"
#include "tools/replay/replay.hpp"
#include "tools/ttemu/contradictions.hpp"

namespace ttc::emulation {

using program::EmulatorExit;
constexpr program::Program kTtemu{"ttemu", EmulatorExit::kFile};

inline int say(int code, std::string_view sentence) {
  return program::say(kTtemu, code, sentence);
}

struct Options {
  card::EmulatedCardOptions card;
  WorldOptions world;
  WorkloadOptions work;
  std::string generation = "G4", mailbox, mode = "normal", trace;
  std::string profiler = "on", time = "real", load, replay, truth, truth_unseen, host_reads, workload,
              host_files, dvfs, streaming;
  chip::HostStyle host_style;
  std::optional<unsigned> host_rank;
  std::vector<unsigned> harvest;
  std::vector<std::string> clock_steps, faults, contradict;
  std::vector<std::string> metal_env;  // NAME=VALUE
  std::string metal_build = "release", metal_key = "full";
  uint32_t brisc_text_bytes = watcher::BuildOptions{}.brisc_text_bytes;
  FaultPlan plan;
  Contradictions unlike;
  ReplayOptions play;
  std::optional<uint32_t> replay_chip;
  uint64_t linger_ns = 5'000'000'000;
  std::vector<std::string> then;   // options of each further workload, as on a command line
  std::vector<Options> following;  // those, read
  uint64_t off_before_ns = 0;      // of a further workload: no profiler is there for so long before it
  bool arch_given = false, board_given = false, region_given = false, pace_given = false, cores_given = false,
       clock_start_given = false;
  uint64_t wait_limit_ns = 0;  // of wait_observer; 0: none
  bool wait_observer = false, json = false, quiet = false;
};

void add_options(CLI::App& app, Options& options);
// Must be called after the command line was read: stores which options it had.
void take_given(const CLI::App& app, Options& options);
// Reads every --then into `options.following`. Set: the program ends with that code; the error is already printed.
std::optional<int> read_following(Options& options);

// Must be called after the command line was read: checks the profiler's layout, mailbox and mode, which must go
// together, and outputs that are inputs. Throws program::UsageError.
void finish_firmware_options(Options& options);
// When the card is known: its clock, harvesting and faults. Throws FaultError.
void finish_card_options(Options& options);

}  // namespace ttc::emulation
