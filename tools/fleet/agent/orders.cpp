#include "tools/fleet/agent/orders.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <utility>

#include "collector/program/printable.hpp"
#include "ttcollect/host_time.hpp"

namespace ttc::fleet {
namespace {

constexpr uint64_t kSoonNs = 200'000'000;  // between a trigger and the instant that is cut at
constexpr uint64_t kTriggeredLastNs = 10'000'000'000;
constexpr uint64_t kMostLogBytes = 4 << 20;
constexpr size_t kClockPoints = 64;  // of a dump

std::string date() {
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  gmtime_r(&now, &utc);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &utc);
  return text;
}

}  // namespace

Orders::Orders(Bus& bus, const ClockKeeper& clock, Place place, std::function<AgentState()> state,
               Triggers::NameOf name_of)
    : bus_(bus),
      clock_(clock),
      place_(std::move(place)),
      state_(std::move(state)),
      dumps_(place_.directory + "/dumps", place_.live_names),
      triggers_(Triggers::kMinuteNs, std::move(name_of)) {
  const Identity& who = place_.who;
  bus.subscribe(job_subject(who.cluster, who.job), [this](const Message& m) { take(m); });
  bus.subscribe(command_subject(who), [this](const Message& m) { take(m); });
  bus.subscribe(progress_subject(who.cluster, who.job), [this](const Message& m) {
    const auto progress = parse_progress(m.data);
    if (!progress) return;
    std::optional<std::string> why;
    {
      const std::lock_guard lock(rules_mutex_);
      why = triggers_.progress(*progress, place_.who.rank);
    }
    if (why) fired(*why);
  });
  thread_ = std::thread([this] { run(); });  // last: nothing behind it throws
}

Orders::~Orders() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void Orders::log(const std::string& line) const {
  const std::string whole = date() + " " + program::printable(line) + "\n";
  if (!place_.quiet) std::fputs(("ttfleet agent: " + whole).c_str(), stderr);
  const std::string path = place_.directory + "/commands.log";
  const int fd = open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0640);
  if (fd < 0) return;
  if (lseek(fd, 0, SEEK_END) > static_cast<off_t>(kMostLogBytes))
    std::rename(path.c_str(), (path + ".1").c_str());
  if (write(fd, whole.data(), whole.size()) != static_cast<ssize_t>(whole.size()))
    std::fputs("ttfleet agent: commands.log takes no line\n", stderr);
  close(fd);
}

void Orders::take(const Message& message) {
  const std::lock_guard lock(mutex_);
  if (waiting_.size() >= kMostWaiting) return;  // the client gets no answer and reports that
  waiting_.push_back(message);
  changed_.notify_all();
}

void Orders::run() {
  for (;;) {
    Message message;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return stop_ || !waiting_.empty(); });
      if (stop_) return;
      message = std::move(waiting_.front());
      waiting_.pop_front();
    }
    obey(message);
  }
}

void Orders::obey(const Message& message) {
  std::string wrong;
  const auto command = parse_command(message.data, wrong);
  if (!command) {
    log("a command was refused: " + wrong);
    Answer answer;
    answer.who = place_.who, answer.text = "the command was refused: " + wrong;
    if (!message.reply.empty()) bus_.publish(message.reply, to_text(answer));
    return;
  }
  if (command->kind == CommandKind::fetch) {  // thousands of them; the first is logged
    if (command->offset == 0) log(command->by + ": fetch " + command->id);
    if (!message.reply.empty())
      bus_.publish(message.reply, dumps_.piece(command->id, command->offset, command->length));
    return;
  }
  if (command->kind != CommandKind::ls) log(command->by + ": " + message.data);
  const std::string answer = answer_to(*command);
  if (!message.reply.empty()) bus_.publish(message.reply, answer);
}

