#include "collector/selftest/link_watch.hpp"

#include <algorithm>
#include <cstdio>

#include "collector/continuity/timing.hpp"

namespace ttc::collect::selftest {
namespace {

using card::Access;
using card::Memory;
using card::Window;

constexpr uint64_t kL1 = 0x80000;  // far behind the profiler
constexpr uint32_t kWidths[] = {4, 8, 16, 32, 64};
constexpr size_t kParts = 20;  // of the budget

LoadHistogram summary(Memory memory, uint32_t bytes, std::vector<uint32_t>& ns) {
  LoadHistogram h;
  h.memory = memory;
  h.bytes = bytes;
  h.samples = static_cast<uint32_t>(ns.size());
  for (const uint32_t t : ns)
    ++h.bins[static_cast<size_t>(std::upper_bound(kBinEdges.begin(), kBinEdges.end(), t) -
                                 kBinEdges.begin())];
  std::sort(ns.begin(), ns.end());
  h.min = ns.front();
  h.p50 = ns[(ns.size() - 1) / 2];
  h.p99 = ns[(ns.size() - 1) * 99 / 100];
  h.max = ns.back();
  return h;
}

// Time of a line alone, by the time that it takes in a long copy.
double overlap(const LinkFigures& link, Memory memory) {
  double line = 0, in_bulk = 0;
  for (const LoadHistogram& h : link.loads)
    if (h.memory == memory && h.bytes == card::kLineBytes) line = h.p50;
  if (const ProbeRow* bulk = link.bulk.row(ProbeKind::stream_l1, memory, 0); bulk && bulk->bytes)
    in_bulk = static_cast<double>(bulk->p50) * card::kLineBytes / bulk->bytes;
  return in_bulk > 0 ? line / in_bulk : 0;
}

}  // namespace

LinkFigures measure_link(card::Card& card, card::Coord tile, uint32_t samples, uint64_t budget_ns) {
  LinkFigures link;
  const uint32_t offset = kL1 & (card::kWindowBytes - 1);
  uint32_t line[card::kLineBytes / 4];
  std::vector<uint32_t> ns;
  for (const Memory memory : {Memory::uncached, Memory::write_combined}) {
    for (const uint32_t bytes : kWidths) {
      if (card.aim(Window::payload, tile, kL1) != Access::ok) break;
      ns.clear();
      const uint64_t begun = raw_now_ns();
      while (ns.size() < samples && raw_now_ns() - begun < budget_ns / kParts) {
        const uint64_t on_the_way = card.transactions().transport_ns, before = raw_now_ns();
        if (card.one_load(Window::payload, memory, offset, {line, bytes / 4}) != Access::ok) break;
        const uint64_t took = raw_now_ns() - before, not_ours = card.transactions().transport_ns - on_the_way;
        ns.push_back(static_cast<uint32_t>(std::min<uint64_t>(took - std::min(took, not_ours), ~0u)));
      }
      if (!ns.empty()) link.loads.push_back(summary(memory, bytes, ns));
    }
  }
  ProbeOptions options;
  options.samples = std::min<uint32_t>(samples, 1000);
  options.budget_ns = budget_ns / 2;
  link.bulk = probe_link(card, tile, options);
  link.overlap = overlap(link, Memory::write_combined);
  link.overlap_uc = overlap(link, Memory::uncached);
  return link;
}

bool is_whole(const LinkFigures& link) {
  return link.loads.size() == 2 * std::size(kWidths);
}

void judge_link(const LinkFigures& link, size_t cores, Tallies& tallies) {
  const LoadHistogram* line = nullptr;
  for (const LoadHistogram& h : link.loads)
    if (h.memory == Memory::uncached) line = &h;  // the widest that was measured; width costs little
  if (!line) return;
  // A poll of a core without news: two lines and a re-aim. The least time is the link's, whatever else ran.
  const ProbeRow* aim = link.bulk.row(ProbeKind::re_aim, Memory::uncached, 0);
  const auto of = [&](uint32_t load_ns, uint32_t aim_ns) { return cores * (2ull * load_ns + aim_ns); };
  const uint64_t at_best = of(line->min, aim ? aim->min : 0), usual = of(line->p50, aim ? aim->p50 : 0);
  char text[120];
  std::snprintf(text, sizeof text, "%zu cores in %.0f us usually, %.0f us at best", cores,
                static_cast<double>(usual) / 1e3, static_cast<double>(at_best) / 1e3);
  if (at_best > timing::kPollDeadlineNs)
    tallies.speaks_against(Id::poll_in_time, text);
  else if (usual <= timing::kPollDeadlineNs)
    tallies.agrees(Id::poll_in_time), tallies.describe(Id::poll_in_time, text);
  else
    tallies.cannot_see(Id::poll_in_time, std::string("this host was busy: ") + text);
}

}  // namespace ttc::collect::selftest
