#include "tools/other_profilers/watch.hpp"

namespace ttc::other_profilers {

ProfilerWatch::ProfilerWatch(const std::string& device, bool search) : search_(search) {
  card::OpenOptions how;
  how.power_vote = false;
  card_ = std::make_unique<card::GuardedCard>(card::open_card(device, how));
  find();
}

void ProfilerWatch::find() {
  found_ = find_other_profilers(*card_, search_);
  cores_.assign(found_.streaming.size(), {});
  ring_.reset();
  if (found_.real_time) ring_.emplace(l1_reader(*card_, found_.real_time->at), found_.real_time->address);
}

void ProfilerWatch::look(std::vector<OpRecord>& records) {
  for (size_t i = 0; i < cores_.size(); ++i) {
    if (const auto control = look_at(*card_, found_.streaming[i]))
      cores_[i].look(*control);
    else
      ++unread_;
  }
  if (ring_ && !ring_->look(records)) ++unread_;
}

}  // namespace ttc::other_profilers
