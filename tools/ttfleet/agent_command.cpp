#include <sys/prctl.h>
#include <unistd.h>

#include "collector/program/units.hpp"
#include "tools/fleet/bus/spool.hpp"
#include "tools/pipeline/source.hpp"
#include "tools/ttfleet/commands.hpp"

namespace ttc::fleet {

using Exit = program::FleetExit;

int setup_command(const Options& o) {
  Bus bus(o.bus);
  const Identity who = identity_of(o);
  const std::string why = bus.ensure_stream(stream_of(who.cluster), "tt." + who.cluster + ".>", o.stream);
  if (!why.empty()) return program::say(kTtfleet, Exit::kBus, why);
  return program::say(kTtfleet, Exit::kOk, "stream " + stream_of(who.cluster) + " is there");
}

int agent_command(const Options& o, const volatile std::sig_atomic_t& stop) {
  if (o.end_with_parent) {
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != o.end_with_parent) return Exit::kOk;  // it has ended already
  }
  AgentOptions agent;
  agent.from = o.from;
  agent.who = identity_of(o);
  agent.bus = o.bus;
  agent.bus.patient = true;
  agent.bus.name = "ttfleet agent " + agent.who.name();
  agent.stream = o.stream;
  agent.spool = o.spool.empty() ? state_directory() : o.spool;
  agent.spool_bytes = o.spool_bytes, agent.linger_ns = o.linger_ns;
  agent.wait_ms = program::milliseconds_of(o.wait_ns);
  agent.quiet = o.quiet;
  const auto say = [](int code, const std::string& sentence) {
    return program::say(kTtfleet, code, sentence);
  };
  try {
    const AgentResult r = run_agent(agent, stop);
    for (const std::string& remark : r.remarks) say(Exit::kOk, remark);
    const std::string account =
        std::to_string(r.made) + " rows of " + agent.who.prefix() + ", " + std::to_string(r.stored) +
        " stored" + (r.dropped ? ", " + std::to_string(r.dropped) + " made way in the spool" : "");
    if (r.all_stored) return o.quiet ? Exit::kOk : say(Exit::kOk, account);
    return say(Exit::kSpooled, account + "; the rest is in the spool for the next agent: " + r.complaint);
  } catch (const tools::SourceError& e) {
    return say(Exit::kNoSource, e.what());
  } catch (const SpoolError& e) {
    return say(Exit::kNoSource, e.what());
  }
}

}  // namespace ttc::fleet
