#include "tools/ttmon/profiler_panel.hpp"

#include <algorithm>
#include <cstdio>

#include "tools/ttmon/screen_layout.hpp"

namespace ttc::tools {
namespace {

using other_profilers::OpRecord;
using other_profilers::StreamLane;

constexpr const char* kProcessors[] = {"BRISC", "NCRISC", "TRISC0", "TRISC1", "TRISC2"};

std::string place_of(card::Coord at) {
  return std::to_string(at.x) + "," + std::to_string(at.y);
}

std::string percent(uint32_t words) {
  char text[16];
  std::snprintf(
      text, sizeof text, "%.0f %%",
      100.0 * std::min(words, other_profilers::kStreamRingWords) / other_profilers::kStreamRingWords);
  return text;
}

}  // namespace

void ProfilerPanel::open(const std::string& live_name, const std::string& device) {
  close();
  live_name_ = live_name;
  try {
    watch_ = std::make_unique<other_profilers::ProfilerWatch>(device, true);
  } catch (const card::OpenError& e) {
    lines_ = {std::string("other profilers: ") + e.what()};
  }
}

void ProfilerPanel::close() {
  *this = ProfilerPanel();
}

void ProfilerPanel::look(uint64_t now_ns) {
  if (!watch_) return;
  const double seconds = looked_ns_ ? static_cast<double>(now_ns - looked_ns_) / 1e9 : 0;
  looked_ns_ = now_ns;
  records_.clear();
  watch_->look(records_);
  lines_.clear();
  if (watch_->found().named.empty()) lines_.emplace_back("other profilers: none was found on the card");
  for (const auto& named : watch_->found().named)
    if (!watch_->anything())
      lines_.push_back("other profilers: " + named.name + "; it excludes " + named.excludes);
  if (!watch_->cores().empty()) add_streaming(seconds);
  if (watch_->ring()) add_real_time(seconds);
  if (watch_->unread())
    lines_.push_back("  " + quantity(static_cast<double>(watch_->unread())) + " looks without an answer");
}

void ProfilerPanel::add_streaming(double seconds) {
  uint64_t stalls = 0, overwritten = 0, unseen = 0;
  uint32_t fullest = 0, peak = 0;
  size_t armed = 0;
  std::string where;
  for (size_t i = 0; i < watch_->cores().size(); ++i) {
    armed += watch_->cores()[i].armed();
    for (uint32_t r = 0; r < other_profilers::kStreamRiscs; ++r) {
      const StreamLane& lane = watch_->cores()[i].lanes()[r];
      stalls += lane.stalls_seen;
      overwritten += lane.overwritten;
      unseen += lane.unseen;
      peak = std::max(peak, lane.peak_fill);
      if (lane.fill <= fullest) continue;
      fullest = lane.fill;
      where = " of " + place_of(watch_->found().streaming[i].at) + " " + kProcessors[r];
    }
  }
  std::string line = "streaming profiler on " + std::to_string(watch_->cores().size()) + " cores";
  if (armed == 0) line += ", without relays";
  line += ": fullest ring " + percent(fullest) + where + ", peak " + percent(peak) + ", ";
  line += seconds > 0 ? quantity(static_cast<double>(stalls - stalls_) / seconds) + " stalls/s"
                      : std::to_string(stalls) + " stalls";
  if (overwritten) line += ", " + quantity(static_cast<double>(overwritten)) + " words overwritten";
  if (unseen) line += ", " + quantity(static_cast<double>(unseen)) + " looks behind a whole ring";
  stalls_ = stalls;
  lines_.push_back(line);
}

void ProfilerPanel::add_real_time(double seconds) {
  const other_profilers::RealTimeRing& ring = *watch_->ring();
  uint64_t programs = 0;
  OpRecord longest;
  for (const OpRecord& r : records_) {
    if (r.sync || r.end < r.start) continue;
    ++programs;
    if (r.end - r.start > longest.end - longest.start) longest = r;
  }
  std::string line = "real-time profiler at " + place_of(watch_->found().real_time->at) + ": ";
  line += seconds > 0 ? quantity(static_cast<double>(programs) / seconds) + " programs/s"
                      : quantity(static_cast<double>(programs)) + " programs";
  if (programs)
    line += ", longest program " + std::to_string(longest.runtime_id) + " with " +
            quantity(static_cast<double>(longest.end - longest.start)) + " cycles";
  line += ", " + quantity(static_cast<double>(ring.missed())) + " records missed";
  if (ring.doubtful()) line += ", " + quantity(static_cast<double>(ring.doubtful())) + " doubtful";
  if (ring.terminated()) line += ", ended";
  lines_.push_back(line);
}

}  // namespace ttc::tools
