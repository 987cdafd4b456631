#include "tools/ttfleet/known_ranks.hpp"

#include <utility>

#include "collector/program/printable.hpp"
#include "ttcollect/host_time.hpp"

namespace ttc::fleet {
namespace {

constexpr uint64_t kRecentNs = 15'000'000'000;

}  // namespace

StoredRanks ranks_in_stream(Bus& bus, const Identity& job) {
  std::set<std::string> ranks;
  const uint64_t since = collect::before(collect::host_clock_ns(CLOCK_REALTIME), kRecentNs);
  try {
    bus.read_stream(stream_of(job.cluster), "tt." + job.cluster + "." + job.job + ".*.*.state", since,
                    [&](const Message& m) {
                      std::string wrong;
                      const auto state = parse_state(m.data, wrong);
                      if (!state) return true;  // a message of something else; `ttfleet report` counts those
                      if (state->collecting)
                        ranks.insert(state->who.name());
                      else
                        ranks.erase(state->who.name());
                      return true;
                    });
  } catch (const BusError& e) {
    return {{}, e.what()};
  }
  return {std::move(ranks), {}};
}

std::string silent_are_unknown(const std::string& unreadable) {
  return "the states of ranks cannot be read (" + program::printable(unreadable) +
         "), so that a rank that does not answer is not named; the account needs permission for the stream's "
         "consumers";
}

std::set<std::string> without_answer(std::set<std::string> ranks, const std::vector<Answer>& answers) {
  for (const Answer& a : answers) ranks.erase(a.who.name());
  return ranks;
}

std::string names_of(const std::set<std::string>& ranks) {
  std::string text;
  for (const std::string& name : ranks) text += (text.empty() ? "" : ", ") + program::printable(name);
  return text;
}

}  // namespace ttc::fleet
