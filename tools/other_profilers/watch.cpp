#include "tools/other_profilers/watch.hpp"

#include <algorithm>

#include "ttcollect/host_time.hpp"

namespace ttc::other_profilers {
namespace {

constexpr uint64_t kSearchAgainNs = 500'000'000;

}  // namespace

ProfilerWatch::ProfilerWatch(const std::string& device, bool search) : search_(search) {
  card::OpenOptions how;
  how.power_vote = false;
  card_ = std::make_unique<card::GuardedCard>(card::open_card(device, how));
  find();
}

void ProfilerWatch::find() {
  found_ = find_other_profilers(*card_, search_);
  cores_.assign(found_.streaming.size(), {});
  resident_places_.clear();
  residents_.clear();
  ring_.reset();
  if (found_.real_time) ring_.emplace(l1_reader(*card_, found_.real_time->at), found_.real_time->address);
  resident_search_.reset();
  if (!search_ || found_.streaming.empty()) return;
  resident_search_.emplace();
  resident_search_->copy_and_compare(*card_);
  search_residents();
}

bool ProfilerWatch::search_residents() {
  bool is_new = false;
  for (const ResidentPlace& place : resident_search_->copy_and_compare(*card_)) {
    const auto known = [&](const ResidentPlace& p) { return p.at == place.at && p.address == place.address; };
    if (std::any_of(resident_places_.begin(), resident_places_.end(), known)) continue;
    resident_places_.push_back(place);
    residents_.emplace_back();
    is_new = true;
  }
  searched_ns_ = collect::raw_now_ns();
  return is_new;
}

void ProfilerWatch::look(std::vector<OpRecord>& records) {
  for (size_t i = 0; i < cores_.size(); ++i) {
    if (const auto control = look_at(*card_, found_.streaming[i]))
      cores_[i].look(*control);
    else
      ++unread_;
  }
  // Cores may not have gone on between two copies that followed each other.
  if (resident_search_ && collect::raw_now_ns() - searched_ns_ > kSearchAgainNs && !search_residents())
    resident_search_.reset();
  for (size_t i = 0; i < residents_.size(); ++i) {
    if (const auto control = look_at(*card_, resident_places_[i]))
      residents_[i].look(*control, collect::raw_now_ns());
    else
      ++unread_;
  }
  if (ring_ && !ring_->look(records)) ++unread_;
}

}  // namespace ttc::other_profilers
