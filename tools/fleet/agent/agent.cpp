#include "tools/fleet/agent/agent.hpp"

#include <xxhash.h>

#include <algorithm>
#include <ctime>
#include <memory>
#include <mutex>
#include <optional>

#include "shm/segment.hpp"
#include "tools/fleet/agent/clock_keeper.hpp"
#include "tools/fleet/agent/host_segments.hpp"
#include "tools/fleet/agent/orders.hpp"
#include "tools/fleet/agent/publisher.hpp"
#include "tools/fleet/agent/sender.hpp"
#include "tools/fleet/rows/row_maker.hpp"
#include "tools/reader/table_reader.hpp"
#include "ttcollect/host_time.hpp"

namespace ttc::fleet {
namespace {

constexpr uint64_t kBatchNs = 1'000'000'000;
constexpr uint64_t kStateNs = 5'000'000'000;
constexpr uint32_t kLookMs = 100;
constexpr uint64_t kLastWordsNs = 10'000'000'000;
constexpr uint64_t kStateAckNs = 2'000'000'000;
constexpr const char* kLive = "live:";

std::vector<std::string> live_names(const std::vector<std::string>& from) {
  std::vector<std::string> names;
  for (const std::string& one : from)
    if (one.starts_with(kLive)) names.push_back(one.substr(std::string_view(kLive).size()));
  return names;
}

// The session of the first ring; for captures it is made of their names, so that the same capture is stored once.
uint64_t session_of(const std::vector<std::string>& from) {
  const std::vector<std::string> names = live_names(from);
  if (!names.empty())
    for (const shm::SegmentInfo& s : shm::list_segments())
      if (s.live_name == names.front()) return s.session;
  return XXH64(from.front().data(), from.front().size(), 0);
}

ttcollect_options reader_options(bool from_now, unsigned wait_ms) {
  ttcollect_options options{};
  options.struct_bytes = sizeof options;
  options.tables = TTCOLLECT_OPS;
  options.follow = 1, options.host_times = 1, options.from_now = from_now;
  options.wait_ms = wait_ms;
  options.batch_rows = 1 << 14;
  return options;
}

class Agent {
 public:
  explicit Agent(const AgentOptions& o)
      : o_(o),
        directory_(o.spool + "/" + o.who.prefix()),
        spool_(directory_, o.spool_bytes),
        session_(session_of(o.from)),
        goes_on_(!live_names(o.from).empty() && spool_.earlier().session == session_),
        options_(reader_options(goes_on_, o.wait_ms)),
        reader_(tools::open_source(o.from, true, o.wait_ms, {}, nullptr, goes_on_), options_, {}, {}, true),
        publisher_(spool_, session_, next_epoch()),
        bus_(o.bus),
        clock_(bus_, publisher_, o.who),
        sender_(bus_, spool_, publisher_, o.who, o.stream,
                [this] {
                  if (collecting_) report_state();
                }),
        host_segments_(live_names(o.from), host_),
        rows_(host_),
        orders_(
            bus_, clock_, {o.who, directory_, live_names(o.from), o.quiet}, [this] { return state(); },
            [this](uint64_t op) { return host_.codes().name_of(op); }) {
    if (goes_on_) lost_between();
  }
  ~Agent() {
    sender_.stop();  // its thread calls state()
    bus_.close();
  }
  Agent(const Agent&) = delete;
  Agent& operator=(const Agent&) = delete;

  AgentResult run(const volatile std::sig_atomic_t& stop) {
    collecting_ = true;
    for (;;) {
      const int status = reader_.next(kLookMs);
      if (stop) stop_when_read(status);
      if (status == TTCOLLECT_LAPPED) lapped();
      host_segments_.read();
      rows_.take(reader_.tables(), publisher_, [this](const OpRow& row) { orders_.op(row); });
      last_read_ns_ = collect::raw_now_ns();
      every_second();
      if (status == TTCOLLECT_END || status == TTCOLLECT_INCOMPLETE) break;
    }
    collecting_ = false;
    return end();
  }

 private:
  // Rows that are in the rings already are published, too, unless they come faster than they are read.
  void stop_when_read(int status) {
    const uint64_t now = collect::monotonic_now_ns();
    if (!stop_until_ns_) stop_until_ns_ = now + kLastWordsNs;
    if (status == TTCOLLECT_IDLE || now > stop_until_ns_) reader_.stop();
  }

