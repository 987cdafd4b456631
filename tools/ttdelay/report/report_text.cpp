#include <cmath>
#include <cstdio>
#include <set>

#include "tools/report/text/text_table.hpp"
#include "tools/ttdelay/report/report_output.hpp"

namespace ttc::delay {
namespace {

using report::TextTable;

std::string percent_text(double share) {
  char text[32];
  std::snprintf(text, sizeof text, "%+.2f %%", share * 100);
  return text;
}

std::string p_text(double p) {
  char text[32];
  std::snprintf(text, sizeof text, p < 0.001 ? "%.1e" : "%.3f", p);
  return text;
}

std::string nanoseconds_text(const Estimate& per_cycle) {
  char text[96];
  std::snprintf(text, sizeof text, "%.3g [%.3g, %.3g]", per_cycle.value * 1e3, per_cycle.low * 1e3,
                per_cycle.high * 1e3);
  return text;
}

std::string effects_table(const Analysis& a, size_t top, int columns, bool color) {
  TextTable table({{"#"},
                   {"Delayed", true, 0, 12},
                   {"Observable", true, 0, 8},
                   {"Shift [95 %]", true},
                   {"Shift %", false, 5},
                   {"By", false, 4},
                   {"ns a cycle [95 %]", true, 3},
                   {"Line", true, 6},
                   {"p", false, 2},
                   {"Verdict", true, 0, 20}});
  size_t rank = 0;
  for (const Effect& e : a.effects) {
    if (top && rank >= top) break;
    const DosePoint& most = e.doses.back();
    table.row({{std::to_string(++rank)},
               {e.unit, report::Ink::cyan},
               {e.observable},
               {microseconds(most.shift.value) + " " + between(most.shift)},
               {percent_text(most.shift.value / e.control_mean)},
               {std::to_string(most.cycles)},
               {nanoseconds_text(e.slope)},
               {e.straight ? "straight" : "bent"},
               {p_text(e.corrected)},
               {verdict_of(e), e.found ? report::Ink::yellow : report::Ink::grey}});
  }
  std::string text = table.text(static_cast<size_t>(columns), color);
  if (rank < a.effects.size())
    text += "and " + std::to_string(a.effects.size() - rank) + " more; --top 0, --csv and --json have all\n";
  return text;
}

std::string gains_table(const Analysis& a, size_t top, int columns, bool color) {
  TextTable table({{"Delayed", true, 0, 12}, {"Observable", true, 0, 8}, {"Gain [95 %]", true}, {"Gain %"}});
  size_t rows = 0;
  for (const Effect& e : a.effects) {
    if (!e.found || e.detail || (top && rows >= top)) continue;
    ++rows;
    table.row({{e.unit, report::Ink::cyan},
               {e.observable},
               {microseconds(e.gain.value) + " " + between(e.gain)},
               {percent_text(e.gain.value / e.control_mean)}});
  }
  if (rows == 0) return "";
  return "\nVirtual speed-up: what each would gain if these transactions were " + std::to_string(a.faster) +
         " cycles faster\n" + table.text(static_cast<size_t>(columns), color);
}

}  // namespace

std::string microseconds(double us) {
  char text[48];
  const double size = std::abs(us);
  if (size != 0 && size < 0.1)
    std::snprintf(text, sizeof text, "%+.2f ns", us * 1e3);
  else
    std::snprintf(text, sizeof text, size < 10 ? "%+.3f us" : "%+.1f us", us);
  return text;
}

std::string between(const Estimate& e) {
  if (e.freedom <= 0) return "[scatter not known]";
  return "[" + microseconds(e.low) + ", " + microseconds(e.high) + "]";
}

std::string verdict_of(const Effect& e) {
  if (e.found) return "effect";
  if (e.slope.error <= 0) return "the same in all runs, or too few of them";
  if (!e.detectable) return "too few runs to find any effect";
  char share[48] = "";
  if (e.control_mean > 0)
    std::snprintf(share, sizeof share, " (%.2f %%)", *e.detectable / e.control_mean * 100);
  return "no effect found: " + microseconds(*e.detectable) + share + " would have been found";
}

std::vector<std::string> report_sentences(const Experiment& e, const Analysis& a) {
  std::vector<std::string> all = a.remarks;
  std::set<std::string> found;
  for (const Effect& effect : a.effects)
    if (effect.found) found.insert(effect.unit);
  std::string names;
  for (const std::string& unit : found) names += (names.empty() ? "" : "; ") + unit;
  if (!found.empty())
    all.push_back("Delays of " + std::to_string(found.size()) + " of " + std::to_string(units_of(e).size()) +
                  " units have an effect: " + names);
  else if (!a.effects.empty())
    all.emplace_back("No effect found; the verdicts name the smallest that would have been found");
  for (const Effect& w : a.watcher)
    all.push_back("The watcher by itself moves '" + w.observable + "' by " +
                  microseconds(w.doses[0].shift.value) + " " + between(w.doses[0].shift) +
                  "; delays are compared with runs that have it");
  all.push_back(
      "Shifts and slopes have 95 % intervals (bootstrap-t and Welch), each by itself. An effect is a slope "
      "whose "
      "p (the larger of permutation's and Welch's), by Holm's "
      "correction for " +
      std::to_string(a.main_tests) +
      (a.detail_tests ? " main and " + std::to_string(a.detail_tests) + " detailed" : std::string()) +
      " questions, is below 0.05. An effect that would have been found is found by four of five such "
      "experiments");
  all.emplace_back(
      "The virtual speed-up assumes that a transaction which is some cycles faster moves the observable as "
      "far as one that "
      "many cycles slower does, the other way: that holds as long as the same work stays on the critical "
      "path, and is the "
      "most that can be gained where the line is bent");
  return all;
}

std::string report_text(const Experiment& e, const Analysis& a, size_t top, int columns, bool color) {
  std::string text = e.name + ": " + std::to_string(a.made) + " of " + std::to_string(a.planned) + " runs, " +
                     std::to_string(a.valid) + " valid, seed " + std::to_string(e.seed) + "\n";
  if (!a.effects.empty()) text += effects_table(a, top, columns, color) + gains_table(a, top, columns, color);
  if (!a.suspicions.empty()) text += "\nSuspected races\n";
  for (const Suspicion& s : a.suspicions) {
    text += "  " + s.unit + " by " + std::to_string(s.cycles) + " cycles: " + to_string(s.what) + " in " +
            std::to_string(s.times) + " of " + std::to_string(s.of) + " runs";
    if (s.output && s.usual_output) text += " (" + *s.output + " instead of " + *s.usual_output + ")";
    if (!s.why.empty()) text += " (" + s.why + ")";
    text += "; again, as run " + std::to_string(s.run) + ":\n    " + s.command + "\n";
    if (const std::string stood = waypoints_sentence(s); !stood.empty()) text += "    " + stood + ".\n";
  }
  if (!a.invalid.empty()) text += "\nRuns that are in no average\n";
  for (const InvalidRuns& i : a.invalid)
    text += "  " + std::to_string(i.runs) + " of " + i.unit + ": " + i.why + "\n";
  text += "\n";
  for (const std::string& sentence : report_sentences(e, a)) text += sentence + ".\n";
  return text;
}

}  // namespace ttc::delay
