#include "tools/ttdelay/run/verdict.hpp"

#include "tools/ttdelay/plan/environment.hpp"

namespace ttc::delay {
namespace {

constexpr size_t kMostNamed = 6;

std::string listed(const std::vector<LogicalCore>& cores) {
  std::string text;
  for (size_t i = 0; i < cores.size() && i < kMostNamed; ++i)
    text += (i ? " " : "") + std::string("(") + std::to_string(cores[i].x) + "," +
            std::to_string(cores[i].y) + ")";
  if (cores.size() > kMostNamed) text += " and " + std::to_string(cores.size() - kMostNamed) + " more";
  return text;
}

std::string not_visible(const Experiment& e, const CardFacts& facts) {
  if (!facts.opened)
    return "the card " + e.device + " could not be read, so nothing is known of delays: " + facts.why_not;
  if (facts.ambiguous)
    return "several places in L1 hold these masks, so that the feedback word's place is not known";
  if (!facts.place)
    return "no place in L1 holds the masks of this run: the host did not write them, or the build is of a "
           "kind not known";
  if (!facts.masks_seen) return "the cores' records never held the masks of this run together";
  if (!facts.fresh)
    return "the opening of the device was not observed, so the feedback words may be of an earlier run";
  return "";
}

}  // namespace

MasksByCore masks_of(const Experiment& e, const PlannedRun& run) {
  MasksByCore masks;
  if (run.arm != Arm::delay) return masks;
  const watcher::Settings settings = watcher::read_settings(
      variables_of(e, run, Build{}), false);  // the same rules that tt-metal reads them by
  for (size_t t = 0; t < watcher::kTransactions; ++t)
    for (const LogicalCore& core : settings.delays[t].workers) masks[core][t] = settings.delays[t].riscs;
  return masks;
}

std::string not_taken(const Experiment& e, const PlannedRun& run, const CardFacts& facts) {
  if (run.arm == Arm::plain) return "";
  if (run.arm == Arm::watcher_only)
    return facts.others.empty()
               ? ""
               : "cores have masks or feedback although no delay was configured: " + listed(facts.others);
  const Unit unit = units_of(e)[run.unit];
  std::vector<LogicalCore> absent, untaken, more;
  for (const LogicalCore& core : unit.cores.cores)
    if (facts.opened && !facts.cores.contains(core)) absent.push_back(core);
  if (!absent.empty()) return "the card has no core " + listed(absent);
  if (std::string why = not_visible(e, facts); !why.empty()) return why;
  const uint32_t bit = 1u << static_cast<unsigned>(unit.kind);
  for (const LogicalCore& core : unit.cores.cores) {
    const auto found = facts.feedback.find(core);
    const uint32_t bits = found == facts.feedback.end() ? 0 : found->second;
    if (!(bits & bit)) untaken.push_back(core);
    if (bits & ~bit) more.push_back(core);
  }
  if (!untaken.empty())
    return "delays were not taken (" + unit.label() + "): by the feedback word of " + listed(untaken) +
           " no such transaction waited";
  if (!more.empty()) return "the feedback word of " + listed(more) + " has kinds that were not to be delayed";
  if (!facts.others.empty()) return "cores were delayed that were not named: " + listed(facts.others);
  return "";
}

}  // namespace ttc::delay
