// The subcommands of ttfleet. Each returns the exit code and throws BusError.
#pragma once
#include <csignal>
#include <functional>
#include <string>
#include <vector>

#include "tools/fleet/wire/control.hpp"
#include "tools/ttfleet/options.hpp"

namespace ttc::fleet {

int setup_command(const Options& options);
int agent_command(const Options& options, const volatile std::sig_atomic_t& stop);
int ls_command(const Options& options);
int watch_command(const Options& options, const volatile std::sig_atomic_t& stop);
int dump_command(const Options& options, const volatile std::sig_atomic_t& stop);
int gather_command(const Options& options, const volatile std::sig_atomic_t& stop);
int trigger_command(const Options& options);
int report_command(const Options& options, const volatile std::sig_atomic_t& stop);

// The state of every agent of the job that answers in time, by rank. Malformed answers are reported.
std::vector<AgentState> ask_states(Bus& bus, const Options& options, const Identity& who);
// Returns the answers to another command, until `enough` is satisfied, which is called now and then.
using EnoughAnswers = std::function<bool(const std::vector<Answer>&)>;
std::vector<Answer> ask_answers(Bus& bus, const Identity& who, const Command& command,
                                const EnoughAnswers& enough, uint64_t timeout_ns);
EnoughAnswers so_many(size_t ranks);
// user@host, for the logs of agents; and a line in the log of this side.
std::string commander();
void log_command(const std::string& line);

}  // namespace ttc::fleet