  // Later than any before, also where the note of the one before is lost.
  uint32_t next_epoch() const {
    const auto now = static_cast<uint32_t>(std::time(nullptr));
    return std::max(now, spool_.earlier().epoch + 1);
  }

  // Rows that an earlier agent of this run had read and not spooled, and those that passed meanwhile.
  void lost_between() {
    LossRow row;
    row.from_ns = spool_.earlier().to_ns, row.to_ns = collect::raw_now_ns();
    row.cause = static_cast<uint8_t>(BusLoss::agent_stopped);
    row.precision = 2, row.of_kind = static_cast<uint8_t>(RowKind::ops);
    publisher_.add(row);
  }

  void lapped() {
    const uint64_t missed = reader_.account().missed_bytes;
    LossRow row;
    row.id = missed;
    row.from_ns = last_read_ns_, row.to_ns = collect::raw_now_ns();
    row.cause = static_cast<uint8_t>(BusLoss::agent_lapped);
    row.count = (missed - missed_bytes_) / sizeof(uint64_t);
    row.of_kind = static_cast<uint8_t>(RowKind::ops);
    missed_bytes_ = missed;
    publisher_.add(row);
  }

  void every_second() {
    const uint64_t now = collect::monotonic_now_ns();
    if (now < next_batch_ns_) return;
    next_batch_ns_ = now + kBatchNs;
    host_segments_.find();
    note_op_names();
    if (now >= next_state_ns_) {
      next_state_ns_ = now + kStateNs;
      report_state();
    }
    publisher_.flush();
    sender_.wake();
    orders_.send_progress();
  }

  // The latest state is complete, so a state that is not stored is not sent again. The first one of a connection precedes its rows in the
  // stream: a rank that has rows there is known to commands, even if it is stopped at once.
  void report_state() { bus_.publish(rows_subject(o_.who, "state"), to_text(state())); }

  // The dictionary belongs to the reader's thread; states are requested on others.
  void note_op_names() {
    std::vector<std::string> lines = host_.codes().lines();
    const std::lock_guard lock(names_mutex_);
    op_names_.swap(lines);
  }

  AgentState state() const {
    AgentState s;
    s.who = o_.who;
    s.session = session_, s.epoch = publisher_.epoch();
    s.raw_ns = collect::raw_now_ns(), s.utc_ns = collect::host_clock_ns(CLOCK_REALTIME);
    s.devices = o_.from;
    s.collecting = collecting_;
    const ClockOffset offset = clock_.now();
    s.reference = offset.reference, s.clock_bound_ns = offset.bound_ns, s.clock_offset_ns = offset.offset_ns;
    s.clock_how = name_of(offset.how);
    s.rows_made = publisher_.made(), s.rows_stored = sender_.rows_stored(),
    s.rows_dropped = sender_.rows_dropped();
    s.spool_bytes = spool_.bytes(), s.spool_limit = spool_.limit();
    s.triggers = orders_.armed();
    {
      const std::lock_guard lock(names_mutex_);
      s.op_names = op_names_;
    }
    s.complaint = !spool_.complaint().empty() ? spool_.complaint() : sender_.complaint();
    return s;
  }

  AgentResult end() {
    clock_.stop();
    publisher_.flush();
    AgentResult r;
    r.all_stored = sender_.finish(o_.linger_ns);
    report_state();
    r.made = publisher_.made(), r.stored = sender_.rows_stored(), r.dropped = sender_.rows_dropped();
    if (!r.all_stored) r.complaint = sender_.complaint();
    r.remarks = reader_.remarks();
    return r;
  }

  const AgentOptions& o_;
  const std::string directory_;
  Spool spool_;
  const uint64_t session_;
  const bool goes_on_;  // an agent of the same run was here before
  const ttcollect_options options_;
  tools::TableReader reader_;
  Publisher publisher_;
  std::atomic<bool> collecting_{false};  // true only while all members exist
  Bus bus_;
  ClockKeeper clock_;
  Sender sender_;
  HostSide host_;
  HostSegments host_segments_;
  RowMaker rows_;
  mutable std::mutex names_mutex_;
  std::vector<std::string> op_names_;  // with names_mutex_
  Orders orders_;
  uint64_t next_batch_ns_ = 0, next_state_ns_ = 0, stop_until_ns_ = 0, missed_bytes_ = 0;
  uint64_t last_read_ns_ = collect::raw_now_ns();
};

}  // namespace

AgentResult run_agent(const AgentOptions& options, const volatile std::sig_atomic_t& stop) {
  return Agent(options).run(stop);
}

}  // namespace ttc::fleet
