// One card, sampled from outside again and again: which profilers are there, and what they do. The card is opened for reading, without a
// power vote.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "driver_iface/guarded_card.hpp"
#include "tools/other_profilers/find.hpp"
#include "tools/other_profilers/real_time.hpp"
#include "tools/other_profilers/streaming.hpp"

namespace ttc::other_profilers {

class ProfilerWatch {
 public:
  // `device` as for ttcollect. Throws card::OpenError.
  ProfilerWatch(const std::string& device, bool search);

  // Looks for profilers again; counts of those found before are dropped.
  void find();
  // One sample of everything that was found. Records are appended. Resident cores are searched for twice a second until a search brings no
  // further one.
  void look(std::vector<OpRecord>& records);

  bool anything() const { return ring_ || !cores_.empty(); }
  bool gone() const { return card_->health() == card::Health::gone; }
  card::Card& card() { return *card_; }
  const card::Card& card() const { return *card_; }
  const Found& found() const { return found_; }
  const std::vector<StreamCore>& cores() const { return cores_; }  // as found().streaming
  const std::vector<ResidentPlace>& resident_places() const { return resident_places_; }
  const std::vector<ResidentCore>& residents() const { return residents_; }  // as resident_places()
  const RealTimeRing* ring() const { return ring_ ? &*ring_ : nullptr; }
  uint64_t unread() const { return unread_; }  // looks that the card did not answer

 private:
  bool search_residents();

  std::unique_ptr<card::GuardedCard> card_;
  bool search_;
  Found found_;
  std::vector<StreamCore> cores_;
  std::optional<ResidentSearch> resident_search_;  // while it is under way
  uint64_t searched_ns_ = 0;
  std::vector<ResidentPlace> resident_places_;
  std::vector<ResidentCore> residents_;
  std::optional<RealTimeRing> ring_;
  uint64_t unread_ = 0;
};

}  // namespace ttc::other_profilers
