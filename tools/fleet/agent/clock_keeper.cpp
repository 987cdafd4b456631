#include "tools/fleet/agent/clock_keeper.hpp"

#include <algorithm>
#include <chrono>

#include "ttcollect/host_time.hpp"

namespace ttc::fleet {
namespace {

constexpr uint64_t kEveryNs = 1'000'000'000;
constexpr uint64_t kAtFirstNs = 50'000'000;
constexpr int kAtFirst = 8;
constexpr uint64_t kAnswerNs = 1'000'000'000;

}  // namespace

bool ask_common_time(Bus& bus, const std::string& subject, uint64_t own_number, const Discipline& own,
                     CommonClock& clock) {
  const uint64_t left = collect::raw_now_ns();
  const auto answer = bus.request(subject, "TTFQ", kAnswerNs);
  const uint64_t came = collect::raw_now_ns();
  if (!answer) return false;
  const auto parsed = parse_clock(answer->data);
  if (!parsed) return false;
  if (parsed->reference == own_number) {
    clock.is_reference(own_number);
    return true;
  }
  return clock.round_trip(left, *parsed, came, own);
}

ClockKeeper::ClockKeeper(Bus& bus, Publisher& publisher, const Identity& who)
    : bus_(bus), publisher_(publisher), who_(who), number_(clock_number()) {
  if (who.rank == 0) {
    clock_.is_reference(number_);
    bus.subscribe(clock_subject(who.cluster, who.job), [this](const Message& question) {
      const uint64_t received = collect::raw_now_ns();
      if (question.reply.empty()) return;
      const Discipline own = discipline_.now();
      bus_.publish(question.reply, encode_clock({number_, received, collect::raw_now_ns(), own.scale,
                                                 own.scale_minus_raw_ns, own.bound_ns}));
    });
  }
  thread_ = std::thread([this] { run(); });
}

ClockKeeper::~ClockKeeper() {
  stop();
}

void ClockKeeper::stop() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

ClockOffset ClockKeeper::now() const {
  const std::lock_guard lock(mutex_);
  return clock_.at(collect::raw_now_ns());
}

// The offset at the instant that the offset of now makes of it: in the time between, it moves by parts of a million of that time.
std::optional<uint64_t> ClockKeeper::raw_at(uint64_t common_ns) const {
  const auto less = [&](const ClockOffset& offset) -> std::optional<uint64_t> {
    const auto raw = static_cast<int64_t>(common_ns) - offset.offset_ns;
    return offset.known() && raw > 0 ? std::optional(static_cast<uint64_t>(raw)) : std::nullopt;
  };
  const auto about = less(now());
  if (!about) return std::nullopt;
  const std::lock_guard lock(mutex_);
  return less(clock_.at(*about));
}

tools::RankClock ClockKeeper::during(uint64_t from, uint64_t to, size_t most) const {
  const std::lock_guard lock(mutex_);
  tools::RankClock found;
  const ClockOffset last = clock_.at(to);
  if (!last.known()) return found;
  found.reference = last.reference;
  if (last.how == ClockSource::same_host) {
    found.points.be_exact();
    return found;
  }
  std::vector<tools::ClockPoint> between;
  if (history_of_ == last.reference)
    for (const tools::ClockPoint& p : history_.all())
      if (p.raw_ns > from && p.raw_ns < to) between.push_back(p);
  // Within a minute the lines bound a past instant more narrowly than its own points did.
  const ClockOffset first = clock_.at(from);
  tools::ClockPoint begin{from, first.offset_ns, first.bound_ns};
  if (history_of_ == last.reference && history_.at(from).bound_ns < begin.bound_ns) begin = history_.at(from);
  found.points.add(begin);
  const size_t step = between.size() / std::max<size_t>(most, 3) + 1;
  for (size_t i = 0; i < between.size(); i += step) found.points.add(between[i]);
  found.points.add({to, last.offset_ns, last.bound_ns});
  return found;
}

// The lock is not held while the answer is waited for.
void ClockKeeper::ask() {
  CommonClock copy;
  {
    const std::lock_guard lock(mutex_);
    copy = clock_;
  }
  if (!ask_common_time(bus_, clock_subject(who_.cluster, who_.job), number_, discipline_.now(), copy)) return;
  const std::lock_guard lock(mutex_);
  clock_ = std::move(copy);
}

void ClockKeeper::publish_offset() {
  ClockRow row;
  row.raw_ns = collect::raw_now_ns();
  {
    const std::lock_guard lock(mutex_);
    const ClockOffset offset = clock_.at(row.raw_ns);
    if (!offset.known()) return;
    row.offset_ns = offset.offset_ns, row.bound_ns = offset.bound_ns;
    row.reference = offset.reference, row.how = static_cast<uint8_t>(offset.how);
    if (offset.reference != history_of_) history_.clear();
    history_of_ = offset.reference;
    history_.add({row.raw_ns, row.offset_ns, row.bound_ns});
  }
  publisher_.add(row);
}

void ClockKeeper::run() {
  for (int asked = 0;; ++asked) {
    discipline_.refresh();
    if (who_.rank != 0) ask();
    if (asked == 0 || asked >= kAtFirst) publish_offset();
    std::unique_lock lock(mutex_);
    const auto pause = std::chrono::nanoseconds(asked < kAtFirst ? kAtFirstNs : kEveryNs);
    if (changed_.wait_for(lock, pause, [&] { return stop_; })) return;
  }
}

}  // namespace ttc::fleet
