#include "collector/run/host_sentences.hpp"

#include <cstdio>

namespace ttc::collect {

std::string sentence_of(const MarkLoss& loss) {
  char took[32];
  constexpr double kNsPerMs = 1e6;
  std::snprintf(took, sizeof took, "%.3f", static_cast<double>(loss.last_ns - loss.first_ns) / kNsPerMs);
  return "host side: process " + std::to_string(loss.pid) + " lost " + std::to_string(loss.count) +
         " marks within " + took +
         " ms, because they came faster than they were taken; steps, --steps and --range may lack them, and "
         "the "
         "zone 'ttcollect: marks lost' has the time";
}

std::vector<std::string> sentences_of(const HostClientResult& r, bool all) {
  std::vector<std::string> sentences;
  const std::string who = "process " + std::to_string(r.client.pid) +
                          (r.program.empty() ? "" : " (" + r.program + ")") + " on port " +
                          std::to_string(r.client.port);
  if (!r.sentence.empty())
    sentences.push_back(who + " " + r.sentence);
  else if (all)
    sentences.push_back(who + ", protocol " + std::to_string(r.protocol) + ", " + std::to_string(r.events) +
                        " events");
  if (r.callstacks_refused)
    sentences.push_back(who + " sent " + std::to_string(r.callstacks_refused) +
                        " callstacks, which are not recorded");
  if (r.names_refused)
    sentences.push_back(who + " used " + std::to_string(r.names_refused) +
                        " times a name beyond the million that is kept; what it names has none");
  return sentences;
}

std::string no_context_switches(const std::vector<HostClientResult>& results) {
  bool any_client = false;
  for (const HostClientResult& r : results) {
    if (r.context_switches) return {};
    any_client = any_client || r.events;
  }
  return any_client ? "host side: no context switches came; Tracy's clients record them where the process is "
                      "root, or "
                      "perf_event_paranoid is -1 and tracefs can be read, and where they are built with it"
                    : "";
}

}  // namespace ttc::collect
