#include <nlohmann/json.hpp>

#include "collector/program/json_text.hpp"
#include "tools/report/text/csv_file.hpp"
#include "tools/ttdelay/report/report_output.hpp"

namespace ttc::delay {
namespace {

using json = nlohmann::ordered_json;

json estimate_json(const Estimate& e) {
  return {{"value", e.value}, {"low", e.low}, {"high", e.high}, {"error", e.error}, {"freedom", e.freedom}};
}

json effect_json(const Effect& e) {
  json doses = json::array();
  for (const DosePoint& d : e.doses)
    doses.push_back(
        {{"cycles", d.cycles}, {"runs", d.runs}, {"mean_us", d.mean}, {"shift_us", estimate_json(d.shift)}});
  return {{"unit", e.unit},
          {"observable", e.observable},
          {"detail", e.detail},
          {"control_runs", e.control_runs},
          {"control_mean_us", e.control_mean},
          {"doses", std::move(doses)},
          {"slope_us_a_cycle", estimate_json(e.slope)},
          {"straight", e.straight},
          {"p", e.p},
          {"p_holm", e.corrected},
          {"p_benjamini_hochberg", e.discovery},
          {"found", e.found},
          {"detectable_us", e.detectable ? json(*e.detectable) : json(nullptr)},
          {"gain_us", estimate_json(e.gain)}};
}

json suspicion_json(const Suspicion& s) {
  return {{"what", to_string(s.what)},
          {"unit", s.unit},
          {"cycles", s.cycles},
          {"times", s.times},
          {"runs", s.of},
          {"run", s.run},
          {"why", s.why},
          {"output", s.output ? json(*s.output) : json(nullptr)},
          {"usual_output", s.usual_output ? json(*s.usual_output) : json(nullptr)},
          {"waypoints", s.waypoints.empty() ? json(nullptr) : json(s.waypoints)},
          {"command", s.command}};
}

std::string number_text(double value) {
  char text[48];
  std::snprintf(text, sizeof text, "%.9g", value);
  return text;
}

}  // namespace

std::string report_json(const Experiment& experiment, const JournalContent& journal, const Analysis& a) {
  json effects = json::array(), watcher = json::array(), suspicions = json::array(), invalid = json::array();
  for (const Effect& e : a.effects) effects.push_back(effect_json(e));
  for (const Effect& w : a.watcher)
    watcher.push_back({{"observable", w.observable},
                       {"plain_runs", w.control_runs},
                       {"plain_mean_us", w.control_mean},
                       {"shift_us", estimate_json(w.doses[0].shift)}});
  for (const Suspicion& s : a.suspicions) suspicions.push_back(suspicion_json(s));
  for (const InvalidRuns& i : a.invalid)
    invalid.push_back({{"unit", i.unit}, {"runs", i.runs}, {"why", i.why}});
  json out{{"name", experiment.name},
           {"seed", experiment.seed},
           {"planned", a.planned},
           {"made", a.made},
           {"valid", a.valid},
           {"ignores_delays", a.ignores_delays},
           {"faster_cycles", a.faster},
           {"effects", std::move(effects)},
           {"watcher", std::move(watcher)},
           {"suspicions", std::move(suspicions)},
           {"invalid", std::move(invalid)},
           {"sentences", report_sentences(experiment, a)}};
  if (journal.trial) out.update(to_json(*journal.trial));
  return program::json_text(out, 1) + "\n";
}

std::string report_csv(const Analysis& a) {
  std::string text =
      "unit,observable,cycles,runs,mean [us],shift [us],shift low [us],shift high [us],slope "
      "[us/cycle],slope low "
      "[us/cycle],slope high [us/cycle],straight,p,p Holm,p Benjamini-Hochberg,found,detectable [us],gain "
      "[us],gain low "
      "[us],gain high [us]\n";
  for (const Effect& e : a.effects)
    for (const DosePoint& d : e.doses) {
      report::append_csv(text, e.unit);
      text += ',';
      report::append_csv(text, e.observable);
      text += ',' + std::to_string(d.cycles) + ',' + std::to_string(d.runs);
      for (const double value :
           {d.mean, d.shift.value, d.shift.low, d.shift.high, e.slope.value, e.slope.low, e.slope.high})
        text += ',' + number_text(value);
      text += e.straight ? ",yes" : ",no";
      for (const double value : {e.p, e.corrected, e.discovery}) text += ',' + number_text(value);
      text += e.found ? ",yes," : ",no,";
      if (e.detectable) text += number_text(*e.detectable);
      for (const double value : {e.gain.value, e.gain.low, e.gain.high}) text += ',' + number_text(value);
      text += '\n';
    }
  return text;
}

}  // namespace ttc::delay
