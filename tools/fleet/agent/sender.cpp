#include "tools/fleet/agent/sender.hpp"

#include <algorithm>
#include <chrono>
#include <exception>
#include <utility>

namespace ttc::fleet {
namespace {

constexpr uint64_t kAckNs = 3'000'000'000;
constexpr uint64_t kLookAgainNs = 100'000'000;       // while the bus is away
constexpr uint64_t kLongestPauseNs = 5'000'000'000;  // while it refuses

size_t index_of(RowKind kind) {
  return static_cast<size_t>(kind) - 1;
}

}  // namespace

Sender::Sender(Bus& bus, Spool& spool, Publisher& publisher, const Identity& who, const StreamLimits& limits,
               std::function<void()> prepared)
    : bus_(bus),
      spool_(spool),
      publisher_(publisher),
      who_(who),
      limits_(limits),
      prepared_(std::move(prepared)),
      thread_([this] { run(); }) {}

Sender::~Sender() {
  stop();
}

void Sender::stop() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void Sender::wake() {
  {
    const std::lock_guard lock(mutex_);
    woken_ = true;
  }
  changed_.notify_all();
}

bool Sender::finish(uint64_t linger_ns) {
  std::unique_lock lock(mutex_);
  finishing_ = true;
  changed_.notify_all();
  changed_.wait_for(lock, std::chrono::nanoseconds(linger_ns), [&] { return stop_; });
  stop_ = true;
  lock.unlock();
  changed_.notify_all();
  thread_.join();
  // The next agent gets dropped positions from rows in the spool.
  account_for_drops();
  publisher_.flush();
  return spool_.batches() == 0;
}

std::string Sender::complaint() const {
  const std::lock_guard lock(mutex_);
  return complaint_;
}

void Sender::complain(const std::string& why) {
  const std::lock_guard lock(mutex_);
  complaint_ = why;
}

void Sender::rest(uint64_t ns) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, std::chrono::nanoseconds(ns), [&] { return stop_ || woken_; });
  woken_ = false;
}

// A publish whose answer did not come may have been stored: the last message of each subject in the stream shows whether it was. A
// stream's window of message ids alone would end after minutes.
bool Sender::prepare() {
  const uint64_t connection = bus_.connections();
  if (connection == prepared_for_) return true;
  const std::string stream = stream_of(who_.cluster);
  if (const std::string why = bus_.ensure_stream(stream, "tt." + who_.cluster + ".>", limits_);
      !why.empty()) {
    complain(why);
    return false;
  }
  for (const RowKind kind : kRowKinds) {
    const auto id = bus_.last_id(stream, rows_subject(who_, name_of(kind)));
    if (!id) {
      complain("what stream " + stream + " holds is not known: " + bus_.complaint());
      return false;
    }
    last_[index_of(kind)] = parse_batch_name(id->substr(id->find(':') + 1));
  }
  prepared_for_ = connection;
  prepared_();
  return true;
}

// Ids are unique in a stream, not in a subject.
std::string Sender::id_of(const BatchName& name) const {
  return who_.prefix() + ":" + text_of(name);
}

bool Sender::is_stored(const BatchName& name) const {
  const auto& last = last_[index_of(name.kind)];
  return last && last->session == name.session && last->epoch == name.epoch &&
         last->position >= name.position;
}

void Sender::account_for_drops() {
  for (const DroppedRows& d : spool_.take_drops()) {
    LossRow row;
    row.id = d.first.position, row.position = d.first.position;
    row.from_ns = d.from_ns, row.to_ns = d.to_ns, row.count = d.rows;
    row.cause = static_cast<uint8_t>(BusLoss::spool_full);
    row.precision = 3;
    row.of_kind = static_cast<uint8_t>(d.first.kind);
    row.session = d.first.session, row.epoch = d.first.epoch;
    dropped_ += d.rows;
    publisher_.add(row);
  }
}

bool Sender::send_one() {
  const auto taken = spool_.take();
  if (!taken) return false;
  const BatchName& name = taken->entry.name;
  if (is_stored(name)) {
    stored_ += taken->entry.rows;
    spool_.done();
    return true;
  }
  const Bus::Outcome outcome =
      bus_.store(rows_subject(who_, name_of(name.kind)), id_of(name), taken->batch, kAckNs);
  if (outcome.what == Bus::Stored::stored || outcome.what == Bus::Stored::again) {
    last_[index_of(name.kind)] = name;
    stored_ += taken->entry.rows;
    spool_.done();
    pause_ns_ = 0;
    complain({});
    return true;
  }
  spool_.put_back();
  prepared_for_ = 0;
  if (!outcome.why.empty()) complain(outcome.why);
  pause_ns_ = std::clamp(2 * pause_ns_, kLookAgainNs, kLongestPauseNs);
  return false;
}

void Sender::run() {
  constexpr uint64_t kIdleNs = 1'000'000'000;
  for (;;) {
    {
      const std::lock_guard lock(mutex_);
      if (stop_) return;
    }
    try {
      bus_.revive();
      if (!bus_.connected() || !prepare()) {
        if (!bus_.connected())
          complain("the bus is away" + (bus_.complaint().empty() ? "" : ": " + bus_.complaint()));
        rest(kLookAgainNs);
        continue;
      }
      account_for_drops();
      if (send_one()) continue;
    } catch (const BusError& e) {
      complain(e.what());
      pause_ns_ = kLookAgainNs;
    }
    if (pause_ns_ == 0) {
      std::unique_lock lock(mutex_);
      // Rows on what made way are rows, too.
      if (finishing_ && !publisher_.flush() && spool_.batches() == 0) {
        stop_ = true;
        lock.unlock();
        changed_.notify_all();
        return;
      }
      lock.unlock();
      rest(kIdleNs);
    } else {
      rest(pause_ns_);
    }
  }
}

}  // namespace ttc::fleet
