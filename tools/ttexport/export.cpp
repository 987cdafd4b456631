#include "tools/ttexport/export.hpp"

#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "collector/program/json_text.hpp"
#include "shm/reader.hpp"
#include "tools/feed/format_feed.hpp"
#include "tools/formats/losses_beside.hpp"
#include "tools/metrics/metrics_server.hpp"
#include "tools/pipeline/log_frames.hpp"
#include "tools/report/input/op_names.hpp"
#include "tools/ttexport/profiler_records.hpp"
#include "tools/viewers/earliest.hpp"
#include "tools/viewers/timeline.hpp"
#include "ttcollect/redact.hpp"

namespace ttc::tools {
namespace {

volatile std::sig_atomic_t stop = 0;

// The first one ends the export in order, a second one at once.
void stop_on_signals() {
  struct sigaction action {};
  action.sa_handler = [](int) { stop = 1; };
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction now {};
    sigaction(number, nullptr, &now);
    if (now.sa_handler != SIG_IGN) sigaction(number, &action, nullptr);  // nohup stays nohup
  }
}

int say(int code, const std::string& sentence) {
  return program::say(kTtexport, code, sentence);
}

void report_anomalies(const Pipeline& pipeline) {
  const markers::Anomalies a = pipeline.anomalies();
  const nlohmann::ordered_json j{
      {"unparsable_words", a.unparsable_words},   {"resyncs", a.resyncs},
      {"damaged_sentinels", a.damaged_sentinels}, {"overrun_frames", a.overrun_frames},
      {"truncated_packets", a.truncated_packets}, {"unknown_packets", a.unknown_packets},
      {"stale_markers", a.stale_markers},         {"duplicate_markers", a.duplicate_markers},
      {"repaired_times", a.repaired_times},       {"backward_times", a.backward_times},
      {"unnamed_ids", pipeline.unnamed_ids()},    {"ambiguous_ids", pipeline.ambiguous_ids()}};
  std::fprintf(stderr, "%s\n", program::json_text(j).c_str());
}

// A bar on a terminal, for work that takes long.
class ProgressBar {
 public:
  explicit ProgressBar(const Source& source) : source_(source), wanted_(isatty(STDERR_FILENO)) {}
  ~ProgressBar() {
    if (shown_) std::fputs("\r\033[K", stderr);
  }
  void step() {
    if (!wanted_ || ++steps_ % 64 != 0) return;
    const auto now = Clock::now();
    if (now - last_ < std::chrono::milliseconds(200)) return;
    last_ = now;
    const auto done = source_.progress();
    if (!done) return;
    constexpr int kWidth = 40;
    const int filled = static_cast<int>(*done * kWidth);
    std::fprintf(stderr, "\r[%.*s%*s] %3.0f %%", filled, "########################################",
                 kWidth - filled, "", *done * 100);
    std::fflush(stderr);
    shown_ = true;
  }

 private:
  using Clock = std::chrono::steady_clock;
  const Source& source_;
  const bool wanted_;
  bool shown_ = false;
  uint64_t steps_ = 0;
  Clock::time_point last_ = Clock::now();
};

// The cause of chunks that are missing. None where chunks of a capture are left out on purpose: then only
// records count.
std::optional<shm::LossCause> missing_cause(const Source& source, bool everything) {
  const bool live = source.loss_cause() == shm::LossCause::reader_lapped;
  return everything || live ? std::optional(source.loss_cause()) : std::nullopt;
}

const FormatEntry& entry_of(const ExportOptions& o) {
  return *std::find_if(formats().begin(), formats().end(),
                       [&](const FormatEntry& e) { return o.format == e.name; });
}

// No marker is left out by where or when it was.
bool takes_everything(const ExportOptions& o, const Filter& filter) {
  return o.between.empty() && filter.cycles_from == 0 && filter.cycles_to == ~uint64_t{0} &&
         filter.cores.empty() && !filter.chip;
}

class Export {
 public:
  // `logs`: of the workload, for chips that `source` does not have. `workers`, null: one thread; they outlive this.
  Export(const ExportOptions& o, std::unique_ptr<Source> source, std::vector<std::string> logs,
         jobs::Workers* workers)
      : o_(o),
        logs_(std::move(logs)),
        filter_(filter_of(o)),
        everything_(takes_everything(o, filter_)),
        source_(std::move(source)),
        workers_(workers),
        out_(o.output, o.follow, o.gzip, workers),
        format_(entry_of(o).make(out_, format_options())),
        pipeline_(filter_, o.keep_duplicates, o.format_options.metal_date, host_clock(),
                  missing_cause(*source_, everything_)),
        frames_(filter_),
        feed_(pipeline_, *format_) {
    if (workers_) start_threads();
  }

  int run() {
    add_profiler_records();
    name_programs();
    copy();
    feed_.finish(*source_);
    frames_.play_beside(pipeline_, host_clock().has_value(), logs_, *format_);
    format_->end();
    commit();
    report();
    return verdict();
  }

