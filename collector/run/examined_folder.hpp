// Whether a folder may have entries that were not examined yet, by the time of its last change. Pure.
#pragma once
#include <cstdint>

namespace ttc::collect {

class ExaminedFolder {
 public:
  // Must be called before the entries are listed: what changes the folder after that gives it another time. `changed_ns`: the
  // folder's st_mtim; `now_ns`: CLOCK_REALTIME_COARSE, which the kernel takes that time from.
  bool may_have_news(int64_t changed_ns, int64_t now_ns) {
    // A change that follows another within a tick of that clock (at most 10 ms) has the same time. A clock that was set back makes a
    // time of the future, which has not settled either.
    constexpr int64_t kSettledNs = 1'000'000'000;
    looked_at_ns_ = now_ns - changed_ns < kSettledNs ? kUnknown : changed_ns;
    return looked_at_ns_ == kUnknown || looked_at_ns_ != examined_at_ns_;
  }
  // Must be called after the entries were listed: `all` is false where an entry is to be examined again.
  void examined(bool all) { examined_at_ns_ = all ? looked_at_ns_ : kUnknown; }

 private:
  static constexpr int64_t kUnknown = INT64_MIN;
  int64_t looked_at_ns_ = kUnknown, examined_at_ns_ = kUnknown;
};

}  // namespace ttc::collect
