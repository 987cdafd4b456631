#include "collector/record/flight_recorder.hpp"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <new>
#include <system_error>

#include "collector/capture/capture_file.hpp"
#include "ttcollect/host_time.hpp"

namespace ttc::collect {
namespace {

constexpr unsigned kChunksAtOnce = 256;
constexpr std::chrono::milliseconds kPoll{2};  // between two polls of quiet rings

std::string numbered(const std::string& path, size_t number) {
  char text[16];
  std::snprintf(text, sizeof text, ".%04zu", number);
  std::filesystem::path p(path);
  const std::string extension = p.extension();
  return p.replace_extension().string() + text + (extension.empty() ? ".ttc" : extension);
}

// The greatest number that a recording of this name has; 0: there is none.
size_t last_number(const std::string& path) {
  const std::string first = numbered(path, 0);  // NAME.0000.ttc
  const std::string extension = std::filesystem::path(first).extension();
  const std::string stem =
      std::filesystem::path(first.substr(0, first.size() - extension.size() - 4)).filename();
  const auto folder = std::filesystem::path(path).parent_path();
  std::error_code none;  // a folder that cannot be read: the recording itself reports it
  size_t last = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder.empty() ? "." : folder, none)) {
    const std::string name = entry.path().filename();
    if (!name.starts_with(stem) || !name.ends_with(extension) ||
        name.size() <= stem.size() + extension.size())
      continue;
    size_t number = 0;
    const char* const end = name.data() + name.size() - extension.size();
    const auto [to, error] = std::from_chars(name.data() + stem.size(), end, number);
    if (error == std::errc() && to == end) last = std::max(last, number);
  }
  return last;
}

}  // namespace

FlightRecorder::FlightRecorder(const FlightOptions& options,
                               std::function<void(const FlightRecording&)> reported)
    : options_(options),
      reported_(std::move(reported)),
      earlier_(last_number(options.path)),
      thread_([this] { run(); }) {}

FlightRecorder::~FlightRecorder() {
  finish();
}

void FlightRecorder::add(const std::string& live_name, int workload_pid) {
  auto track = std::make_unique<Track>(live_name, options_.rules, workload_pid);
  const std::lock_guard lock(mutex_);
  tracks_.push_back(std::move(track));
  changed_.notify_one();
}

void FlightRecorder::ask(const std::string& why) {
  const std::lock_guard lock(mutex_);
  asked_ = asked_ ? *asked_ + "; " + why : why;
  changed_.notify_one();
}

// A recording is due when the time after the trigger is over.
void FlightRecorder::trigger(const std::string& why) {
  const uint64_t now = options_.clock();
  if (due_ns_ || (last_ns_ && now - last_ns_ < options_.every_ns)) {
    ++held_back_;
    return;
  }
  last_ns_ = now;
  due_for(why, now);
}

void FlightRecorder::due_for(const std::string& why, uint64_t now_ns) {
  if (due_ns_) {  // one recording for both, at the time that was announced for the first
    why_ += "; " + why;
    return;
  }
  why_ = why;
  why_ns_ = now_ns;
  due_ns_ = now_ns + options_.post_ns;
}

// True when anything came.
bool FlightRecorder::follow(Track& t) {
  std::vector<uint64_t> chunk;
  for (unsigned taken = 0; taken < kChunksAtOnce; ++taken) {
    switch (t.reader.next(chunk, 0)) {
      case shm::Reader::Next::chunk:
        if (const auto why = t.watch.push(chunk)) trigger(*why);
        break;
      case shm::Reader::Next::lapped:
        t.watch.missed();
        break;
      case shm::Reader::Next::timeout:
        return taken > 0;
      default:
        t.over = true;
        return true;
    }
  }
  return true;
}

void FlightRecorder::poll_track(Track& t) {
  if (const auto why = t.watch.at(options_.clock())) trigger(*why);
}

void FlightRecorder::poll_workload(Track& t) {
  if (!options_.rules.exit || t.reported_exit || !t.workload.over()) return;
  t.reported_exit = true;
  trigger("the workload (pid " + std::to_string(t.workload.pid()) + ") has exited");
}

bool FlightRecorder::exit_may_come(const std::vector<Track*>& all) const {
  if (!options_.rules.exit || monotonic_now_ns() >= exit_until_ns_) return false;
  return std::any_of(all.begin(), all.end(),
                     [](const Track* t) { return t->workload.pid() > 0 && !t->reported_exit; });
}

void FlightRecorder::record() {
  SnapshotOptions o;
  o.last_bytes = options_.bytes;
  if (options_.pre_ns) o.last_ns = options_.pre_ns + (options_.clock() - why_ns_);
  o.plain = options_.plain;
  o.redact = options_.redact;
  o.clock = options_.clock;
  std::vector<std::string> names;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& t : tracks_) names.push_back(t->reader.info().live_name);
  }
  FlightRecording r{why_, {}, {}};
  due_ns_ = 0;
  if (names.empty()) return;
  try {
    r.file = take_snapshot(names, numbered(options_.path, earlier_ + recordings_.size() + 1), o);
  } catch (const std::bad_alloc&) {
    r.error = "there is not enough memory";
  } catch (const std::exception& e) {
    r.error = e.what();
  }
  recordings_.push_back(r);
  reported_(r);
}

void FlightRecorder::run() {
  try {
    watch_all();
  } catch (const std::exception& e) {
    FlightRecording r;
    r.why = "the recorder has ended early";
    r.error = e.what();
    recordings_.push_back(r);
    reported_(r);
  }
}

void FlightRecorder::watch_all() {
  for (;;) {
    std::vector<Track*> all, active;
    bool finishing = false;
    {
      std::unique_lock lock(mutex_);
      if (asked_) due_for(*asked_, options_.clock());
      asked_.reset();
      finishing = finishing_;
      for (const auto& t : tracks_) {
        all.push_back(t.get());
        if (!t->over) active.push_back(t.get());
      }
    }
    bool news = false;
    for (Track* t : active) news |= follow(*t), poll_track(*t);
    for (Track* t : all) poll_workload(*t);  // a workload may end after what was collected from it
    if (due_ns_ && (options_.clock() >= due_ns_ || (finishing && active.empty()))) record();
    std::unique_lock lock(mutex_);
    if (finishing && active.empty() && !exit_may_come(all)) return;
    if (!news) changed_.wait_for(lock, kPoll, [this] { return asked_.has_value(); });
  }
}

void FlightRecorder::finish(uint64_t await_exit_ns) {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    exit_until_ns_ = monotonic_now_ns() + await_exit_ns;
    finishing_ = true;
    changed_.notify_one();
  }
  thread_.join();
}

}  // namespace ttc::collect