 private:
  // What other formats write is made of records of theirs (viewers/frame_texts.hpp), or is little.
  void start_threads() {
    if (!format_->lanes_are_apart() || host_clock()) return pipeline_.decode_ahead(*workers_);
    feed_.by_batches(
        *workers_,
        [this] {
          return std::make_unique<Pipeline>(filter_, o_.keep_duplicates, o_.format_options.metal_date);
        },
        [this](Output& rows) { return entry_of(o_).make(rows, format_options()); }, out_);
  }

  void push(shm::KeptChunk& chunk) {
    if (o_.redact)
      if (const std::span<const uint64_t> words = redactor_.redacted(chunk.words);
          words.data() != chunk.words.data()) {
        chunk.own.assign(words.begin(), words.end());
        chunk.words = chunk.own;
        chunk.memory.reset();
      }
    feed_.push(*source_, chunk);
  }

  // Nothing that was pushed is on its way to the output any more.
  void settle() {
    feed_.settle();
    if (auto* timeline = dynamic_cast<Timeline*>(format_.get())) timeline->settle();
  }

  std::optional<HostClock> host_clock() const {
    const bool wanted = entry_of(o_).timeline || o_.format_options.host_times;
    return wanted ? host_clock_by_name(o_.host_clock) : std::nullopt;
  }

  FormatOptions format_options() const {
    FormatOptions options = o_.format_options;
    if (entry_of(o_).one_window) find_window(*parse_window(o_.window), o_.from, o_.wait_ms, filter_, options);
    return options;
  }

  void add_profiler_records() {
    auto* timeline = dynamic_cast<Timeline*>(format_.get());
    if (timeline && !o_.profilers.empty()) timeline->add_records(read_profiler_records(o_.profilers));
  }

  void name_programs() {
    if (auto* timeline = dynamic_cast<Timeline*>(format_.get()); timeline && !o_.redact)
      report::add_op_names(o_.from, timeline->op_names(), name_remarks_);
  }

  void copy() {
    ProgressBar bar(*source_);
    for (shm::KeptChunk chunk;;) {
      bar.step();
      if (stop && !o_.follow)
        throw OutputError("output " + o_.output + " is not written: stopped by a signal");
      if (stop) return;
      const Source::Next next = source_->next_kept(chunk);
      if (next == Source::Next::end) return;
      if (next == Source::Next::idle) {
        settle();
        out_.flush();  // idle: a follower of the file gets all that is there
        continue;
      }
      push(chunk);
    }
  }

  void commit() {
    const auto losses = pipeline_.losses();
    if (const std::string path = commit_with_losses(out_, o_.output, *format_, losses); !path.empty())
      say(ExportExit::kOk,
          std::to_string(losses.size()) + " intervals in which markers may be missing are in " + path);
  }

  void report() const {
    for (const std::string& c : source_->complaints()) say(ExportExit::kOk, c);
    for (const std::string& r : source_->remarks()) say(ExportExit::kOk, r);
    for (const std::string& n : pipeline_.notices()) say(ExportExit::kOk, n);
    if (!pipeline_.complaint().empty()) say(ExportExit::kOk, pipeline_.complaint());
    for (const std::string& n : format_->remarks()) say(ExportExit::kOk, n);
    for (const std::string& n : name_remarks_) say(ExportExit::kOk, n);
    for (const std::string& n : frames_.remarks()) say(ExportExit::kOk, n);
    if (pipeline_.markers() + frames_.markers() == 0 && is_filtered(o_, everything_))
      say(ExportExit::kOk, nothing_passes(o_));
    if (const size_t reported = pipeline_.loss_view().reported_count())
      say(ExportExit::kOk,
          std::to_string(reported) + " intervals of lost markers are reported in this source");
    if (const size_t ambiguous = pipeline_.ambiguous_ids())
      say(ExportExit::kOk, std::to_string(ambiguous) +
                               " zone ids belong to more than one zone; the first name known is shown");
    if (const uint64_t before = pipeline_.loss_view().chunks_before(); before && !source_->lost_beginning())
      say(ExportExit::kOk, "this source begins " + std::to_string(before) +
                               " chunks after its run did; what was collected before is not in it");
    const bool live = source_->loss_cause() == shm::LossCause::reader_lapped;
    if (pipeline_.loss_view().without_end() && !live && !source_->broke_off())
      say(ExportExit::kOk,
          "this source ends before its run did (a snapshot, a file of a row, a disk that was full); what was "
          "collected later is not in it");
    if (o_.anomalies) report_anomalies(pipeline_);
  }

