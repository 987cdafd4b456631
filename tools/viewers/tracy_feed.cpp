#include "tools/viewers/tracy_feed.hpp"

#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <optional>
#include <set>
#include <system_error>

#include "tools/pipeline/log_frames.hpp"
#include "tools/tracy/listener.hpp"
#include "tools/viewers/earliest.hpp"
#include "tools/viewers/tracy_timeline.hpp"
#include "ttcollect/capture_reader.hpp"

namespace ttc::tools {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr uint32_t kOf66 = 66;
constexpr const char* kSaidOf66 =
    "protocol 66 is stock Tracy 0.11.0's and that of Tenstorrent's Tracy until August 2025: the server is "
    "served as "
    "stock, which neither crashes on; for Tenstorrent's --tracy-66 fork gives device contexts";
constexpr uint64_t kBeforeFirstNs = 100'000'000;  // of the trace, before the earliest marker that was found
constexpr uint64_t kScannedMarkers = 2'000'000;   // while looking for it
constexpr milliseconds kKeepAliveEvery{5000};
constexpr milliseconds kLastRest{10'000};  // for a server to send its last questions, or to take what is left
constexpr milliseconds kQuietAfter{500};   // without a chunk: what waits for later events is shown
constexpr milliseconds kMayBeIdle{2000};   // a live source, before its server gets a message of that
constexpr unsigned kChunksALook = 64;      // between two polls of questions and at the reader's losses

uint64_t raw_now_ns() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC_RAW, &t);
  return static_cast<uint64_t>(t.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(t.tv_nsec);
}

// Not there, or without the whole of its header: a writer makes the file and then writes the header.
bool not_begun(const std::string& capture) {
  std::error_code error;
  if (std::filesystem::is_directory(capture, error)) return false;
  const uintmax_t bytes = std::filesystem::file_size(capture, error);
  return error || bytes < collect::kCaptureHeadBytes;
}

// When the trace may begin. None: nothing was found, and what comes may have any time.
std::optional<uint64_t> beginning_of(const TracyFeed& o, bool waited) {
  if (o.growing && std::any_of(o.from.begin(), o.from.end(), not_begun)) return std::nullopt;
  const Earliest earliest = earliest_in(o.from, 0, o.filter, o.metal_date, kScannedMarkers, true);
  if (earliest.ns && (earliest.settled || waited)) return earliest.ns;
  if (waited && earliest.host_time) return raw_now_ns();  // what comes is younger
  return std::nullopt;
}

tracy::Welcome welcome_of(uint64_t init_begin_ns) {
  tracy::Welcome w;
  w.init_begin_ns = init_begin_ns;
  w.unix_s = static_cast<uint64_t>(time(nullptr));
  w.program = "ttcollect";
  char host[256] = "";
  gethostname(host, sizeof host - 1);
  w.host = std::string("Tenstorrent devices of ") + host;
  return w;
}

// One server, from its welcome to its end.
class Served {
 public:
  Served(const TracyFeed& o, const volatile std::sig_atomic_t& stop, tracy::Arrival arrival,
         tracy::Listener& listener)
      : options_(o),
        stop_(stop),
        dialect_(*arrival.dialect),
        connection_(std::move(arrival.socket), listener) {}

  // Why it ended, as a sentence.
  std::string run() {
    if (!welcome()) return connection_.closed() ? connection_.why_closed() : "there was nothing to show yet";
    feed();
    if (connection_.closed()) return connection_.why_closed();
    if (!client().complaint().empty()) return "the server " + client().complaint();
    return finish();
  }
  uint64_t markers() const { return markers_; }
  // Valid after run().
  bool sent_all() const { return sent_all_; }
  const std::vector<std::string>& complaints() const { return complaints_; }

 private:
  tracy::Client& client() { return tracy_->client(); }
  bool over() { return connection_.closed() || client().finished() || client().wants_end(); }

  // False: the server has gone, or there is nothing and it is time to stop.
  bool welcome() {
    std::optional<uint64_t> earliest;
    const auto began = Clock::now();
    for (;;) {
      const bool last = stop_ != 0;
      earliest = beginning_of(options_, last || Clock::now() - began > kMayBeIdle);
      if (earliest) break;
      if (last) return false;
      constexpr int kLookAgainMs = 100;
      connection_.receive(kLookAgainMs);
      if (connection_.closed()) return false;
    }
    const uint64_t init_begin_ns = *earliest > kBeforeFirstNs ? *earliest - kBeforeFirstNs : 1;
    auto writer =
        std::make_unique<TracyTimeline>(dialect_, connection_, init_begin_ns, options_.device_contexts);
    tracy_ = writer.get();
    timeline_ = std::make_unique<Timeline>(std::move(writer));
    if (options_.add_names) options_.add_names(options_.from, timeline_->op_names(), name_remarks_);
    connection_.raw(tracy::welcome_bytes(dialect_, welcome_of(init_begin_ns)));
    connection_.receive_for(client());
    return true;
  }

