#include "collector/selftest/log_watch.hpp"

#include <time.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <utility>

#include "collector/continuity/timing.hpp"
#include "ttcollect/host_time.hpp"

namespace ttc::collect::selftest {
namespace {

using card::Access;
using card::Window;

constexpr uint32_t kFrontWords = 12;          // the slots of a first frame, which hold its times
constexpr uint64_t kIdleNs = 300'000'000;     // without a push another core is watched
constexpr uint64_t kOneCoreNs = 250'000'000;  // then the next one is watched
constexpr unsigned kFrontEvery = 16, kLoadsEvery = 16, kVectorEvery = 32;  // polls

std::string latest_us(const char* what, uint64_t ns) {
  char text[96];
  std::snprintf(text, sizeof text, "%s %.1f us", what, static_cast<double>(ns) / 1e3);
  return text;
}

uint64_t cpu_time_ns() {
  timespec used{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
  return static_cast<uint64_t>(used.tv_sec) * 1'000'000'000u + static_cast<uint64_t>(used.tv_nsec);
}

}  // namespace

LogWatch::LogWatch(card::Card& card, const Attachment& attachment, Tallies& tallies)
    : card_(card), attachment_(attachment), format_(attachment.layout->format), tallies_(tallies) {
  for (const AttachedCore& core : attachment.cores)
    if (core.kind == markers::CoreKind::tensix && core.flat_id % attachment.core_count_per_dram == 0)
      first_of_bank_.push_back(&core);
}

Access LogWatch::poll(const AttachedCore& core, Poll& poll) {
  poll.begun = raw_now_ns();
  const auto index = load_control(card_, core, format_.host_end);
  if (!index) return index.error();
  const auto runs = load_control(card_, core, format_.run_counter);
  if (!runs) return runs.error();
  poll.ended = raw_now_ns();
  poll.index = *index;
  poll.runs = *runs;
  ++figures_.polls;
  return *index == ~0u || *runs == ~0u ? card_.doubt(core.at) : Access::ok;
}

// Reads from an even word on.
Access LogWatch::read_log(uint32_t bank, uint32_t word, std::vector<uint32_t>& words) {
  const card::DramView& view = card_.identity().dram_views[bank];
  const uint64_t address = view.offset + attachment_.dram_base + 4ull * word;
  std::vector<uint64_t> raw((words.size() + 1) / 2);
  Access a = card_.aim(Window::payload, view.endpoint, address);
  if (a == Access::ok) a = card_.copy(Window::payload, address & (card::kWindowBytes - 1), raw);
  if (a == Access::ok) std::memcpy(words.data(), raw.data(), words.size() * sizeof words[0]);
  return a;
}

// --- where the logs are

Access LogWatch::log_is_in(const AttachedCore& core, uint32_t bank, bool& is) {
  std::vector<uint32_t> head(4);
  const Access a = read_log(bank, 0, head);
  const markers::Lane lane{&format_, 0, core.flat_id};
  is = a == Access::ok && head[0] == 0 && head[1] == 0 && lane.owns_identity(head[device::kIdIdentity]);
  return a;
}

// Once words have landed at the front of a log, they show whose log it is.
Access LogWatch::find_logs() {
  const auto banks = static_cast<uint32_t>(card_.identity().dram_views.size());
  for (unsigned way = 0; way < card_.memory_numberings() && figures_.logs_found == 0; ++way) {
    card_.use_memory_numbering(way);
    figures_.numbering = way;
    figures_.logs_elsewhere = 0;
    for (const AttachedCore* core : first_of_bank_) {
      Poll now;
      if (const Access a = poll(*core, now); a != Access::ok) return a;
      if (now.index < kFrontWords) continue;
      bool is = false;
      if (const Access a = log_is_in(*core, core->bank, is); a != Access::ok) return a;
      figures_.logs_found += is;
      for (uint32_t b = 0; !is && b < banks; ++b) {
        if (const Access a = log_is_in(*core, b, is); a != Access::ok) return a;
        figures_.logs_elsewhere += is;
      }
    }
  }
  tallies_.agrees(Id::dram_numbering, figures_.logs_found);
  if (figures_.logs_found == 0 && figures_.logs_elsewhere)
    tallies_.speaks_against(Id::dram_numbering,
                            std::to_string(figures_.logs_elsewhere) + " logs are in another bank");
  return Access::ok;
}

// Chooses the next core, of the first of their banks, whose index moves.
Access LogWatch::choose() {
  const size_t cores = first_of_bank_.size();
  chosen_ns_ = raw_now_ns();
  const AttachedCore* chosen = nullptr;
  for (size_t i = 1; i <= cores && !chosen; ++i) {
    const size_t at = (subject_at_ + i) % cores;
    const AttachedCore* core = first_of_bank_[at];
    Poll now;
    if (const Access a = poll(*core, now); a != Access::ok) return a;
    const Poll earlier = std::exchange(last_of_[core], now);
    if (earlier.begun == 0 || (now.index == earlier.index && now.runs == earlier.runs)) continue;
    chosen = core;
    subject_at_ = at;
  }
  if (!chosen) return Access::ok;
  if (chosen != subject_) begin(*chosen);
  return figures_.logs_found == 0 && figures_.logs_elsewhere == 0 ? find_logs() : Access::ok;
}

void LogWatch::begin(const AttachedCore& core) {
  subject_ = &core;
  bank_ = core.bank;
  last_ = {};
  primed_ = false;
  digest_ = {};
  pending_.reset();
  reset_.reset();
  forget();
  vector_ns_ = 0;
  moved_ns_ = raw_now_ns();
}

Access LogWatch::run(uint64_t for_ns) {
  constexpr uint64_t kMostProlonged = 4;
  const uint64_t begun = raw_now_ns(), used = cpu_time_ns();
  Access a = Access::ok;
  while (a != Access::gone && cpu_time_ns() - used < for_ns &&
         raw_now_ns() - begun < kMostProlonged * for_ns) {
    if (!subject_ || raw_now_ns() - moved_ns_ > kIdleNs || raw_now_ns() - chosen_ns_ > kOneCoreNs)
      a = choose();
    if (subject_ && a == Access::ok) a = step();
  }
  last_ = {};
  forget();
  return a == Access::gone ? a : Access::ok;
}

Access LogWatch::step() {
  Poll now;
  if (const Access a = poll(core(), now); a != Access::ok) return a;
  const bool late = last_.begun && now.ended - last_.begun > timing::kPollDeadlineNs;
  figures_.missed_deadlines += late;
  if (late) forget();
  Access a = Access::ok;
  const bool rewound = last_.begun && !last_.before(now);
  if (reset_ && !rewound) judge_regained(now);
  if (rewound) {
    a = after_reset(last_, now);
  } else if (last_.begun && now.index > last_.index) {
    moved_ns_ = now.ended;
    a = watch_push(now);
  } else {
    if (ahead_at_ == now.index) earlier_ = ahead_;
    ++steps_;
    if (pending_) a = read_push(*pending_, 0);
    if (a == Access::ok && !pending_) a = look_ahead(now.index);
    if (a == Access::ok && steps_ % kLoadsEvery == 0) a = compare_loads();
    if (a == Access::ok && steps_ % kVectorEvery == 0) a = look_at_vector();
    if (a == Access::ok && steps_ % kFrontEvery == 0) a = look_at_front();
  }
  if (a == Access::ok && !pending_ && primed_) judge_launches(now);
  last_ = now;
  return a;
}

// No earlier knowledge is valid after a late poll: the host may have read results in between.
void LogWatch::forget() {
  ahead_.clear();
  earlier_.clear();
  front_.clear();
  counted_from_.reset();
  copied_runs_.reset();
}

Access LogWatch::look_ahead(uint32_t index) {
  ahead_.resize(kFrontWords);
  ahead_at_ = index;
  const Access a = read_log(bank_, ahead_at_, ahead_);
  if (a != Access::ok) ahead_.clear();
  return a;
}

LogFigures LogWatch::finish() {
  if (!landings_.empty()) {
    std::sort(landings_.begin(), landings_.end());
    figures_.landing_p50_ns = landings_[(landings_.size() - 1) / 2];
    figures_.landing_max_ns = landings_.back();
    tallies_.describe(Id::landing_time, latest_us("the latest within", figures_.landing_max_ns));
  }
  return figures_;
}

}  // namespace ttc::collect::selftest
