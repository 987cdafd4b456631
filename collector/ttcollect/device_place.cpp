// The place of a device in this machine, and the CPUs, scheduling and memory of its drain thread and ring.
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstdio>

#include "collector/continuity/timing.hpp"
#include "collector/host/host_place.hpp"
#include "collector/ttcollect/device_run.hpp"
#include "collector/ttcollect/program.hpp"

namespace ttc::collect {
namespace {

std::string own_path() {
  char path[PATH_MAX];
  const ssize_t bytes = readlink("/proc/self/exe", path, sizeof path);
  return bytes > 0 ? std::string(path, static_cast<size_t>(bytes)) : "ttcollect";
}

}  // namespace

void DeviceRun::learn_the_link() {
  const auto tiles = card_->tiles();
  const auto tensix = std::find_if(tiles.begin(), tiles.end(), [](const card::Tile& t) {
    return t.kind == card::TileKind::tensix && !t.harvested;
  });
  if (tensix != tiles.end()) link_ = probe_link(*card_, tensix->at, kFastProbe);
  place_ = place_of(card_->identity());
  link_bytes_per_s_ = place_ ? bytes_per_s_of(place_->link) : 0;
  link_nominal_ = link_bytes_per_s_ > 0;
  if (!link_nominal_) link_bytes_per_s_ = link_.best_bytes_per_s();
}

// The probe's single loads of a line show what the link carries. Where it could make none, a line is taken to last as long as one may.
void DeviceRun::limit_link_share() {
  if (options_.link_share == 0) return;
  const ProbeRow* line = link_.row(ProbeKind::load, card::Memory::uncached, card::kLineBytes);
  const double line_ns =
      line ? std::max<uint32_t>(line->p50, 1) : static_cast<double>(card_->line_allowance_ns());
  options_.drain.lines_per_s = options_.link_share * 1e9 / line_ns;
  result_.lines_per_s_at_most = options_.drain.lines_per_s;
  const double polls = static_cast<double>(attachment_.cores.size()) * 1e9 / timing::kPollDeadlineNs;
  char text[256];
  std::snprintf(text, sizeof text,
                "polls read at most %.0f lines a second, %.3g %% of what single loads carry (%.2f us a line)",
                options_.drain.lines_per_s, 100 * options_.link_share, line_ns / 1000);
  detail(text);
  if (polls < options_.drain.lines_per_s) return;
  std::snprintf(text, sizeof text,
                "--link-share %.3g%% is less than polls of %zu cores within their deadline take (%.2g%%); "
                "those come on top",
                100 * options_.link_share, attachment_.cores.size(), polls * line_ns / 1e7);
  note(text);
}

// An emulated card has no NUMA node: only what the user requests is set.
void DeviceRun::choose_place() {
  if (!options_.cpus.empty()) {
    cpus_ = {options_.cpus, "as given by --cpu"};
    memory_node_ = common_node(options_.cpus);
    return;
  }
  if (!options_.pin || !place_) return;
  int workload = card_->identity().workload_pid;
  if (workload <= 0) workload = place_->umd_owner_pid;
  const HostFit fit = fit_for(place_->numa_node, place_->local_cpus, allowed_cpus(), threads_of(workload));
  cpus_ = fit.cpus;
  memory_node_ = fit.memory_node;
}

// No value for an emulated card, or if the bus cannot be searched: collecting does not depend on it.
std::optional<card::PciFunction> DeviceRun::place_of(const card::Identity& id) const {
  if (id.spec.starts_with("emu:")) return std::nullopt;
  try {
    return function_of(id, card::tenstorrent_functions({}, card::Detail::place));
  } catch (const card::InventoryError& e) {
    note(e.what());
    return std::nullopt;
  }
}

// Settles the calling thread, which is the one that drains.
void DeviceRun::settle_thread() {
  if (!cpus_.cpus.empty() && !run_on(cpus_.cpus))
    cpus_ = {{}, "CPUs " + to_string(cpus_.cpus) + " were taken from this process meanwhile"};
  if (!options_.real_time) return;
  real_time_.emplace(memory_lock_, [this](const std::string& text) { note(text); });
  note(in_words(real_time_->grant(), own_path()));
}

}  // namespace ttc::collect
