// Drivers, nodes, firmware, sensors and links. Attributes and what driver versions lack: tt-kmd (driver_iface/README.md); that
// a constant tt_heartbeat means dead firmware is how UMD and luwen read it, not verified on silicon.
#include <cstdio>
#include <cstdlib>
#include <map>

#include "collector/doctor/findings.hpp"

namespace ttc::collect::doctor {
namespace {

struct DriverVersion {
  unsigned major = 0, minor = 0;
  bool known = false;
  bool below(unsigned a, unsigned b) const { return known && (major < a || (major == a && minor < b)); }
};
DriverVersion version_of(const std::string& text) {
  DriverVersion v;
  v.known = std::sscanf(text.c_str(), "%u.%u", &v.major, &v.minor) == 2;
  return v;
}

std::string name_of(const card::PciFunction& f) {
  return f.node.empty() ? f.bdf : f.node;
}

Finding about(const CardState& card, const char* id, Weight weight) {
  Finding f{id, weight};
  f.card = name_of(card.function);
  return f;
}

void find_driver(const CardState& card, Findings& found) {
  const card::PciFunction& f = card.function;
  const std::string place = "/sys/bus/pci/devices/" + f.bdf;
  Finding finding = about(card, "no-driver", Weight::stops);
  if (f.driver.empty()) {
    finding.what = f.bdf + " has no driver, so no program can use the card";
    finding.evidence = place + ": there is no driver link";
    finding.cause = "tt-kmd is not loaded, or not built for this kernel";
    finding.fix = "sudo modprobe tenstorrent; when that fails: dkms status, and dmesg";
  } else if (f.driver != "tenstorrent") {
    finding.what = f.bdf + " is bound to " + f.driver + " instead of tt-kmd";
    finding.evidence = place + "/driver";
    finding.cause = "the function was given to another driver, as for a virtual machine";
    finding.fix = "echo " + f.bdf + " | sudo tee " + place + "/driver/unbind, then echo " + f.bdf +
                  " | sudo tee /sys/bus/pci/drivers/tenstorrent/bind";
  } else if (!f.ordinal) {
    finding.what = "the driver has no node for " + f.bdf;
    finding.evidence = "/sys/class/tenstorrent: no entry leads to " + f.bdf;
    finding.cause = "the driver gave up on this card when it probed it";
    finding.fix = "sudo dmesg | grep tenstorrent; a card that does not answer needs a power cycle";
  } else {
    return;
  }
  found.push_back(std::move(finding));
}

void find_permission(const CardState& card, Findings& found) {
  if (!card.function.ordinal || card.node_readable) return;
  Finding f = about(card, "no-permission", Weight::stops);
  f.what = "this user may not open " + card.function.node;
  f.evidence = "access(2) on " + card.function.node + " for reading: permission denied";
  f.cause =
      "the driver's udev rule, which gives the nodes mode 0666, is not installed, or a container was started "
      "without it";
  f.fix = "sudo chmod a+rw " + card.function.node +
          " until the next boot; for good install the driver's udev rule; in a container --device " +
          card.function.node;
  found.push_back(std::move(f));
}

void find_version(const CardState& card, const HostState& host, Findings& found) {
  const std::string& version = card.function.driver_version;
  const DriverVersion v = version_of(version);
  if (v.below(2, 0)) {
    Finding f = about(card, "driver-too-old", Weight::stops);
    f.what = "driver " + version + " is older than what UMD and ttcollect need";
    f.evidence = "/sys/module/tenstorrent/version: " + version;
    f.cause = "windows are handed out in another way before tt-kmd 2.0";
    f.fix = "install tt-kmd 2.0 or later, then sudo modprobe -r tenstorrent && sudo modprobe tenstorrent";
    found.push_back(std::move(f));
  } else if (v.below(2, 7)) {
    Finding f = about(card, "driver-lacks", Weight::advice);
    f.what = "driver " + version + " lacks what later ones have";
    f.evidence = "/sys/module/tenstorrent/version: " + version;
    f.cause = std::string(v.below(2, 5) ? "it does not say who has the card open (2.5); " : "") +
              (v.below(2, 6) ? "it has no power votes (2.6 and later have); " : "") +
              "it does not revoke mappings at a reset (2.7), which then is noticed late";
    f.fix = "install tt-kmd 2.7 or later";
    found.push_back(std::move(f));
  }
  if (host.installed_driver && !version.empty() && *host.installed_driver != version) {
    Finding f = about(card, "driver-not-reloaded", Weight::advice);
    f.what = "driver " + version + " is loaded and " + *host.installed_driver + " is installed";
    f.evidence = "/sys/module/tenstorrent/version and /var/lib/dkms/tenstorrent";
    f.cause = "the driver was installed and not loaded since";
    f.fix = "when no process uses a card: sudo modprobe -r tenstorrent && sudo modprobe tenstorrent";
    found.push_back(std::move(f));
  }
}

void find_life(const CardState& card, Findings& found) {
  const std::string n = std::to_string(card.function.ordinal.value_or(0));
  if (card.resetting) {
    Finding f = about(card, "resetting", Weight::stops);
    f.what = card.function.node + " is being reset, or a reset of it was never finished";
    f.evidence = "attributes of /sys/class/tenstorrent/tenstorrent!" + n + " give ENODATA";
    f.cause = "between a reset and its end the driver does not read the chip";
    f.fix = "wait some seconds; when it stays so: tt-smi -r " + n;
    found.push_back(std::move(f));
    return;
  }
  if (card.heartbeat.size() == 2 && card.heartbeat[0] == card.heartbeat[1]) {
    Finding f = about(card, "firmware-stands-still", Weight::stops);
    f.what = "the firmware of " + card.function.node + " has stopped counting its heartbeat";
    f.evidence = "/sys/class/tenstorrent/tenstorrent!" + n +
                 "/tt_heartbeat: " + std::to_string(card.heartbeat[0]) + ", and the same " +
                 std::to_string(card.heartbeat_gap_ms) + " ms later (not verified on silicon)";
    f.cause = "the chip's management processor hangs; clocks and power are no longer governed";
    f.fix = "tt-smi -r " + n + " when no workload needs the card; a power cycle when that does not help";
    found.push_back(std::move(f));
  }
}

void find_heat(const CardState& card, Findings& found) {
  const std::string n = std::to_string(card.function.ordinal.value_or(0));
  for (const Sensor& s : card.sensors) {
    if (s.limit == 0 || s.input < s.limit) continue;
    const bool heat = s.name.starts_with("temp");
    const double unit = heat ? 1e3 : s.name.starts_with("power") ? 1e6 : 1e3;
    char text[96];
    std::snprintf(text, sizeof text, "%s_input %.1f, %s_max %.1f %s", s.name.c_str(),
                  static_cast<double>(s.input) / unit, s.name.c_str(), static_cast<double>(s.limit) / unit,
                  heat                          ? "C"
                  : s.name.starts_with("power") ? "W"
                                                : "A");
    Finding f = about(card, "throttled", Weight::advice);
    f.what = card.function.node + " is at the limit of its " + (heat ? "temperature" : "power");
    f.evidence =
        "hwmon of " + card.function.bdf + ": " + text +
        (card.function.aiclk_mhz ? ", AICLK " + std::to_string(*card.function.aiclk_mhz) + " MHz" : "");
    f.cause = "firmware lowers the clock there, and times change while they are measured";
    f.fix = heat ? "better air flow, or less load; telemetry: ttexport --format telemetry-csv"
                 : "compare runs by cycles, not by time; telemetry: ttexport --format telemetry-csv";
    found.push_back(std::move(f));
  }
  if (card.therm_trips.value_or(0) == 0) return;
  Finding f = about(card, "thermal-trip", Weight::advice);
  f.what = card.function.node + " was shut off by heat before";
  f.evidence = "/sys/class/tenstorrent/tenstorrent!" + n +
               "/tt_therm_trip_count: " + std::to_string(*card.therm_trips);
  f.cause = "the chip became too hot and was reset by itself";
  f.fix = "better air flow; check the fans";
  found.push_back(std::move(f));
}

void find_link(const CardState& card, Findings& found) {
  const card::Link &now = card.function.link, &best = card.function.best_link;
  const auto below = [](const std::string& a, const std::string& b) {
    return !a.empty() && !b.empty() && std::atof(a.c_str()) < std::atof(b.c_str());
  };
  if (!below(now.speed, best.speed) && !below(now.width, best.width)) return;
  Finding f = about(card, "link-below-best", Weight::advice);
  f.what = "the PCIe link of " + name_of(card.function) + " runs below the card's best";
  f.evidence = now.speed + " x" + now.width + " now, " + best.speed + " x" + best.width + " at best (sysfs)";
  f.cause = "the slot is slower or narrower, or the link was trained badly";
  f.fix = "another slot, or reseat the card; when the slot can do more: tt-smi -r " +
          std::to_string(card.function.ordinal.value_or(0));
  found.push_back(std::move(f));
}

// One architecture, several firmware bundles.
void find_mixed_firmware(const MachineState& machine, Findings& found) {
  std::map<std::string, std::map<std::string, std::string>> nodes;  // by architecture, bundle
  for (const CardState& c : machine.cards)
    if (!c.function.firmware.empty()) {
      std::string& of = nodes[c.function.arch][c.function.firmware];
      of += (of.empty() ? "" : ", ") + c.function.node;
    }
  for (const auto& [arch, bundles] : nodes) {
    if (bundles.size() < 2) continue;
    Finding f{"firmware-differs", Weight::advice};
    f.what = "cards of one kind (" + arch + ") have different firmware";
    for (const auto& [bundle, of] : bundles)
      f.evidence.append(f.evidence.empty() ? "" : "; ")
          .append(of)
          .append(": tt_fw_bundle_ver ")
          .append(bundle);
    f.cause = "clocks, power and Ethernet behave differently between them, and tt-metal requires one version";
    f.fix = "tt-flash the older ones to the newer bundle";
    found.push_back(std::move(f));
  }
}

}  // namespace

void find_in_cards(const MachineState& machine, Findings& found) {
  for (const CardState& card : machine.cards) {
    find_driver(card, found);
    find_permission(card, found);
    if (!card.function.ordinal) continue;
    find_version(card, machine.host, found);
    find_life(card, found);
    find_heat(card, found);
    find_link(card, found);
  }
  find_mixed_firmware(machine, found);
  if (!machine.cards.empty() || !machine.emulated.empty()) return;
  Finding f{"no-card", Weight::stops};
  f.what = "this machine has no Tenstorrent card, and no emulated one runs";
  f.evidence = "/sys/bus/pci/devices has no function of vendor 0x1e52; /proc/net/unix has no @ttemu socket";
  f.cause = "the card is not seated, or switched off, or not given to this container or virtual machine";
  f.fix = "lspci -d 1e52: on the host; to try without a card: ttemu --name demo &";
  found.push_back(std::move(f));
}

}  // namespace ttc::collect::doctor
