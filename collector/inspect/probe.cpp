#include "collector/inspect/probe.hpp"

#include <cstdio>
#include <nlohmann/json.hpp>

#include "collector/program/json_text.hpp"
#include "collector/program/printable.hpp"
#include "driver_iface/guarded_card.hpp"

namespace ttc::collect {
namespace {

using json = nlohmann::ordered_json;

constexpr uint64_t kBudgetNs = 3'000'000'000;  // bulk copies by slow loads would take much longer

// On a card behind PCIe. Emulated ones have ordinary memory for both.
const char* memory_of(const ProbeRow& r) {
  return r.memory == card::Memory::uncached ? "UC" : "WC";
}

bool moves_bytes(const ProbeRow& r) {
  return r.bytes != 0;
}

LinkProbe on_first_tile(card::Card& card, const ProbeOptions& options) {
  for (const card::Tile& tile : card.tiles()) {
    if (tile.kind != card::TileKind::tensix || tile.harvested) continue;
    LinkProbe probe = probe_link(card, tile.at, options);
    if (!probe.rows.empty()) return probe;
    if (card.health() == card::Health::gone) break;
  }
  throw ProbeError(
      card.identity().spec +
      ": no Tensix tile can be read, so the link cannot be measured; the card was reset, removed or "
      "hangs, `ttcollect list` shows what the kernel reports");
}

}  // namespace

json to_json(const LinkProbe& probe) {
  json rows = json::array();
  for (const ProbeRow& r : probe.rows) {
    json row{{"what", to_string(r.kind)}, {"memory", memory_of(r)}, {"bytes", r.bytes},
             {"samples", r.samples},      {"min_ns", r.min},        {"p50_ns", r.p50},
             {"p90_ns", r.p90},           {"p99_ns", r.p99},        {"max_ns", r.max}};
    if (moves_bytes(r)) row["bytes_per_s"] = static_cast<uint64_t>(r.bytes_per_s());
    rows.push_back(std::move(row));
  }
  json left_out = json::array();
  for (const ProbeGap& gap : probe.left_out)
    left_out.push_back(
        {{"what", to_string(gap.kind)}, {"bytes", gap.bytes}, {"samples", gap.samples}, {"why", gap.why}});
  return {{"left_out", std::move(left_out)},
          {"tile", {probe.tile.x, probe.tile.y}},
          {"timer_ns", probe.timer_ns},
          {"rows", std::move(rows)}};
}

std::string to_table(const LinkProbe& probe) {
  char line[160];
  std::snprintf(line, sizeof line, "%-12s %-6s %8s %8s %8s %8s %8s %8s %10s\n", "operation", "memory",
                "bytes", "samples", "p50 ns", "p90 ns", "p99 ns", "max ns", "MB/s");
  std::string table = line;
  for (const ProbeRow& r : probe.rows) {
    char bytes[16] = "-", rate[24] = "-";
    if (moves_bytes(r)) {
      std::snprintf(bytes, sizeof bytes, "%u", r.bytes);
      std::snprintf(rate, sizeof rate, "%.1f", r.bytes_per_s() / 1e6);
    }
    std::snprintf(line, sizeof line, "%-12s %-6s %8s %8u %8u %8u %8u %8u %10s\n",
                  std::string(to_string(r.kind)).c_str(), memory_of(r), bytes, r.samples, r.p50, r.p90, r.p99,
                  r.max, rate);
    table += line;
  }
  for (const ProbeGap& gap : probe.left_out)
    table += std::string(to_string(gap.kind)) +
             (gap.bytes ? " of " + std::to_string(gap.bytes) + " bytes" : "") +
             (gap.samples ? ": broken off after " + std::to_string(gap.samples) + " samples: "
                          : ": not measured: ") +
             gap.why + "\n";
  return table;
}

std::string in_words(const LinkProbe& probe) {
  const ProbeRow* line = probe.row(ProbeKind::load, card::Memory::write_combined, card::kLineBytes);
  const ProbeRow* aim = probe.row(ProbeKind::re_aim, card::Memory::uncached, 0);
  std::string text;
  char part[64];
  if (line) std::snprintf(part, sizeof part, "a line in %u ns", line->p50), text += part;
  if (const double best = probe.best_bytes_per_s(); best > 0)
    std::snprintf(part, sizeof part, "%s%.0f MB/s in bulk", text.empty() ? "" : ", ", best / 1e6),
        text += part;
  if (aim)
    std::snprintf(part, sizeof part, "%sa re-aim %u ns", text.empty() ? "" : ", ", aim->p50), text += part;
  return text;
}

void probe(const std::string& device, const card::OpenOptions& open, uint32_t samples, bool as_json) {
  card::GuardedCard card(card::open_card(device, open));
  ProbeOptions options;
  options.samples = samples;
  options.budget_ns = kBudgetNs;
  const LinkProbe measured = on_first_tile(card, options);
  const card::Identity& id = card.identity();
  if (as_json) {
    json out{{"device", id.spec}, {"arch", id.arch->name}, {"board", id.board}};
    out.update(to_json(measured));
    std::printf("%s\n", program::json_text(out).c_str());
    return;
  }
  std::printf("%s  %s  %s  tile (%u,%u); reading the host clock costs %u ns, which is in every figure\n",
              program::printable(id.spec).c_str(), std::string(id.arch->name).c_str(),
              program::printable(id.board).c_str(), measured.tile.x, measured.tile.y, measured.timer_ns);
  std::fputs(to_table(measured).c_str(), stdout);
}

}  // namespace ttc::collect
