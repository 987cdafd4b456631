// Where the device's rows of one launch are: how the joined table finds those of a host op.
#pragma once
#include <cstdint>
#include <optional>
#include <tuple>
#include <utility>

#include "tools/report/programs/device_row.hpp"
#include "tools/report/text/record_sort.hpp"

namespace ttc::report {

// Which device rows belong to a host op: those of its id and trace, or of its id where the host knows no
// trace. The rows are sorted on disk; ops must come in order of device and id.
class RowsOfLaunches {
 public:
  struct Place {
    uint32_t device, id, row;
    std::optional<uint32_t> trace, session;
  };
  explicit RowsOfLaunches(const DeviceRows& rows) {
    RecordSort<Place, Order> sorted;
    uint32_t row = 0;
    for (const DeviceRow& d : rows) sorted.add({d.device, d.call_count, row++, d.trace_id, d.session});
    sorted.drain([&](const Place& place) { all_.push_back(place); });
  }

  // Hands each of them to `take`, in order of sessions, and gives their number.
  template <class Take>
  uint64_t for_each(uint32_t device, uint32_t id, const std::optional<uint32_t>& trace, const Take& take) {
    go_to(device, id);
    bool of_trace = false;
    for (size_t i = begin_; i < end_ && !of_trace; ++i) of_trace = all_[i].trace == trace;
    uint64_t given = 0;
    for (size_t i = begin_; i < end_; ++i) {
      const Place place = all_[i];
      if (of_trace && place.trace != trace) continue;
      take(place);
      ++given;
    }
    return given;
  }
  // Rows of launches that no op named.
  uint64_t not_taken() const { return all_.size() - taken_; }

 private:
  struct Order {
    bool operator()(const Place& a, const Place& b) const {
      return std::tie(a.device, a.id, a.session, a.row) < std::tie(b.device, b.id, b.session, b.row);
    }
  };

  // The rows of that launch are begin_ to end_ then.
  void go_to(uint32_t device, uint32_t id) {
    if (begin_ < end_ && all_[begin_].device == device && all_[begin_].id == id) return;
    for (begin_ = end_; begin_ < all_.size(); ++begin_) {
      const Place place = all_[begin_];
      if (std::pair(place.device, place.id) >= std::pair(device, id)) break;
    }
    for (end_ = begin_; end_ < all_.size(); ++end_) {
      const Place place = all_[end_];
      if (place.device != device || place.id != id) break;
    }
    taken_ += end_ - begin_;
  }

  Records<Place> all_;
  size_t begin_ = 0, end_ = 0;
  uint64_t taken_ = 0;
};

}  // namespace ttc::report
