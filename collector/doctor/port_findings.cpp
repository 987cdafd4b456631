// Tracy's ports. A program with a Tracy client listens; servers (the GUI, tracy-capture) connect to it. The client takes TRACY_PORT and
// only that when it is set, or the first free port of 8086 to 8105 (tracy public/client/TracyProfiler.cpp). Without a port
// it drops all that it records, without a message.
#include <algorithm>
#include <cstdlib>

#include "collector/doctor/findings.hpp"

namespace ttc::collect::doctor {
namespace {

const Listener* on_port(const MachineState& machine, unsigned port) {
  for (const Listener& l : machine.listeners)
    if (l.port == port) return &l;
  return nullptr;
}

const Listener* of_process(const MachineState& machine, int pid) {
  for (const Listener& l : machine.listeners)
    if (l.pid == pid) return &l;
  return nullptr;
}

std::string owner_of(const Listener& l) {
  if (l.pid == 0) return "a process of another user";
  return "pid " + std::to_string(l.pid) + (l.name.empty() ? "" : " (" + l.name + ")");
}

void find_taken(const MachineState& machine, const ProcessState& p, Findings& found) {
  const std::string asked = value_in(*p.environment, "TRACY_PORT");
  const auto port = static_cast<unsigned>(std::strtoul(asked.c_str(), nullptr, 10));
  const Listener* holder = port ? on_port(machine, port) : nullptr;
  if (!holder || holder->pid == p.pid || of_process(machine, p.pid)) return;
  Finding f{"tracy-port-taken", Weight::spoils};
  f.what = "the Tracy client of " + who(p) + " has no port, so it drops all that it records";
  f.evidence = "TRACY_PORT=" + asked + " in its environment; /proc/net/tcp: port " + asked + " belongs to " +
               owner_of(*holder) + ", and " + who(p) + " listens on none of 8086 to 8105";
  f.cause =
      "with TRACY_PORT set the client tries that port only; `python -m tracy` sets it for all processes it "
      "starts";
  f.fix = "start it with env -u TRACY_PORT, or with a port of its own";
  f.pid = p.pid;
  found.push_back(std::move(f));
}

// Someone else sits on the port that everything connects to by default.
void find_foreign(const MachineState& machine, Findings& found) {
  const Listener* first = on_port(machine, kFirstTracyPort);
  if (!first) return;
  const ProcessState* holder = machine.process(first->pid);
  if (holder && (holder->tracy_library || !holder->metal_library.empty())) return;
  for (const ProcessState& p : machine.processes) {
    const Listener* own = p.tracy_library ? of_process(machine, p.pid) : nullptr;
    if (!own || own->port == kFirstTracyPort) continue;
    Finding f{"tracy-port-foreign", Weight::spoils};
    f.what = "port 8086 belongs to " + owner_of(*first) + ", so the Tracy client of " + who(p) +
             " listens on " + std::to_string(own->port);
    f.evidence = "/proc/net/tcp: 8086 listened on by " + owner_of(*first) + ", " + std::to_string(own->port) +
                 " by " + who(p);
    f.cause = std::string("servers connect to 8086 unless set otherwise, and ") +
              (first->pid ? "what answers there is no Tracy client"
                          : "it is not visible whether a Tracy client answers there");
    f.fix = "connect to " + std::to_string(own->port) + ": tracy-capture -p " + std::to_string(own->port) +
            " -o run.tracy";
    f.pid = p.pid;
    found.push_back(std::move(f));
  }
}

void find_several(const MachineState& machine, Findings& found) {
  std::string listed;
  unsigned clients = 0;
  for (const Listener& l : machine.listeners) {
    const ProcessState* p = machine.process(l.pid);
    if (!p || !p->tracy_library) continue;
    ++clients;
    listed += (listed.empty() ? "" : ", ") + std::to_string(l.port) + " " + who(*p);
  }
  if (clients < 2) return;
  Finding f{"several-tracy-clients", Weight::advice};
  f.what = std::to_string(clients) + " processes have Tracy clients, and a server shows one";
  f.evidence = "/proc/net/tcp: " + listed;
  f.cause = "each listens on a port of its own, and a server connects to one";
  f.fix =
      "a tracy-capture for each: -p PORT; device data of all without Tracy: ttcollect --device all -o "
      "run.ttc";
  found.push_back(std::move(f));
}

}  // namespace

void find_in_ports(const MachineState& machine, Findings& found) {
  for (const ProcessState& p : machine.processes)
    if (p.environment && p.tracy_library) find_taken(machine, p, found);
  find_foreign(machine, found);
  find_several(machine, found);
}

}  // namespace ttc::collect::doctor
