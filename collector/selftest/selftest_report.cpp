// The selftest's text, made to be pasted into a report: no name of a host, a user or a card's owner, no path, no serial number, no
// process id.
#include <cstdio>
#include <nlohmann/json.hpp>

#include "collector/program/json_text.hpp"
#include "collector/program/version.hpp"
#include "collector/selftest/selftest.hpp"

namespace ttc::collect::selftest {
namespace {

using json = nlohmann::ordered_json;

const char* memory_of(card::Memory memory) {
  return memory == card::Memory::uncached ? "UC" : "WC";
}

template <class... Values>
std::string line(const char* format, Values... values) {
  char text[512];
  std::snprintf(text, sizeof text, format, values...);
  return std::string(text) + "\n";
}

std::string bin_name(size_t bin) {
  return (bin < kBinEdges.size() ? "<" + std::to_string(kBinEdges[bin])
                                 : ">=" + std::to_string(kBinEdges.back()));
}

std::string link_text(const LinkFigures& link) {
  std::string text =
      "\nRound trips, ns (a single load; the emulated card has ordinary memory for both mappings)\n";
  for (const LoadHistogram& h : link.loads) {
    text += line("  %s %2u B  %6u samples  min %u  p50 %u  p99 %u  max %u", memory_of(h.memory), h.bytes,
                 h.samples, h.min, h.p50, h.p99, h.max);
    std::string bins;
    for (size_t b = 0; b < h.bins.size(); ++b)
      if (h.bins[b]) bins.append("  ").append(bin_name(b)).append(":").append(std::to_string(h.bins[b]));
    text += "         " + bins + "\n";
  }
  for (const ProbeRow& r : link.bulk.rows)
    if (r.kind != ProbeKind::load)
      text += line("  %-11s %s %6u B  min %u  p50 %u  p99 %u  max %u", std::string(to_string(r.kind)).c_str(),
                   memory_of(r.memory), r.bytes, r.min, r.p50, r.p99, r.max);
  if (link.overlap > 0)
    text += line(
        "  lines under way at once in a long copy: %.1f write-combined, %.1f uncached (line alone / line in "
        "bulk)",
        link.overlap, link.overlap_uc);
  return text;
}

std::string clock_text(const ClockFigures& c) {
  std::string text = "\nClocks\n";
  text += line("  %llu reads, bracket p50 %llu ns, %zu tiles compared; %.3f to %.3f MHz in %llu stretches",
               static_cast<unsigned long long>(c.reads), static_cast<unsigned long long>(c.bracket_p50_ns),
               c.tiles, c.hz_least / 1e6, c.hz_most / 1e6, static_cast<unsigned long long>(c.stretches));
  text += line(
      "  steps %llu (largest %.0f ppm), stops %llu, falls %llu, resets %llu; the card reports %.0f to "
      "%.0f MHz",
      static_cast<unsigned long long>(c.steps), c.largest_step_ppm, static_cast<unsigned long long>(c.stops),
      static_cast<unsigned long long>(c.falls), static_cast<unsigned long long>(c.resets), c.aiclk_least,
      c.aiclk_most);
  return text;
}

std::string power_text(const Figures& f) {
  const auto of = [](const std::optional<card::Telemetry>& t) {
    std::string text;
    if (t && t->aiclk_mhz) text += " AICLK " + std::to_string(*t->aiclk_mhz) + " MHz";
    if (t && t->power_mw) text += ", " + std::to_string(*t->power_mw / 1000) + " W";
    if (t && t->temperature_mc) text += ", " + std::to_string(*t->temperature_mc / 1000) + " C";
    return text.empty() ? std::string(" none reported") : text;
  };
  std::string text =
      "\nPower and reset\n  before:" + of(f.telemetry_first) + "; after:" + of(f.telemetry_last) + "\n";
  text += f.vanished ? "  the card went away during the test\n" : "  no reset was noticed\n";
  return text;
}

std::string workload_text(const Figures& f) {
  std::string text = "\nWorkload\n";
  if (!f.no_profiler.empty()) return text + "  " + f.no_profiler + "\n";
  text += line("  layout %s, mode %s, %zu cores, vectors at %s", f.layout.c_str(), f.mode.c_str(), f.cores,
               f.control_at.c_str());
  if (const auto& log = f.log) {
    text += line(
        "  watched: %llu polls, %llu pushes, %llu launches, %llu results reads; %llu polls after the "
        "deadline",
        static_cast<unsigned long long>(log->polls), static_cast<unsigned long long>(log->pushes),
        static_cast<unsigned long long>(log->launches), static_cast<unsigned long long>(log->resets),
        static_cast<unsigned long long>(log->missed_deadlines));
    text += line("  logs found in their bank %zu, in another %zu; numbering %u of %u", log->logs_found,
                 log->logs_elsewhere, log->numbering, f.numberings);
    if (log->landing_max_ns)
      text += line("  words were in DRAM behind their index within %.1f us (p50), %.1f us (max)",
                   static_cast<double>(log->landing_p50_ns) / 1e3,
                   static_cast<double>(log->landing_max_ns) / 1e3);
  }
  if (const auto& c = f.collected) {
    text += line(
        "  collected for %.1f s: %llu programs, %llu markers, %llu intervals of loss (%llu words), %llu "
        "missed poll "
        "deadlines, sweep p99 %.1f us",
        c->seconds, static_cast<unsigned long long>(c->programs), static_cast<unsigned long long>(c->markers),
        static_cast<unsigned long long>(c->intervals_of_loss), static_cast<unsigned long long>(c->words_lost),
        static_cast<unsigned long long>(c->missed_poll_deadlines),
        static_cast<double>(c->sweep_p99_ns) / 1e3);
  } else if (!f.not_collected.empty()) {
    text += "  not collected: " + f.not_collected + "\n";
  }
  return text;
}

std::string host_text(const HostFigures& h) {
  std::string text = "\nHost\n";
  text += line(
      "  %u CPUs allowed; in %.2f s of one busy thread: %llu gaps over 10 us, %llu over 100 us, %llu over "
      "the poll "
      "deadline, longest %.1f us",
      h.cpus, h.seconds, static_cast<unsigned long long>(h.gaps_over_10us),
      static_cast<unsigned long long>(h.gaps_over_100us),
      static_cast<unsigned long long>(h.gaps_over_deadline), static_cast<double>(h.longest_gap_ns) / 1e3);
  text += line("  preempted %llu times, waited %llu times", static_cast<unsigned long long>(h.preempted),
               static_cast<unsigned long long>(h.waited));
  if (h.steal_percent) text += line("  steal %.2f %% of all CPUs' time", *h.steal_percent);
  return text;
}

json bins_json(const LoadHistogram& h) {
  json bins = json::object();
  for (size_t b = 0; b < h.bins.size(); ++b) bins[bin_name(b)] = h.bins[b];
  return bins;
}

json link_json(const LinkFigures& link) {
  json loads = json::array();
  for (const LoadHistogram& h : link.loads)
    loads.push_back({{"memory", memory_of(h.memory)},
                     {"bytes", h.bytes},
                     {"samples", h.samples},
                     {"min_ns", h.min},
                     {"p50_ns", h.p50},
                     {"p99_ns", h.p99},
                     {"max_ns", h.max},
                     {"bins_ns", bins_json(h)}});
  return {
      {"loads", std::move(loads)}, {"lines_at_once_wc", link.overlap}, {"lines_at_once_uc", link.overlap_uc}};
}

json workload_json(const Figures& f) {
  if (!f.no_profiler.empty()) return {{"none", f.no_profiler}};
  json out{{"layout", f.layout}, {"mode", f.mode}, {"cores", f.cores}, {"control_at", f.control_at}};
  if (const auto& log = f.log)
    out["watched"] = {{"polls", log->polls},
                      {"pushes", log->pushes},
                      {"launches", log->launches},
                      {"results_reads", log->resets},
                      {"polls_after_deadline", log->missed_deadlines},
                      {"landing_p50_ns", log->landing_p50_ns},
                      {"landing_max_ns", log->landing_max_ns},
                      {"logs_found", log->logs_found},
                      {"logs_elsewhere", log->logs_elsewhere}};
  if (const auto& c = f.collected)
    out["collected"] = {{"seconds", c->seconds},          {"programs", c->programs},
                        {"markers", c->markers},          {"intervals_of_loss", c->intervals_of_loss},
                        {"words_lost", c->words_lost},    {"missed_poll_deadlines", c->missed_poll_deadlines},
                        {"sweep_p99_ns", c->sweep_p99_ns}};
  else
    out["not_collected"] = f.not_collected;
  return out;
}

json or_null(const std::string& text) {
  return text.empty() ? json() : json(text);
}

}  // namespace

std::string to_text(const Result& result) {
  const Figures& f = result.figures;
  std::string text = "ttcollect selftest " + std::string(program::version()) + "\n";
  text += line("%s, %s, board %s; driver %s, firmware %s; %.1f s", f.device_kind.c_str(), f.arch.c_str(),
               f.board.empty() ? "unknown" : f.board.c_str(),
               f.driver_version.empty() ? "none" : f.driver_version.c_str(),
               f.firmware.empty() ? "unknown" : f.firmware.c_str(), f.seconds);
  text +=
      "Only read: no power vote, no store. Claims about silicon are unverified until such texts come in.\n";
  if (!f.refused.empty()) text += f.refused + "\n";
  for (const std::string& remark : f.remarks) text += remark + "\n";
  text += line(
      "%zu Tensix and %zu Ethernet tiles, %zu fused off, %zu memory banks; %llu round trips, %llu re-aims",
      f.tensix, f.ethernet, f.harvested, f.banks, static_cast<unsigned long long>(f.transactions.round_trips),
      static_cast<unsigned long long>(f.transactions.window_moves));
  text += "\nAssumptions\n";
  for (const Line& l : result.lines) {
    const Assumption& a = assumption(l.id);
    text += line("  %-13s %-7s %s", std::string(to_string(l.verdict)).c_str(),
                 std::string(to_string(a.layer)).c_str(), std::string(a.name).c_str());
    text += "                " + std::string(a.sentence) +
            (a.constant.empty() ? "" : " (" + a.constant + ")") + "\n";
    text += "                " + l.evidence + "\n";
    if (!a.hidden.empty())
      text += "                cannot be seen from outside: " + std::string(a.hidden) + "\n";
  }
  if (!f.refused.empty()) return text + host_text(f.host);
  return text + link_text(f.link) + clock_text(f.clock) + power_text(f) + workload_text(f) +
         host_text(f.host);
}

std::string to_json(const Result& result) {
  const Figures& f = result.figures;
  json lines = json::array();
  for (const Line& l : result.lines)
    lines.push_back({{"name", assumption(l.id).name},
                     {"layer", to_string(assumption(l.id).layer)},
                     {"assumed", assumption(l.id).sentence},
                     {"constant", or_null(assumption(l.id).constant)},
                     {"verdict", to_string(l.verdict)},
                     {"evidence", l.evidence},
                     {"hidden", or_null(std::string(assumption(l.id).hidden))}});
  json out{{"version", program::version()},
           {"verified_on_silicon", false},
           {"kind", f.device_kind},
           {"arch", or_null(f.arch)},
           {"board", or_null(f.board)},
           {"driver", or_null(f.driver_version)},
           {"firmware", or_null(f.firmware)},
           {"seconds", f.seconds},
           {"contradicted", any_contradicted(result.lines)},
           {"assumptions", std::move(lines)},
           {"tiles",
            {{"tensix", f.tensix}, {"ethernet", f.ethernet}, {"fused_off", f.harvested}, {"banks", f.banks}}},
           {"round_trips", f.transactions.round_trips},
           {"link", link_json(f.link)},
           {"clock",
            {{"reads", f.clock.reads},
             {"tiles", f.clock.tiles},
             {"least_hz", f.clock.hz_least},
             {"most_hz", f.clock.hz_most},
             {"steps", f.clock.steps},
             {"stops", f.clock.stops},
             {"falls", f.clock.falls},
             {"resets", f.clock.resets},
             {"bracket_p50_ns", f.clock.bracket_p50_ns}}},
           {"vanished", f.vanished},
           {"workload", workload_json(f)},
           {"host",
            {{"cpus", f.host.cpus},
             {"seconds", f.host.seconds},
             {"gaps_over_10us", f.host.gaps_over_10us},
             {"gaps_over_100us", f.host.gaps_over_100us},
             {"gaps_over_deadline", f.host.gaps_over_deadline},
             {"longest_gap_ns", f.host.longest_gap_ns},
             {"preempted", f.host.preempted},
             {"waited", f.host.waited},
             {"steal_percent", f.host.steal_percent ? json(*f.host.steal_percent) : json()}}}};
  return program::json_text(out);
}

}  // namespace ttc::collect::selftest