std::string Orders::answer_to(const Command& c) {
  Answer answer;
  answer.who = place_.who, answer.ok = true;
  switch (c.kind) {
    case CommandKind::ls: {
      AgentState state = state_();
      state.op_names.clear();  // of use where rows are read; the stream has them
      return to_text(state);
    }
    case CommandKind::dump: {
      const auto at = clock_.raw_at(c.at_common_ns);
      if (!at) {
        answer.ok = false;
        answer.text = "this host's clock is not related to the common one yet (rank 0 answers for it)";
        break;
      }
      answer.bound_ns = clock_.now().bound_ns;
      answer.late_ns =
          static_cast<int64_t>(collect::raw_now_ns() - *at);  // below 0: the command came in time
      dumps_.cut(c.id, *at, c.last_ns, answer);
      answer.clock = clock_.during(*at - std::min(*at, c.last_ns), *at, kClockPoints);
      if (answer.ok) dumps_.describe(answer);
      log("dump " + c.id + ": " + (answer.ok ? std::to_string(answer.bytes) + " bytes" : answer.text));
      break;
    }
    case CommandKind::dumps:
      answer.text = dumps_.list();
      break;
    case CommandKind::describe:
      if (auto known = dumps_.described(c.id)) return to_text(*known);
      answer.ok = false;
      answer.text = "it holds no such dump";
      break;
    case CommandKind::arm: {
      const std::lock_guard lock(rules_mutex_);
      answer.text = triggers_.arm(c.rule);
      answer.ok = answer.text.empty();
      break;
    }
    case CommandKind::disarm: {
      const std::lock_guard lock(rules_mutex_);
      answer.ok = triggers_.disarm(c.rule);
      if (!answer.ok) answer.text = "no such rule is armed";
      break;
    }
    case CommandKind::triggers: {
      for (const std::string& text : armed()) answer.text += text + "\n";
      break;
    }
    case CommandKind::fetch:
      break;  // answered before
  }
  return to_text(answer);
}

std::vector<std::string> Orders::armed() const {
  const std::lock_guard lock(rules_mutex_);
  return triggers_.armed();
}

void Orders::op(const OpRow& row) {
  ++ops_;
  last_end_ns_ = row.begin_ns + row.duration_ns;
  std::optional<std::string> why;
  {
    const std::lock_guard lock(rules_mutex_);
    why = triggers_.op(row);
  }
  if (why) fired(*why);
}

void Orders::send_progress() {
  const ClockOffset offset = clock_.now();
  const auto end = static_cast<int64_t>(last_end_ns_) + offset.offset_ns;
  if (!offset.known() || end <= 0 || ops_ == 0) return;
  bus_.publish(progress_subject(place_.who.cluster, place_.who.job),
               encode_progress({place_.who.rank, ops_, static_cast<uint64_t>(end), offset.reference}));
}

// Every rank receives the command, this one included.
void Orders::fired(const std::string& why) {
  const uint64_t now = collect::raw_now_ns();
  {
    const std::lock_guard lock(rules_mutex_);
    if (last_fired_ns_ && now < last_fired_ns_ + kHoldOffNs) return;
    last_fired_ns_ = now;
  }
  const ClockOffset offset = clock_.now();
  const std::string said = place_.who.name() + ": " + why;
  bus_.publish(fired_subject(place_.who.cluster, place_.who.job), said);
  log("fired: " + why);
  if (!offset.known()) return;
  Command dump;
  dump.kind = CommandKind::dump;
  dump.by = place_.who.name();
  dump.why = why;
  dump.id =
      "t" + std::to_string(static_cast<uint64_t>(std::time(nullptr))) + "-" + std::to_string(place_.who.rank);
  dump.at_common_ns = static_cast<uint64_t>(static_cast<int64_t>(now + kSoonNs) + offset.offset_ns);
  dump.last_ns = kTriggeredLastNs;
  bus_.publish(job_subject(place_.who.cluster, place_.who.job), to_text(dump));
}

}  // namespace ttc::fleet
