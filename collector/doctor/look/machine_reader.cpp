#include "collector/doctor/look/machine_reader.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <thread>

#include "collector/doctor/look/entries.hpp"
#include "collector/doctor/look/host_reader.hpp"
#include "collector/doctor/look/process_reader.hpp"
#include "collector/doctor/look/tracy_announcement.hpp"
#include "driver_iface/pci/kernel_file.hpp"
#include "shm/reader.hpp"

namespace ttc::collect::doctor {
namespace {

namespace fs = std::filesystem;

constexpr unsigned kSecondLookMs = 200;  // at a process that waited in the kernel

std::string own_directory(const card::SystemRoots& roots, const CardState& card) {
  return roots.sys + "/class/tenstorrent/tenstorrent!" + std::to_string(*card.function.ordinal);
}

void read_heartbeat(const card::SystemRoots& roots, CardState& card, unsigned& chip_reads) {
  const auto beat =
      card::as_number(card::read_kernel_file(own_directory(roots, card) + "/tt_heartbeat").text);
  if (!beat) return;
  card.heartbeat.push_back(*beat);
  ++chip_reads;
}

void read_sensors(const card::SystemRoots& roots, CardState& card, unsigned& chip_reads) {
  for (const fs::path& sensors : entries_of(roots.sys + "/bus/pci/devices/" + card.function.bdf + "/hwmon"))
    for (const char* name : {"temp1", "power1", "curr1"}) {
      const std::string at = sensors.string() + "/" + name;
      const auto input = card::as_number(card::read_kernel_file(at + "_input").text);
      const auto limit = card::as_number(card::read_kernel_file(at + "_max").text);
      if (!input || !limit) continue;
      card.sensors.push_back({name, *input, *limit});
      chip_reads += 2;
    }
}

void read_chip(const card::SystemRoots& roots, CardState& card, unsigned& chip_reads) {
  // What describing the function took: bundle, serial, id, type, AICLK, temperature.
  chip_reads += 6;
  const std::string own = own_directory(roots, card);
  card.resetting = card::read_kernel_file(own + "/tt_aiclk").error == ENODATA;
  ++chip_reads;
  if (card.resetting) return;
  if (const auto trips = card::read_kernel_file(own + "/tt_therm_trip_count")) {
    card.therm_trips = card::as_number(trips.text);
    ++chip_reads;
  }
  read_sensors(roots, card, chip_reads);
  read_heartbeat(roots, card, chip_reads);
}

void read_cards(const Look& look, const card::SystemRoots& roots, MachineState& machine) {
  const auto detail = look.read_chips ? card::Detail::everything : card::Detail::place;
  std::vector<card::PciFunction> functions = card::tenstorrent_functions(roots, detail);
  std::optional<card::NodeUsers> users;
  if (!look.read_chips && !functions.empty()) users.emplace(roots);
  for (card::PciFunction& f : functions) {
    CardState card;
    card.heartbeat_gap_ms = look.heartbeat_gap_ms;
    card.function = std::move(f);
    card.iommu =
        card::read_kernel_file(roots.sys + "/bus/pci/devices/" + card.function.bdf + "/iommu_group/type")
            .text;
    if (const auto n = card.function.ordinal) {
      if (users) card.function.openers = users->of(*n, card.function.hidden);
      card.lock = card::umd_lock(roots, *n, card.function.hidden);
      card.node_readable =
          access((roots.dev + "/tenstorrent/" + std::to_string(*n)).c_str(), R_OK) == 0 || errno == ENOENT;
      const std::string pids = roots.proc + "/driver/tenstorrent/" + std::to_string(*n) + "/pids";
      card.driver_lists_openers = access(pids.c_str(), R_OK) == 0;
      if (look.read_chips) read_chip(roots, card, machine.chip_reads);
    }
    for (const std::string& what : card.function.hidden)
      machine.hidden.push_back(card.function.bdf + ": " + what);
    machine.cards.push_back(std::move(card));
  }
}

void read_collectors(MachineState& machine) {
  for (const shm::SegmentInfo& s : shm::list_segments()) {
    if (!s.alive || !s.refused.empty()) continue;
    try {
      const shm::Reader reader(s.live_name, shm::StartAt::newest);
      machine.collectors.push_back({s.live_name, node_of(machine, s.device_spec),
                                    static_cast<int>(s.writer_pid),
                                    reader.counter(shm::Counter::dropped_on_card_launches)});
    } catch (const shm::SegmentError& e) {
      machine.hidden.push_back(e.what());
    }
  }
}

// The processes that have to do with a card, or listen on a port of Tracy's.
std::set<int> concerned(const Look& look, const card::SystemRoots& roots, const MachineState& machine,
                        const Descriptors& seen) {
  std::set<int> pids{look.only_pid};
  for (const Descriptors::Node& node : seen.nodes) pids.insert(node.pid);
  for (const auto& [inode, pid] : seen.socket_owner) pids.insert(pid);
  bool waited_for = look.only_pid != 0;
  for (const CardState& c : machine.cards) {
    for (const card::Opener& o : c.function.openers) pids.insert(o.pid);
    pids.insert(c.function.umd_owner_pid);
    waited_for = waited_for || c.lock.waited_for;
  }
  if (waited_for)
    for (const int pid : mappers_of_locks(roots.proc)) pids.insert(pid);
  pids.erase(0);  // not known, or of another PID namespace
  return pids;
}

void read_holdings(const MachineState& machine, const Descriptors& seen, ProcessState& p) {
  std::set<std::string> holds;
  for (const Descriptors::Node& node : seen.nodes) {
    if (node.pid != p.pid) continue;
    holds.insert("/dev/tenstorrent/" + std::to_string(node.ordinal));
    if (node.exclusive) p.holds_exclusive.push_back("/dev/tenstorrent/" + std::to_string(node.ordinal));
  }
  bool any = false, all_looking_on = true;
  for (const CardState& c : machine.cards)
    for (const card::Opener& o : c.function.openers) {
      if (o.pid != p.pid) continue;
      holds.insert(c.function.node);
      any = true;
      all_looking_on = all_looking_on && o.observer;
    }
  p.looks_on = any && all_looking_on;
  for (const EmulatedCardState& e : machine.emulated)
    if (e.holder_pid == p.pid) holds.insert("emu:" + e.name);
  p.holds.assign(holds.begin(), holds.end());
}

void read_processes(const Look& look, const card::SystemRoots& roots, MachineState& machine) {
  std::map<uint64_t, Listener> listeners = read_listeners(roots.proc);
  const std::map<uint64_t, std::string> emulated = read_emulated_cards(roots.proc);
  std::set<uint64_t> inodes;
  for (const auto& [inode, of] : listeners) inodes.insert(inode);
  for (const auto& [inode, of] : emulated) inodes.insert(inode);
  const Descriptors seen = read_descriptors(roots.proc, inodes);
  if (seen.closed_to_us)
    machine.hidden.push_back("open files of " + std::to_string(seen.closed_to_us) +
                             " processes of other users: what they hold and listen on (root may read them)");
  const auto owner = [&](uint64_t inode) {
    const auto it = seen.socket_owner.find(inode);
    return it == seen.socket_owner.end() ? 0 : it->second;
  };
  for (const auto& [inode, name] : emulated) machine.emulated.push_back({name, owner(inode)});
  for (const int pid : concerned(look, roots, machine, seen))
    if (auto p = read_process(roots.proc, pid)) machine.processes.push_back(std::move(*p));
  for (ProcessState& p : machine.processes) read_holdings(machine, seen, p);
  for (auto& [inode, listener] : listeners) {
    listener.pid = owner(inode);
    if (const ProcessState* p = machine.process(listener.pid)) listener.name = p->name;
    machine.listeners.push_back(std::move(listener));
  }
}

// Finds the protocol of each Tracy client. Other processes that listen on Tracy's ports are examined as well: a client may be
// linked into the program.
void read_tracy_clients(const card::SystemRoots& roots, MachineState& machine) {
  std::map<int, std::set<unsigned>> ports;
  for (const Listener& l : machine.listeners) ports[l.pid].insert(l.port);
  for (ProcessState& p : machine.processes) {
    const auto of = ports.find(p.pid);
    if (of == ports.end()) continue;
    MemoryAccess access{};
    const auto announced = read_announcement(roots.proc + "/" + std::to_string(p.pid), of->second, access);
    p.memory_refused = access == MemoryAccess::refused;
    if (!announced) continue;
    p.tracy_library = true;
    p.tracy_protocol = announced->protocol;
  }
}

// What one reading cannot distinguish from a passing state.
void look_again(const card::SystemRoots& roots, MachineState& machine) {
  unsigned gap_ms = 0;
  for (const CardState& c : machine.cards)
    if (!c.heartbeat.empty()) gap_ms = c.heartbeat_gap_ms;
  for (const ProcessState& p : machine.processes)
    if (p.state == 'D') gap_ms = std::max(gap_ms, kSecondLookMs);
  if (gap_ms == 0) return;
  std::this_thread::sleep_for(std::chrono::milliseconds(gap_ms));
  for (CardState& c : machine.cards)
    if (!c.heartbeat.empty()) read_heartbeat(roots, c, machine.chip_reads);
  for (ProcessState& p : machine.processes)
    if (p.state == 'D') p.state = state_of(roots.proc, p.pid);
}

void note_unreadable(MachineState& machine) {
  for (const ProcessState& p : machine.processes)
    if (!p.may_be_read)
      machine.hidden.push_back("environment and libraries of " + who(p) +
                               ", which is another user's (root may read them)");
    else if (p.tracy_library && p.memory_refused)
      machine.hidden.push_back("the protocol of the Tracy client of " + who(p) +
                               ": this user may not read its memory (root may)");
}

}  // namespace

MachineState look_at_machine(const Look& look) {
  const card::SystemRoots roots = card::roots_below(look.root);
  MachineState machine;
  machine.only_pid = look.only_pid;
  if (look.only_pid != 0 && state_of(roots.proc, look.only_pid) == '?')
    throw NoSuchProcess("there is no process " + std::to_string(look.only_pid) + " in " + roots.proc +
                        "; ttcollect list shows who has a card open");
  std::error_code error;
  if (!fs::is_directory(roots.proc, error)) machine.hidden.push_back("processes: there is no " + roots.proc);
  read_cards(look, roots, machine);
  read_processes(look, roots, machine);
  read_tracy_clients(roots, machine);
  if (look.root.empty()) read_collectors(machine);
  machine.host = read_host(roots, look.root);
  look_again(roots, machine);
  note_unreadable(machine);
  return machine;
}

}  // namespace ttc::collect::doctor