  int verdict() const {
    // What a capture lacks is in its account of losses.
    if (source_->loss_cause() == shm::LossCause::reader_lapped) {
      const collect::LossView& view = pipeline_.loss_view();
      if (view.missing_chunks())
        return say(ExportExit::kReaderLost, std::to_string(view.missing_chunks()) + " chunks with at least " +
                                                std::to_string(view.missing_words()) +
                                                " words were missed while reading");
      if (const uint64_t bytes = source_->missed_bytes())
        return say(ExportExit::kReaderLost,
                   std::to_string(bytes) + " bytes of chunks were missed, and none came behind them");
      if (view.chunks_before() && source_->lost_beginning()) return ExportExit::kReaderLost;
    }
    const bool whole = source_->complaints().empty() && pipeline_.complaint().empty() && !frames_.damaged();
    return whole ? ExportExit::kOk : ExportExit::kSourceDamaged;
  }

  const ExportOptions& o_;
  const std::vector<std::string> logs_;
  const Filter filter_;
  const bool everything_;
  const std::unique_ptr<Source> source_;
  jobs::Workers* const workers_;  // null: one thread
  Output out_;
  collect::Redactor redactor_;
  std::vector<std::string> name_remarks_;  // on files with names of ops
  const std::unique_ptr<Format> format_;
  Pipeline pipeline_;  // its threads' jobs use the format
  LogFrames frames_;
  FormatFeed feed_;  // last: its threads' jobs end before all that they use
};

// False: the parent has ended already.
bool tie_to_parent(const ExportOptions& o) {
  if (!o.end_with_parent) return true;
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  return getppid() == o.end_with_parent;
}

}  // namespace

bool is_filtered(const ExportOptions& o, bool everything) {
  const Filter filter = filter_of(o);
  return !everything || !filter.zones.empty() || !filter.riscs.empty() || !filter.host_ids.empty();
}

std::string nothing_passes(const ExportOptions& o) {
  return "no marker passes the filters; without them `ttexport --from " + o.from.front() +
         "` shows what cores, times and zones there are";
}

int run_export(const ExportOptions& o) {
  // While it waits for its source, nothing is open that a signal could leave half-written.
  NamedSources named = sorted_sources(o.from);
  std::optional<jobs::Workers> threads;
  if (o.threads > 1) threads.emplace(o.threads);
  jobs::Workers* const workers = threads ? &*threads : nullptr;
  if (o.format == "sqlite")
    if (const RankCaptures ranks = rank_captures(named.others);
        !ranks.all.empty() && ranks.all.size() == named.others.size()) {
      if (!o.host.empty() || o.rank >= 0)
        throw program::UsageError(
            "--host and --rank are of one capture; those of several ranks are named after theirs");
      stop_on_signals();
      return run_sqlite_export_of_ranks(o, ranks, takes_everything(o, filter_of(o)), workers, stop);
    }
  std::unique_ptr<Source> source = std::make_unique<NoSource>();
  if (!named.others.empty())
    source = open_source(named.others, o.follow, o.wait_ms, wanted_of(o, filter_of(o)), workers, o.from_now);
  stop_on_signals();
  if (o.format == "sqlite")
    return run_sqlite_export(o, std::move(source), takes_everything(o, filter_of(o)), stop);
  return Export(o, std::move(source), std::move(named.logs), workers).run();
}

int serve_metrics_of(const ExportOptions& o) {
  if (!tie_to_parent(o)) return ExportExit::kOk;
  std::vector<std::string> names;
  for (const std::string& from : named_sources(o.from))
    names.push_back(from.substr(std::string_view("live:").size()));
  stop_on_signals();
  try {
    for (const std::string& name : names) const shm::Reader there(name, shm::StartAt::newest, o.wait_ms);
    serve_metrics(o.tracy.listen, std::move(names), stop,
                  [](const std::string& sentence) { say(ExportExit::kOk, sentence); });
  } catch (const shm::SegmentError& e) {
    throw SourceError(e.what());
  }
  return ExportExit::kOk;
}

int serve_tracy(const ExportOptions& o) {
  if (!tie_to_parent(o)) return ExportExit::kOk;
  // A source that cannot be read is an error now, not with the first server. A signal ends the wait for it.
  if (const NamedSources named = sorted_sources(o.from); !named.others.empty() && !o.tracy.growing)
    open_source(named.others, false, o.wait_ms);
  stop_on_signals();
  TracyFeed feed = o.tracy;
  feed.add_names = report::add_op_names;
  feed.from = o.from;
  feed.from_now = o.from_now;
  feed.filter = filter_of(o);
  feed.metal_date = o.format_options.metal_date;
  switch (feed_tracy(feed, stop, [](const std::string& sentence) { say(ExportExit::kOk, sentence); })) {
    case FeedEnd::cut:
      return ExportExit::kOutput;
    case FeedEnd::source_lacks:
      return std::any_of(o.from.begin(), o.from.end(),
                         [](const auto& from) { return from.starts_with("live:"); })
                 ? ExportExit::kReaderLost
                 : ExportExit::kSourceDamaged;
    case FeedEnd::whole:
      break;
  }
  return ExportExit::kOk;
}

}  // namespace ttc::tools
