#include <algorithm>
#include <set>

#include "collector/draw/text_escape.hpp"
#include "tools/ttdelay/report/delay_map.hpp"
#include "tools/ttdelay/report/report_output.hpp"

namespace ttc::delay {
namespace {

constexpr size_t kMostRows = 400;
constexpr const char* kStyle =
    "body{font:14px "
    "sans-serif;margin:1.5em;max-width:1400px;color:#1a1c20;background:#fff}table{border-collapse:collapse}"
    "td,th{padding:3px 9px;border-bottom:1px solid "
    "#ddd;text-align:left}pre{white-space:pre-wrap;background:#f2f3f5;padding:6px}"
    "svg{max-width:100%;height:auto}";

std::string cell(const std::string& text) {
  return "<td>" + draw::for_markup(text) + "</td>";
}

// The observable that the page shows first: steps, else the first observable with a finding, else the first.
std::string main_observable(const Analysis& a) {
  std::string first;
  for (const Effect& e : a.effects) {
    if (e.observable == "step") return "step";
    if (first.empty() && !e.detail) first = e.observable;
  }
  return first;
}

std::string effects_html(const Analysis& a) {
  std::string html =
      "<table><thead><tr><th>Delayed</th><th>Observable</th><th>Cycles</th><th>Runs</th><th>Shift, 95 "
      "%</th><th>Share</th>"
      "<th>ns a cycle, 95 %</th><th>Line</th><th>p (Holm)</th><th>Verdict</th></tr></thead><tbody>\n";
  size_t rows = 0;
  for (const Effect& e : a.effects)
    for (const DosePoint& d : e.doses) {
      if (++rows > kMostRows) continue;
      char slope[96], share[32], p[32];
      std::snprintf(slope, sizeof slope, "%.3g [%.3g, %.3g]", e.slope.value * 1e3, e.slope.low * 1e3,
                    e.slope.high * 1e3);
      std::snprintf(share, sizeof share, "%+.2f %%", d.shift.value / e.control_mean * 100);
      std::snprintf(p, sizeof p, "%.2g", e.corrected);
      html += "<tr>" + cell(e.unit) + cell(e.observable) + cell(std::to_string(d.cycles)) +
              cell(std::to_string(d.runs)) + cell(microseconds(d.shift.value) + " " + between(d.shift)) +
              cell(share) + cell(slope) + cell(e.straight ? "straight" : "bent") + cell(p) +
              cell(verdict_of(e)) + "</tr>\n";
    }
  html += "</tbody></table>\n";
  if (rows > kMostRows) html += "<p>" + std::to_string(rows - kMostRows) + " more rows are in the CSV.</p>\n";
  return html;
}

std::string gains_html(const Analysis& a) {
  std::string rows;
  for (const Effect& e : a.effects)
    if (e.found && !e.detail)
      rows += "<tr>" + cell(e.unit) + cell(e.observable) +
              cell(microseconds(e.gain.value) + " " + between(e.gain)) + "</tr>\n";
  if (rows.empty()) return "";
  return "<h3>Virtual speed-up by " + std::to_string(a.faster) +
         " cycles a transaction</h3>\n<table><thead><tr><th>Delayed</th><th>Observable</th><th>Gain, 95 "
         "%</th></tr></thead><tbody>\n" +
         rows + "</tbody></table>\n";
}

std::string suspicions_html(const Analysis& a) {
  if (a.suspicions.empty()) return "";
  std::string html = "<h3>Suspected races</h3>\n";
  for (const Suspicion& s : a.suspicions)
    html += "<p>" +
            draw::for_markup(s.unit + " by " + std::to_string(s.cycles) + " cycles: " + to_string(s.what) +
                             " in " + std::to_string(s.times) + " of " + std::to_string(s.of) + " runs. " +
                             s.why) +
            "</p><pre>" + draw::for_markup(s.command) + "</pre>\n" +
            (s.what == Suspicion::What::hang ? "<p>" + draw::for_markup(waypoints_sentence(s)) + ".</p>\n"
                                             : std::string());
  return html;
}

std::string invalid_html(const Analysis& a) {
  if (a.invalid.empty()) return "";
  std::string html = "<h3>Runs that are in no average</h3><ul>\n";
  for (const InvalidRuns& i : a.invalid)
    html += "<li>" + draw::for_markup(std::to_string(i.runs) + " of " + i.unit + ": " + i.why) + "</li>\n";
  return html + "</ul>\n";
}

std::string section(const Experiment& e, const JournalContent& journal, const Analysis& a) {
  std::string html = "<section id=\"delays\">\n<h2>Debug delays: " + draw::for_markup(e.name) + "</h2>\n<p>" +
                     std::to_string(a.made) + " of " + std::to_string(a.planned) + " runs, " +
                     std::to_string(a.valid) + " valid, order by seed " + std::to_string(e.seed) + ".</p>\n";
  const std::string map = delay_map(e, journal, a, main_observable(a));
  if (!map.empty()) html += "<div class=\"gridbox\">" + map.substr(map.find("<svg")) + "</div>\n";
  html += effects_html(a) + gains_html(a) + suspicions_html(a) + invalid_html(a) + "<ul>\n";
  for (const std::string& sentence : report_sentences(e, a))
    html += "<li>" + draw::for_markup(sentence) + ".</li>\n";
  return html + "</ul>\n</section>\n";
}

}  // namespace

std::string report_page(const Experiment& e, const JournalContent& journal, const Analysis& a,
                        const std::string& page_of_a_run) {
  const std::string own = section(e, journal, a);
  const size_t summary = page_of_a_run.find("<section id=\"ops\">");
  const size_t link = page_of_a_run.find("<a href=\"#ops\">");
  if (summary == std::string::npos || link == std::string::npos)
    return "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>" +
           draw::for_markup(e.name) + " - ttdelay</title><style>" + kStyle + "</style></head><body>\n" + own +
           "</body></html>\n";
  std::string page = page_of_a_run;
  page.insert(summary, own);
  page.insert(link, "<a href=\"#delays\">Delays</a>\n  ");
  return page;
}

}  // namespace ttc::delay
