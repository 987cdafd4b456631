#include "tools/viewers/host/host_rows.hpp"

#include <algorithm>

namespace ttc::tools {

using collect::EventKind;

bool HostRows::takes(EventKind kind) {
  return kind == EventKind::frame || kind == EventKind::lock_wait || kind == EventKind::lock_obtain ||
         kind == EventKind::lock_release || kind == EventKind::lock_source || kind == EventKind::lock_name;
}

void HostRows::take(const collect::HostEvent& event, uint64_t ns) {
  const uint64_t lock = event.value;
  if (!collect::is_definition(event.kind)) last_ns_ = std::max(last_ns_, ns);
  switch (event.kind) {
    case EventKind::lock_source:
      lock_sources_[lock] = static_cast<uint64_t>(event.time);
      return;
    case EventKind::lock_name:
      lock_names_[lock] = event.text;
      return;
    case EventKind::lock_wait:
      return add(locks_.wait(lock, event.subject, ns));
    case EventKind::lock_obtain:
      return add(locks_.obtain(lock, event.subject, ns));
    case EventKind::lock_release:
      return add(locks_.release(lock, event.subject, ns));
    default:
      return frame(event.subject, event.value, ns);
  }
}

void HostRows::frame(uint32_t what, uint64_t set, uint64_t ns) {
  constexpr uint32_t kMark = 0, kBegin = 1, kEnd = 2;
  FrameSet& own = frames_[set];
  if (what == kMark) {
    if (own.marked_ns) end_frame(set, own.marked_ns, ns);
    own.marked_ns = ns;
  } else if (what == kBegin) {
    own.begun_ns = ns;
  } else if (what == kEnd && own.begun_ns) {
    end_frame(set, own.begun_ns, ns);
    own.begun_ns = 0;
  }
}

void HostRows::end_frame(uint64_t set, uint64_t begin_ns, uint64_t end_ns) {
  Span span;
  span.is_frame = true;
  span.frame_set = set;
  span.frame = ++frames_[set].count;
  span.is.begin_ns = begin_ns;
  span.is.end_ns = std::max(begin_ns, end_ns);
  spans_.push_back(span);
}

void HostRows::add(const std::vector<LockSpan>& spans) {
  for (const LockSpan& is : spans) {
    spans_.emplace_back();
    spans_.back().is = is;
  }
}

// A frame that has no end is only known to have begun.
void HostRows::cut(const char* why) {
  add(locks_.cut(last_ns_, why));
  for (auto& [key, set] : frames_) set.marked_ns = set.begun_ns = 0;
}

bool HostRows::ready(HostNames& names) const {
  if (spans_.empty()) return false;
  const Span& first = spans_.front();
  if (first.is_frame) return first.frame_set == 0 || names.string(first.frame_set);
  const auto source = lock_sources_.find(first.is.lock);
  const bool lock_named =
      lock_names_.contains(first.is.lock) || (source != lock_sources_.end() && names.source(source->second));
  return lock_named && names.named_thread(first.is.thread) &&
         (!first.is.wait || names.named_thread(first.is.other));
}

std::string HostRows::lock_name(HostNames& names, uint64_t lock) const {
  if (const auto own = lock_names_.find(lock); own != lock_names_.end()) return own->second;
  const auto key = lock_sources_.find(lock);
  const HostSource* const source = key == lock_sources_.end() ? nullptr : names.source(key->second);
  return source ? source->name : std::to_string(lock);
}

std::string HostRows::thread_name(HostNames& names, uint32_t tid) const {
  const HostThread* const thread = names.named_thread(tid);
  return thread ? thread->name : "thread " + std::to_string(tid);
}

HostSpan HostRows::shown(HostNames& names, const Span& span) const {
  const LockSpan& is = span.is;
  HostSpan out{is.begin_ns, is.end_ns, "", "", {}};
  if (span.is_frame) {
    out.label = "frame";
    out.name = "frame " + std::to_string(span.frame);
    return out;
  }
  if (is.wait) {
    out.label = "lock waited for";
    out.name = "waits for " + lock_name(names, is.lock);
    out.fields.push_back({"held by", 0, thread_name(names, is.other)});
  } else {
    out.label = "lock held";
    out.name = "held by " + thread_name(names, is.thread);
    out.fields.push_back({"waited ns", is.waited_ns});
  }
  if (is.cut) out.fields.push_back({"end", 0, is.cut});
  return out;
}

// Locks of one name are numbered.
std::string HostRows::row_name(HostNames& names, const Span& span) {
  if (span.is_frame) {
    const std::string* const set = span.frame_set ? names.string(span.frame_set) : nullptr;
    return span.frame_set == 0 ? "frames" : "frames " + (set ? *set : std::to_string(span.frame_set));
  }
  if (span.is.wait) return thread_name(names, span.is.thread) + " waits for locks";
  std::string name = "lock " + lock_name(names, span.is.lock);
  const uint32_t used = ++names_used_[name];
  return used == 1 ? name : name + " #" + std::to_string(used);
}

void HostRows::hand_over(HostWriter& to, HostNames& names, uint32_t process, uint32_t& next_row) {
  const Span span = spans_.front();
  spans_.pop_front();
  const HostRowKind kind = span.is_frame  ? HostRowKind::frames
                           : span.is.wait ? HostRowKind::waits
                                          : HostRowKind::lock;
  const HostThread* const thread = span.is.wait ? &names.reported_thread(span.is.thread) : nullptr;
  Rows& rows = rows_[{kind, span.is_frame ? span.frame_set : span.is.wait ? span.is.thread : span.is.lock}];
  const auto place = rows.places.place(span.is.begin_ns, span.is.end_ns);
  if (!place) {
    ++left_out_;
    return;
  }
  while (rows.rows.size() <= *place) {
    const auto rank = static_cast<uint32_t>(rows.rows.size());
    std::string name =
        rank == 0 ? row_name(names, span) : rows.rows[0]->name + " (" + std::to_string(rank + 1) + ")";
    rows.rows.push_back(
        std::make_unique<HostRow>(HostRow{next_row++, process, kind, std::move(name), thread, rank}));
    to.host_row(*rows.rows.back());
  }
  to.host_span(*rows.rows[*place], shown(names, span));
}

}  // namespace ttc::tools
