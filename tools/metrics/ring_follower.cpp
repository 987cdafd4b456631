#include "tools/metrics/ring_follower.hpp"

#include <algorithm>
#include <set>
#include <utility>

namespace ttc::tools {
namespace {

constexpr uint64_t kQuietNs = 2'000'000'000;
// A pipeline keeps the clock model and the names of all that it was given.
constexpr uint64_t kBeginAgainNs = uint64_t{24} * 3600 * 1'000'000'000;

std::unique_ptr<Pipeline> new_pipeline() {
  return std::make_unique<Pipeline>(Filter{}, false, std::nullopt, HostClock::raw);
}

}  // namespace

void CpuCredit::update(uint64_t now_ns, uint64_t used_ns) {
  if (begun_) {
    const auto brought = static_cast<int64_t>((now_ns - now_ns_) / kOneIn);
    credit_ns_ = std::min(kMostNs, credit_ns_ + brought - static_cast<int64_t>(used_ns - used_ns_));
  }
  begun_ = true;
  now_ns_ = now_ns;
  used_ns_ = used_ns;
  reads_ = reads_ ? credit_ns_ > 0 : credit_ns_ >= kResumeNs;
}

RingFollower::RingFollower(std::vector<std::string> names)
    : names_(std::move(names)), pipeline_(new_pipeline()) {
  for (const std::string& name : names_) attach(name, true, shm::StartAt::oldest);
}

void RingFollower::attach(const std::string& name, bool of_a_device, shm::StartAt start) {
  One one(shm::Reader(name, start));
  one.of_a_device = of_a_device;
  one.missed = start == shm::StartAt::newest;
  if (of_a_device) {
    times_.name_session(one.reader.info().session, name);
    followed_[name];
  }
  ones_.erase(name);
  ones_.emplace(name, std::move(one));
}

// A collector that began again under its name, and what the processes of these collectors publish besides.
void RingFollower::attach_new() {
  const auto is_named = [&](const shm::SegmentInfo& s) {
    return std::find(names_.begin(), names_.end(), s.live_name) != names_.end();
  };
  const std::vector<shm::SegmentInfo> segments = shm::list_segments();
  std::set<int64_t> processes;
  for (const shm::SegmentInfo& s : segments)
    if (s.alive && is_named(s)) processes.insert(s.writer_pid);
  for (const shm::SegmentInfo& s : segments) {
    if (!s.alive || !s.refused.empty() || !processes.contains(s.writer_pid)) continue;
    const auto known = ones_.find(s.live_name);
    if (known != ones_.end() && known->second.reader.info().session == s.session) continue;
    try {
      attach(s.live_name, is_named(s), shm::StartAt::oldest);
    } catch (const shm::SegmentError&) {
      continue;  // it went away after it was listed
    }
  }
}

// Starts with what is collected from now on.
void RingFollower::begin_again(uint64_t now_ns) {
  began_ns_ = now_ns;
  pipeline_ = new_pipeline();
  std::vector<std::pair<std::string, bool>> again;
  for (auto& [name, one] : ones_) {
    if (one.done) continue;
    again.emplace_back(name, one.of_a_device);
    const uint64_t tail = one.reader.tail();
    if (one.of_a_device) followed_[name].passed_bytes += tail - std::min(tail, one.reader.position());
  }
  for (const auto& [name, of_a_device] : again) try {
      attach(name, of_a_device, shm::StartAt::newest);
    } catch (const shm::SegmentError&) {
      ones_.at(name).done = true;  // it was removed
    }
}

void RingFollower::look(uint64_t now_ns, uint64_t cpu_ns) {
  credit_.update(now_ns, cpu_ns);
  if (!began_ns_) began_ns_ = now_ns;
  for (auto& [name, one] : ones_) {
    if (!one.of_a_device) continue;
    followed_[name].segment_bytes = one.reader.info().bytes;
    followed_[name].written_bytes = one.reader.tail();
  }
  if (!credit_.reads()) {
    rested_ = true;
    return;
  }
  if (std::exchange(rested_, false) || now_ns - began_ns_ > kBeginAgainNs) begin_again(now_ns);
  attach_new();
  Followed of_no_device;
  for (auto& [name, one] : ones_)
    if (!one.done) read(one, one.of_a_device ? followed_[name] : of_no_device, now_ns);
}

void RingFollower::take(One& one, std::span<const uint64_t> chunk, uint64_t now_ns) {
  const shm::ChunkHeader& h = shm::header_of(chunk);
  if (h.kind == shm::ChunkKind::device_words) {
    if (std::exchange(one.missed, false)) times_.missed(h.session, h.read_time_ns);
    one.last_words_ns = now_ns;
    for (const shm::SpanEntry& span : shm::spans_of(chunk))
      if (span.source == shm::SpanSource::dram_log)
        fullest_words_ = std::max(fullest_words_, span.word_offset + span.word_count);
  }
  pipeline_->push(chunk, times_);
}

void RingFollower::finish(One& one) {
  one.done = true;
  if (std::all_of(ones_.begin(), ones_.end(), [](const auto& each) { return each.second.done; }))
    pipeline_->deliver(times_, true);
  times_.quiet(one.reader.info().session);
}

void RingFollower::read(One& one, Followed& followed, uint64_t now_ns) {
  fullest_words_ = 0;
  const uint64_t from = one.reader.position(), until = one.reader.tail(), lost = one.reader.lost_bytes();
  for (std::vector<uint64_t> chunk;
       one.reader.position() <= until;) {  // what comes meanwhile is the next look's
    const shm::Reader::Next next = one.reader.next(chunk, 0);
    if (next == shm::Reader::Next::timeout) break;
    if (next == shm::Reader::Next::lapped) {
      one.missed = true;
    } else if (next == shm::Reader::Next::chunk) {
      take(one, chunk, now_ns);
    } else {
      finish(one);
      break;
    }
  }
  const uint64_t passed = one.reader.lost_bytes() - lost, gone_on = one.reader.position() - from;
  followed.passed_bytes += passed;
  followed.read_bytes += gone_on - std::min(gone_on, passed);
  const uint64_t log_words = one.reader.counter(shm::Counter::log_words);
  if (log_words && fullest_words_)
    followed.log_fill = std::min(1.0, static_cast<double>(fullest_words_) / static_cast<double>(log_words));
  if (one.last_words_ns && now_ns - one.last_words_ns > kQuietNs) {
    times_.quiet(one.reader.info().session);
    one.last_words_ns = 0;
  }
}

}  // namespace ttc::tools
