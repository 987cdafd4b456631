#include "tools/fleet/agent/clock_keeper.hpp"

#include <chrono>

#include "tools/fleet/clock/kernel_clock.hpp"
#include "ttcollect/host_time.hpp"

namespace ttc::fleet {
namespace {

constexpr uint64_t kEveryNs = 1'000'000'000;
constexpr uint64_t kAtFirstNs = 50'000'000;
constexpr int kAtFirst = 8;
constexpr uint64_t kAnswerNs = 1'000'000'000;

}  // namespace

bool ask_common_time(Bus& bus, const std::string& subject, uint64_t own_boot, CommonClock& clock) {
  const uint64_t left = collect::raw_now_ns();
  const auto answer = bus.request(subject, "TTFQ", kAnswerNs);
  const uint64_t came = collect::raw_now_ns();
  if (!answer) return false;
  const auto parsed = parse_clock(answer->data);
  if (!parsed) return false;
  if (parsed->reference == own_boot) {
    clock.is_reference(own_boot);
    return true;
  }
  return clock.round_trip(left, *parsed, came, read_kernel_clock());
}

ClockKeeper::ClockKeeper(Bus& bus, Publisher& publisher, const Identity& who)
    : bus_(bus), publisher_(publisher), who_(who), boot_(boot_number()) {
  if (who.rank == 0) {
    clock_.is_reference(boot_);
    bus.subscribe(clock_subject(who.cluster, who.job), [this](const Message& question) {
      const uint64_t received = collect::raw_now_ns();
      if (question.reply.empty()) return;
      const KernelClock own = read_kernel_clock();
      bus_.publish(question.reply, encode_clock({boot_, received, collect::raw_now_ns(), own.utc_minus_raw_ns,
                                                 own.bound_ns}));
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

std::optional<uint64_t> ClockKeeper::raw_at(uint64_t common_ns) const {
  const ClockOffset offset = now();
  const auto raw = static_cast<int64_t>(common_ns) - offset.offset_ns;
  return offset.known() && raw > 0 ? std::optional(static_cast<uint64_t>(raw)) : std::nullopt;
}

// The lock is not held while the answer is waited for.
void ClockKeeper::ask() {
  CommonClock copy;
  {
    const std::lock_guard lock(mutex_);
    copy = clock_;
  }
  if (!ask_common_time(bus_, clock_subject(who_.cluster, who_.job), boot_, copy)) return;
  const std::lock_guard lock(mutex_);
  clock_ = std::move(copy);
}

void ClockKeeper::run() {
  for (int asked = 0;; ++asked) {
    if (who_.rank != 0) ask();
    const uint64_t raw = collect::raw_now_ns();
    const ClockOffset offset = now();
    if (offset.known() && (asked == 0 || asked >= kAtFirst)) {
      ClockRow row;
      row.raw_ns = raw, row.offset_ns = offset.offset_ns, row.bound_ns = offset.bound_ns;
      row.reference = offset.reference, row.how = static_cast<uint8_t>(offset.how);
      publisher_.add(row);
    }
    std::unique_lock lock(mutex_);
    const auto pause = std::chrono::nanoseconds(asked < kAtFirst ? kAtFirstNs : kEveryNs);
    if (changed_.wait_for(lock, pause, [&] { return stop_; })) return;
  }
}

}  // namespace ttc::fleet
