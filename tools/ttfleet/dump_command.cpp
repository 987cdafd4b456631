// Captures of every rank, cut at one instant, and fetched piece by piece: each piece answers one request, so that no more is in
// flight than was requested.
#include <fcntl.h>
#include <unistd.h>
#include <xxhash.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <future>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "collector/program/json_text.hpp"
#include "collector/program/pending_file.hpp"
#include "collector/program/printable.hpp"
#include "tools/fleet/agent/clock_keeper.hpp"
#include "tools/fleet/clock/host_clock.hpp"
#include "tools/output/output.hpp"
#include "tools/ranks/rank_clock_json.hpp"
#include "tools/ranks/rank_files.hpp"
#include "tools/ttfleet/commands.hpp"
#include "tools/ttfleet/known_ranks.hpp"
#include "ttcollect/host_time.hpp"

namespace ttc::fleet {
namespace {

using Exit = program::FleetExit;
using tools::OutputError;

constexpr uint64_t kPieceNs = 10'000'000'000;
constexpr int kTries = 3;
constexpr int kClockTries = 3;
constexpr uint64_t kCutNs = 30'000'000'000;    // for writing what was cut
constexpr uint64_t kSilentNs = 5'000'000'000;  // for a rank of the stream alone

int say(int code, const std::string& sentence) {
  return program::say(kTtfleet, code, sentence);
}

class ProgressLine {
 public:
  ProgressLine(std::string name, uint64_t whole)
      : name_(std::move(name)), whole_(whole), shown_(isatty(STDERR_FILENO)) {}
  ~ProgressLine() {
    if (shown_) std::fputs("\r\033[K", stderr);
  }
  void step(uint64_t bytes) const {
    if (!shown_ || whole_ == 0) return;
    std::fprintf(stderr, "\r%s: %.1f of %.1f MB (%.0f %%)", name_.c_str(), static_cast<double>(bytes) / 1e6,
                 static_cast<double>(whole_) / 1e6,
                 100.0 * static_cast<double>(bytes) / static_cast<double>(whole_));
    std::fflush(stderr);
  }