  void feed() {
    const NamedSources named = sorted_sources(options_.from);
    std::unique_ptr<Source> source = std::make_unique<NoSource>();
    if (!named.others.empty())
      source = open_source(named.others, true, 0, {}, nullptr, options_.from_now, options_.growing);
    Pipeline pipeline(options_.filter, false, options_.metal_date, HostClock::raw, source->loss_cause());
    std::vector<uint64_t> chunk;
    unsigned chunks = 0;
    while (!over()) {
      const Source::Next next = source->next(chunk);
      fed_ = next == Source::Next::end || (next == Source::Next::idle && stop_);
      if (fed_) break;
      if (source->lost_beginning()) pipeline.lost_beginning();
      if (next == Source::Next::chunk) {
        pipeline.push(chunk, *timeline_);
        if (++chunks % kChunksALook) continue;
      }
      serve_idle(*source, next == Source::Next::idle);
    }
    if (source->broke_off()) pipeline.broke_off();
    if (!connection_.closed()) pipeline.finish(*timeline_);
    LogFrames frames(options_.filter);
    if (fed_ && !connection_.closed()) frames.play_beside(pipeline, true, named.logs, *timeline_);
    timeline_->end();
    for (const std::string& note : frames.remarks()) tracy_->message(note);
    for (const std::string& note : timeline_->remarks()) tracy_->message(note);
    report_losses(*source);
    for (const std::string& note : source->remarks()) tracy_->message(note);
    markers_ = pipeline.markers() + frames.markers();
    for (const std::string& note : name_remarks_) tracy_->message(note);
    complaints_ = source->complaints();
    if (frames.damaged())
      for (const std::string& note : frames.remarks()) complaints_.push_back(note);
  }

  void serve_idle(const Source& source, bool idle) {
    report_losses(source);
    client().answer();
    if (!idle) last_chunk_ = Clock::now();
    if (idle) {
      const auto now = Clock::now();
      if (now - last_chunk_ > kQuietAfter) timeline_->quiet();
      if (now - kept_alive_ > kKeepAliveEvery) {
        client().stream().keep_alive();
        kept_alive_ = now;
      }
      client().stream().flush();
    }
    connection_.receive(0);
    client().answer();
  }

  // Each sentence of the reader's once; what counts something is sent again as it counts on.
  void report_losses(const Source& source) {
    for (const std::string& complaint : source.complaints())
      if (reported_.insert(complaint).second) tracy_->message(complaint);
  }

  // The server ends a connection, after its last question.
  std::string finish() {
    client().stream().terminate();
    client().stream().flush();
    for (const auto until = Clock::now() + kLastRest; !client().finished();) {
      if (connection_.closed()) return connection_.why_closed();
      if (Clock::now() > until) return "the server did not let go in time; the connection was closed";
      constexpr int kWaitMs = 100;
      connection_.receive(kWaitMs);
      client().answer();
      client().stream().flush();
    }
    sent_all_ = client().complaint().empty() && fed_;
    return !client().complaint().empty() ? "the server " + client().complaint()
           : fed_                        ? "everything was sent"
                                         : "the server ended it before everything was sent";
  }

  const TracyFeed& options_;
  const volatile std::sig_atomic_t& stop_;
  const tracy::Dialect& dialect_;
  tracy::Connection connection_;
  std::unique_ptr<Timeline> timeline_;
  TracyTimeline* tracy_ = nullptr;
  std::set<std::string> reported_;
  Clock::time_point kept_alive_ = Clock::now(), last_chunk_ = Clock::now();
  uint64_t markers_ = 0;
  bool fed_ = false;  // the source has nothing more, or it is time to stop and all there is was taken
  bool sent_all_ = false;
  std::vector<std::string> complaints_, name_remarks_;
};

}  // namespace

FeedEnd feed_tracy(const TracyFeed& o, const volatile std::sig_atomic_t& stop,
                   void (*say)(const std::string& sentence)) {
  tracy::Listener listener(o.listen, o.fork_66);
  say("Tracy servers may connect to " + listener.address());
  if (o.announce_protocol)
    listener.announce(*tracy::dialect_for(o.announce_protocol, o.fork_66), "ttcollect");
  constexpr int kLookAtStopMs = 500;
  while (!stop) {
    std::optional<tracy::Arrival> arrival = listener.poll(kLookAtStopMs, false);
    for (const std::string& sentence : listener.reported()) say(sentence);
    if (!arrival) continue;
    const tracy::Dialect& dialect = *arrival->dialect;
    if (dialect.protocol == kOf66 && !o.fork_66) say(kSaidOf66);
    Served served(o, stop, std::move(*arrival), listener);
    const std::string why = served.run();
    say(std::string(dialect.servers) + " (protocol " + std::to_string(dialect.protocol) +
        "): " + std::to_string(served.markers()) + " markers sent; " + why);
    for (const std::string& sentence : served.complaints()) say(sentence);
    if (o.once)
      return !served.sent_all()            ? FeedEnd::cut
             : served.complaints().empty() ? FeedEnd::whole
                                           : FeedEnd::source_lacks;
  }
  if (!o.once) return FeedEnd::whole;
  say("stopped by a signal before a server came");
  return FeedEnd::cut;
}

}  // namespace ttc::tools
