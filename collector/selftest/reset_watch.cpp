#include "collector/selftest/reset_watch.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "collector/continuity/timing.hpp"
#include "ttcollect/host_time.hpp"

namespace ttc::collect::selftest {
namespace {

using card::Access;

constexpr size_t kMostOthers = 8;
constexpr uint32_t kBackTooSoon =
    4;  // times what the anchor has run since: no core runs so many programs more

}  // namespace

void ResetOrder::forget() {
  before_ = last_ = {};
  following_ = false;
}

void ResetOrder::add(Round now) {
  if (last_.begun != 0 && now.ended - last_.begun >= timing::kPollDeadlineNs) forget();
  if (following_)
    follow(now);
  else if (before_.begun != 0 && last_.anchor > 0 && now.anchor == 0)
    begin(now);
  before_ = std::exchange(last_, std::move(now));
}

// The anchor's count fell behind the last round's load of it.
void ResetOrder::begin(const Round& now) {
  following_ = true;
  others_.assign(now.others.size(), {});
  for (size_t i = 0; i < others_.size(); ++i) {
    others_[i].fell = last_.others[i] < before_.others[i];
    others_[i].had = others_[i].fell ? before_.others[i] : last_.others[i];
  }
  follow(now);
}

void ResetOrder::follow(const Round& now) {
  const bool runs_again = now.anchor > 0;
  size_t followed = 0, along = 0, kept = 0;
  for (size_t i = 0; i < others_.size(); ++i) {
    Other& other = others_[i];
    if (other.had == 0) continue;
    ++followed;
    // This round's load of the anchor came behind the last round's loads of the others.
    if (other.fell && !runs_again) other.along = true;
    if (now.others[i] < other.had) other.fell = true;
    along += other.along;
    kept += !other.fell && other.had >= kBackTooSoon * (now.anchor + 1);
  }
  following_ = !runs_again && (along < followed || followed == 0);
  if (runs_again && kept != 0)
    tallies_.speaks_against(Id::reset_all_cores, std::to_string(kept) + " of " + std::to_string(followed) +
                                                     " other cores kept their counts of launches");
  else if (followed != 0 && along == followed)
    tallies_.agrees(Id::reset_all_cores);
}

// --- the card

ResetWatch::ResetWatch(card::Card& card, const Attachment& attachment, Tallies& tallies)
    : card_(card), attachment_(attachment), order_(tallies) {
  for (const AttachedCore& core : attachment.cores)
    if (core.kind == markers::CoreKind::tensix) tensix_.push_back(&core);
}

Access ResetWatch::load(const AttachedCore& core, uint32_t& runs) {
  const auto value = load_control(card_, core, attachment_.layout->format.run_counter);
  if (!value) return value.error();
  runs = *value;
  return runs == ~0u ? card_.doubt(core.at) : Access::ok;
}

// Chooses a core whose count moves, and some of the others with a count.
Access ResetWatch::choose(uint64_t until_ns) {
  chosen_.clear();
  std::vector<uint32_t> counts(tensix_.size()), earlier;
  std::vector<size_t> moved;
  do {
    earlier = std::exchange(counts, std::vector<uint32_t>(tensix_.size()));
    for (size_t i = 0; i < tensix_.size(); ++i) {
      if (const Access a = load(*tensix_[i], counts[i]); a != Access::ok) return a;
      if (counts[i] > earlier[i] && earlier[i] != 0) moved.push_back(i);
    }
  } while (moved.empty() && raw_now_ns() < until_ns);
  if (moved.empty()) return Access::ok;
  const size_t anchor = moved[turn_ % moved.size()];
  std::vector<size_t> others;
  for (size_t i = 0; i < counts.size(); ++i)
    if (i != anchor && counts[i] != 0) others.push_back(i);
  if (others.empty()) return Access::ok;
  chosen_.push_back(tensix_[anchor]);
  const size_t wanted = std::min(kMostOthers, others.size());
  for (size_t n = 0; n < wanted; ++n)  // spread over all of them, others in each turn
    chosen_.push_back(tensix_[others[(n * others.size() / wanted + turn_) % others.size()]]);
  ++turn_;
  return Access::ok;
}

Access ResetWatch::run(uint64_t until_ns) {
  order_.forget();
  Access a = choose(until_ns);
  while (a == Access::ok && !chosen_.empty() && raw_now_ns() < until_ns) {
    ResetOrder::Round round;
    round.begun = raw_now_ns();
    a = load(*chosen_.front(), round.anchor);
    round.others.resize(chosen_.size() - 1);
    for (size_t i = 1; a == Access::ok && i < chosen_.size(); ++i) a = load(*chosen_[i], round.others[i - 1]);
    round.ended = raw_now_ns();
    if (a == Access::ok) order_.add(std::move(round));
  }
  return a == Access::gone ? a : Access::ok;
}

}  // namespace ttc::collect::selftest
