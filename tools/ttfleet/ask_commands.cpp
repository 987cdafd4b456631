#include <fcntl.h>
#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "collector/program/json_text.hpp"
#include "collector/program/printable.hpp"
#include "tools/ttfleet/commands.hpp"
#include "tools/ttfleet/known_ranks.hpp"
#include "ttcollect/host_time.hpp"

namespace ttc::fleet {
namespace {

using Exit = program::FleetExit;

int report(int code, const std::string& sentence) {
  return program::say(kTtfleet, code, sentence);
}

// Why no agent answered, if the server reports it.
std::string no_answer(const Bus& bus, const Identity& who) {
  const std::string complaint = bus.complaint();
  return "no agent of job " + who.job + " in cluster " + who.cluster + " answers" +
         (complaint.empty() ? "; `ttcollect --publish` or `ttfleet agent` starts one" : ": " + complaint);
}

std::string clock_text(const AgentState& s) {
  if (s.clock_bound_ns == ~uint64_t{0}) return "unknown";
  char text[40];
  std::snprintf(text, sizeof text, "%.3f us", static_cast<double>(s.clock_bound_ns) / 1e3);
  return text;
}

void print_table(const std::vector<AgentState>& states) {
  std::printf("%-32s %6s %-11s %12s %12s %10s %10s  %s\n", "rank", "alive", "clock bound", "rows", "stored",
              "lost", "spool KiB", "remarks");
  for (const AgentState& s : states)
    std::printf(
        "%-32s %6s %-11s %12llu %12llu %10llu %10llu  %s\n", s.who.name().c_str(),
        s.collecting ? "yes" : "ends", clock_text(s).c_str(), static_cast<unsigned long long>(s.rows_made),
        static_cast<unsigned long long>(s.rows_stored), static_cast<unsigned long long>(s.rows_dropped),
        static_cast<unsigned long long>(s.spool_bytes >> 10), program::printable(s.complaint).c_str());
}

void print_json(const std::vector<AgentState>& states) {
  nlohmann::json all = nlohmann::json::array();
  for (const AgentState& s : states) all.push_back(program::json_value(to_text(s)));
  std::printf("%s\n", program::json_text(nlohmann::json{{"ranks", all}}).c_str());
}

// The answers of ranks to one command; with --json, into `list`. `rule`: what the command was about; empty: no rule.
int report_answers(const std::vector<Answer>& answers, const std::string& rule, const Options& o,
                   nlohmann::json& list) {
  bool all = true;
  for (const Answer& a : answers) {
    all = all && a.ok;
    if (o.json) {
      list.push_back(program::json_value(to_text(a)));
      if (!rule.empty()) list.back()["rule"] = rule;
      continue;
    }
    std::printf("%s: %s%s%s\n", a.who.name().c_str(),
                rule.empty() ? "" : (program::printable(rule) + " ").c_str(), a.ok ? "ok" : "refused",
                a.text.empty() ? "" : (" " + program::printable_lines(a.text)).c_str());
  }
  return all ? Exit::kOk : Exit::kIncomplete;
}

}  // namespace

std::string commander() {
  std::array<char, 256> host{};
  gethostname(host.data(), host.size() - 1);
  const passwd* user = getpwuid(geteuid());
  return (user ? std::string(user->pw_name) : std::to_string(geteuid())) + "@" + host.data();
}

// A command is given also where its log takes no line.
void log_command(const std::string& line) {
  const std::string directory = state_directory();
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  gmtime_r(&now, &utc);
  char date[32];
  std::strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%SZ ", &utc);
  const std::string whole = date + program::printable(line) + "\n";
  const int fd = open((directory + "/commands.log").c_str(),
                      O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0640);
  if (fd < 0 || write(fd, whole.data(), whole.size()) != static_cast<ssize_t>(whole.size()))
    report(Exit::kOk, "the command is in no log of this side: " + directory + " takes no line");
  if (fd >= 0) close(fd);
}

std::vector<AgentState> ask_states(Bus& bus, const Options& o, const Identity& who) {
  std::vector<AgentState> states;
  Command ls;
  ls.by = commander();
  bus.ask_all(
      job_subject(who.cluster, who.job), to_text(ls), o.timeout_ns,
      [&](const Message& m) {
        std::string wrong;
        if (auto state = parse_state(m.data, wrong))
          states.push_back(std::move(*state));
        else
          report(Exit::kOk, "an answer makes no sense: " + wrong);
      },
      [] { return false; });
  std::sort(states.begin(), states.end(), [](const AgentState& a, const AgentState& b) {
    return std::tie(a.who.rank, a.who.host) < std::tie(b.who.rank, b.who.host);
  });
  return states;
}

std::vector<Answer> ask_answers(Bus& bus, const Identity& who, const Command& command,
                                const EnoughAnswers& enough, uint64_t timeout_ns) {
  std::vector<Answer> answers;
  bus.ask_all(
      job_subject(who.cluster, who.job), to_text(command), timeout_ns,
      [&](const Message& m) {
        std::string wrong;
        if (auto answer = parse_answer(m.data, wrong))
          answers.push_back(std::move(*answer));
        else
          report(Exit::kOk, "an answer makes no sense: " + wrong);
      },
      [&] { return enough(answers); });
  std::sort(answers.begin(), answers.end(), [](const Answer& a, const Answer& b) {
    return std::tie(a.who.rank, a.who.host) < std::tie(b.who.rank, b.who.host);
  });
  return answers;
}

EnoughAnswers so_many(size_t ranks) {
  return [ranks](const std::vector<Answer>& answers) { return answers.size() >= ranks; };
}

int ls_command(const Options& o) {
  Bus bus(o.bus);
  const Identity who = identity_of(o);
  const auto states = ask_states(bus, o, who);
  if (states.empty()) return report(Exit::kIncomplete, no_answer(bus, who));
  o.json ? print_json(states) : print_table(states);
  return Exit::kOk;
}

int watch_command(const Options& o, const volatile std::sig_atomic_t& stop) {
  Bus bus(o.bus);
  const Identity who = identity_of(o);
  bus.subscribe(fired_subject(who.cluster, who.job), [](const Message& m) {
    std::printf("fired: %s\n", program::printable(m.data).c_str());
    std::fflush(stdout);
  });
  const uint64_t until = o.for_ns ? collect::monotonic_now_ns() + o.for_ns : ~uint64_t{0};
  std::set<std::string> seen;
  while (!stop && collect::monotonic_now_ns() < until) {
    Options asked = o;
    asked.timeout_ns = std::min(o.every_ns, until - std::min(until, collect::monotonic_now_ns()));
    const auto states = ask_states(bus, asked, who);
    std::set<std::string> now;
    for (const AgentState& s : states) now.insert(s.who.name());
    for (const std::string& name : seen)
      if (!now.contains(name)) std::printf("gone: %s\n", name.c_str());
    seen = std::move(now);
    o.json ? print_json(states) : print_table(states);
    std::fflush(stdout);
  }
  bus.close();
  return Exit::kOk;
}

int trigger_command(const Options& o) {
  Bus bus(o.bus);
  const Identity who = identity_of(o);
  const auto states = ask_states(bus, o, who);
  if (states.empty()) return report(Exit::kIncomplete, no_answer(bus, who));
  StoredRanks stored = ranks_in_stream(bus, who);
  if (!stored.unreadable.empty()) report(Exit::kOk, silent_are_unknown(stored.unreadable));
  std::set<std::string> ranks = std::move(stored.names);
  for (const AgentState& s : states) ranks.insert(s.who.name());
  int code = Exit::kOk;
  nlohmann::json list = nlohmann::json::array();
  const auto give = [&](CommandKind kind, const std::string& rule) {
    Command command;
    command.kind = kind, command.by = commander(), command.rule = rule;
    if (kind != CommandKind::triggers) log_command(who.job + ": " + to_text(command));
    const auto answers = ask_answers(bus, who, command, so_many(ranks.size()), o.timeout_ns);
    code = std::max(code, report_answers(answers, rule, o, list));
    if (const auto silent = without_answer(ranks, answers); !silent.empty())
      code = report(Exit::kIncomplete, std::to_string(silent.size()) + " of " + std::to_string(ranks.size()) +
                                           " ranks did not answer in time: " + names_of(silent));
  };
  for (const std::string& rule : o.arm) give(CommandKind::arm, rule);
  for (const std::string& rule : o.disarm) give(CommandKind::disarm, rule);
  if (o.arm.empty() && o.disarm.empty()) give(CommandKind::triggers, {});
  if (o.json) std::printf("%s\n", program::json_text(nlohmann::json{{"ranks", list}}).c_str());
  return code;
}

}  // namespace ttc::fleet