 private:
  const std::string name_;
  const uint64_t whole_;
  const bool shown_;
};

std::optional<Message> ask_piece(Bus& bus, const Identity& who, const Command& fetch) {
  for (int i = 0; i < kTries; ++i)
    if (auto piece = bus.request(command_subject(who), to_text(fetch), kPieceNs)) return piece;
  return std::nullopt;
}

// Whole or not at all. Empty, or why not. `digest` 0: it is not known.
std::string fetch_one(Bus& bus, const Identity& who, const std::string& id, uint64_t digest,
                      const std::string& path, uint64_t& bytes, const volatile std::sig_atomic_t& stop) {
  program::PendingFile file(path);
  if (file.error()) throw OutputError(path + " cannot be written: " + std::strerror(file.error()));
  const std::unique_ptr<XXH64_state_t, decltype(&XXH64_freeState)> state(XXH64_createState(),
                                                                         &XXH64_freeState);
  XXH64_reset(state.get(), 0);
  Command fetch;
  fetch.kind = CommandKind::fetch, fetch.by = commander(), fetch.id = id;
  fetch.length = kMostChunkBytes;
  uint64_t whole = 0;
  do {
    if (stop) return "stopped by a signal";
    const auto piece = ask_piece(bus, who, fetch);
    if (!piece) return "no answer" + (bus.complaint().empty() ? std::string() : ": " + bus.complaint());
    const auto chunk = parse_chunk(piece->data);
    if (!chunk || chunk->offset != fetch.offset || (fetch.offset && chunk->whole != whole) ||
        (chunk->bytes.empty() && chunk->whole != fetch.offset))
      return piece->data.empty() ? "it holds no such dump" : "its answer makes no sense";
    whole = chunk->whole;
    if (write(file.fd(), chunk->bytes.data(), chunk->bytes.size()) !=
        static_cast<ssize_t>(chunk->bytes.size()))
      throw OutputError(path + " cannot be written: " + std::strerror(errno));
    XXH64_update(state.get(), chunk->bytes.data(), chunk->bytes.size());
    fetch.offset += chunk->bytes.size();
    ProgressLine(who.name(), whole).step(fetch.offset);
  } while (fetch.offset < whole);
  if (digest && XXH64_digest(state.get()) != digest) return "what came is not what was cut";
  if (const int error = file.written() ? file.written() : file.put_in_place())
    throw OutputError(path + " cannot be written: " + std::strerror(error));
  bytes = whole;
  return {};
}

// How clocks of the captures' hosts relate, for programs that read the directory.
void write_clocks(const std::vector<Answer>& answers, const std::string& directory) {
  nlohmann::json all = nlohmann::json::object();
  for (const Answer& a : answers)
    if (a.ok) all[a.who.name() + ".ttc"] = tools::json_of(a.clock);
  tools::Output out(directory + "/" + tools::kClocksFile, false);
  out.append(program::json_text(all, 1) + "\n");
  out.commit();
}

struct Gathered {
  Identity who;
  std::string path, error;
  uint64_t bytes = 0, took_ns = 0;
};

std::vector<Gathered> gather(Bus& bus, const std::vector<Answer>& answers, const std::string& id,
                             const std::string& directory, const volatile std::sig_atomic_t& stop) {
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  if (error) throw OutputError(directory + " cannot be made: " + error.message());
  std::vector<Gathered> all;
  for (const Answer& a : answers) {
    if (!a.ok) continue;
    Gathered g{a.who, directory + "/" + a.who.name() + ".ttc", {}, 0, 0};
    const uint64_t began = collect::monotonic_now_ns();
    g.error = fetch_one(bus, a.who, id, a.digest, g.path, g.bytes, stop);
    g.took_ns = collect::monotonic_now_ns() - began;
    all.push_back(std::move(g));
  }
  return all;
}

int report_gathered(const std::vector<Gathered>& all, const Options& o) {
  int code = Exit::kOk;
  for (const Gathered& g : all) {
    if (!g.error.empty()) {
      code = say(Exit::kIncomplete, g.who.name() + ": not fetched: " + g.error);
      continue;
    }
    if (!o.json)
      std::printf("%s: %.2f MB in %.2f s\n", program::printable(g.path).c_str(),
                  static_cast<double>(g.bytes) / 1e6, static_cast<double>(g.took_ns) / 1e9);
  }
  return code;
}

// The common time now, by one round trip: its error moves the instant of the cut, and the ranks' distance from it not at all.
std::optional<uint64_t> common_now(Bus& bus, const Identity& who) {
  CommonClock clock;
  const uint64_t own = clock_number();
  for (int i = 0; i < kClockTries && !clock.at(collect::raw_now_ns()).known(); ++i)
    if (!ask_common_time(bus, clock_subject(who.cluster, who.job), own, {}, clock)) break;
  const uint64_t raw = collect::raw_now_ns();
  const ClockOffset offset = clock.at(raw);
  if (!offset.known()) return std::nullopt;
  return static_cast<uint64_t>(static_cast<int64_t>(raw) + offset.offset_ns);
}

nlohmann::json json_of(const std::vector<Answer>& answers, const std::vector<Gathered>& gathered) {
  nlohmann::json list = nlohmann::json::array();
  for (const Answer& a : answers) {
    nlohmann::json one = program::json_value(to_text(a));
    for (const Gathered& g : gathered)
      if (g.who == a.who) one["file"] = g.path, one["error"] = g.error, one["fetch_ns"] = g.took_ns;
    list.push_back(one);
  }
  return list;
}

struct Cut {
  std::vector<Answer> answers;
  std::set<std::string> silent;  // ranks of the job that did not answer, by name
  std::string unreadable;        // why silent ranks may be unknown
  uint64_t last_ns = 0;          // CLOCK_MONOTONIC when the last one answered
};

// The command is sent at once. The ranks of the job are found beside it: those that answer a request for their state, and those that the
// stream has a recent state of. A rank of the stream alone may have been killed since: it is waited for kSilentNs only.
Cut cut_all(Bus& bus, const Options& o, const Identity& who, const Command& dump) {
  auto roll_call = std::async(std::launch::async, [&] {
    std::set<std::string> names;
    for (const AgentState& s : ask_states(bus, o, who)) names.insert(s.who.name());
    return names;
  });
  auto stored = std::async(std::launch::async, [&] { return ranks_in_stream(bus, who); });
  const uint64_t silent_until = collect::monotonic_now_ns() + o.ahead_ns + std::max(o.timeout_ns, kSilentNs);
  std::optional<std::set<std::string>> present;
  std::optional<StoredRanks> recent;
  const auto arrived = [](auto& future) {
    return future.valid() && future.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
  };
  Cut cut;
  size_t seen = 0;
  cut.answers = ask_answers(
      bus, who, dump,
      [&](const std::vector<Answer>& so_far) {
        const uint64_t now = collect::monotonic_now_ns();
        if (so_far.size() > std::exchange(seen, so_far.size())) cut.last_ns = now;
        if (arrived(roll_call)) present = roll_call.get();
        if (arrived(stored)) recent = stored.get();
        return present && recent && without_answer(*present, so_far).empty() &&
               (now >= silent_until || without_answer(recent->names, so_far).empty());
      },
      o.ahead_ns + kCutNs);
  if (!present) present = roll_call.get();
  if (!recent) recent = stored.get();
  recent->names.merge(*present);
  cut.silent = without_answer(std::move(recent->names), cut.answers);
  cut.unreadable = std::move(recent->unreadable);
  return cut;
}

// Why nothing answers.
int nothing_answers(const Bus& bus, const Identity& who) {
  return say(Exit::kIncomplete, "no agent of job " + who.job + " answers" +
                                    (bus.complaint().empty() ? std::string() : ": " + bus.complaint()));
}

}  // namespace

int dump_command(const Options& o, const volatile std::sig_atomic_t& stop) {
  const uint64_t began = collect::monotonic_now_ns();
  Bus bus(o.bus);
  const Identity who = identity_of(o);
  const auto now = common_now(bus, who);
  if (!now && !bus.complaint().empty()) return nothing_answers(bus, who);
  if (!now)
    return say(Exit::kIncomplete, "no agent of job " + who.job +
                                      " answers for rank 0, so that there is no common instant to cut at; "
                                      "`ttfleet ls` lists the ranks");
  Command dump;
  dump.kind = CommandKind::dump, dump.by = commander(), dump.why = o.why;
  dump.id = "d" + std::to_string(static_cast<uint64_t>(std::time(nullptr))) + "-" + std::to_string(getpid());
  dump.at_common_ns = *now + o.ahead_ns, dump.last_ns = o.last_ns;
  log_command(who.job + ": " + to_text(dump));
  const Cut cut = cut_all(bus, o, who, dump);
  const std::vector<Answer>& answers = cut.answers;
  const size_t ranks = answers.size() + cut.silent.size();
  if (answers.empty()) return nothing_answers(bus, who);
  if (!cut.unreadable.empty()) say(Exit::kOk, silent_are_unknown(cut.unreadable));
  const uint64_t cut_ns = cut.last_ns ? cut.last_ns - began : 0;
  int code = cut.silent.empty()
                 ? Exit::kOk
                 : say(Exit::kIncomplete, std::to_string(cut.silent.size()) + " of " + std::to_string(ranks) +
                                              " ranks did not answer: " + names_of(cut.silent));
  for (const Answer& a : answers)
    if (!a.ok) code = say(Exit::kIncomplete, a.who.name() + ": " + a.text);
  std::vector<Gathered> gathered;
  if (!o.no_gather) {
    const std::string directory = o.output.empty() ? dump.id : o.output;
    gathered = gather(bus, answers, dump.id, directory, stop);
    write_clocks(answers, directory);
    code = std::max(code, report_gathered(gathered, o));
  }
  if (o.json)
    std::printf("%s\n", program::json_text(nlohmann::json{{"id", dump.id},
                                                          {"at_common_ns", dump.at_common_ns},
                                                          {"cut_ns", cut_ns},
                                                          {"silent", cut.silent},
                                                          {"ranks", json_of(answers, gathered)}})
                            .c_str());
  else
    std::printf("dump %s: %zu of %zu ranks, cut %.0f ms after the command\n", dump.id.c_str(), answers.size(),
                ranks, static_cast<double>(cut_ns) / 1e6);
  return code;
}

int gather_command(const Options& o, const volatile std::sig_atomic_t& stop) {
  Bus bus(o.bus);
  const Identity who = identity_of(o);
  const auto states = ask_states(bus, o, who);
  if (states.empty()) return nothing_answers(bus, who);
  if (o.id.empty()) {
    Command list;
    list.kind = CommandKind::dumps, list.by = commander();
    for (const Answer& a : ask_answers(bus, who, list, so_many(states.size()), o.timeout_ns))
      std::printf("%s:\n%s", a.who.name().c_str(), program::printable_lines(a.text).c_str());
    return Exit::kOk;
  }
  if (!is_token(o.id))
    throw program::UsageError("'" + o.id + "' is no dump's id; ttfleet gather without one lists them");
  Command describe;
  describe.kind = CommandKind::describe, describe.by = commander(), describe.id = o.id;
  const auto holders = ask_answers(bus, who, describe, so_many(states.size()), o.timeout_ns);
  log_command(who.job + ": gather " + o.id);
  int code = holders.size() < states.size()
                 ? say(Exit::kIncomplete, std::to_string(states.size() - holders.size()) + " of " +
                                              std::to_string(states.size()) + " ranks did not answer")
                 : Exit::kOk;
  for (const Answer& a : holders)
    if (!a.ok) code = say(Exit::kIncomplete, a.who.name() + ": " + a.text);
  const std::string directory = o.output.empty() ? o.id : o.output;
  const auto gathered = gather(bus, holders, o.id, directory, stop);
  write_clocks(holders, directory);
  code = std::max(code, report_gathered(gathered, o));
  if (o.json)
    std::printf("%s\n", program::json_text(nlohmann::json{{"ranks", json_of(holders, gathered)}}).c_str());
  return code;
}

}  // namespace ttc::fleet
