// The places of the device's rows of one launch: by them the joined table finds those of a host op.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "tools/report/metal_files/chip_owners.hpp"
#include "tools/report/programs/device_row.hpp"
#include "tools/report/text/record_sort.hpp"

namespace ttc::report {

// CLOCK_MONOTONIC_RAW of a cycle of a chip; nothing where that is not known. Empty: of none.
using RawTime = std::function<std::optional<uint64_t>(uint32_t chip, uint64_t cycles)>;

// When the launch of a row began; 0: not known.
inline uint64_t begin_cycle(const DeviceRow& row) {
  return row.firmware_start.value_or(row.kernel_start.value_or(0));
}

// Which device rows belong to a host op: those of its id and trace, or of its id if the host has no
// trace; of a chip that several processes had, those from the op's process. The rows are sorted on disk; ops must come in
// order of device and id.
class RowsOfLaunches {
 public:
  struct Place {
    uint32_t device, id, row;
    std::optional<uint32_t> trace, session, process;  // the last: only of chips that several had
  };
  RowsOfLaunches(const DeviceRows& rows, const ChipOwners& owners, const RawTime& raw_ns) {
    RecordSort<Place, Order> sorted;
    uint32_t row = 0;
    for (const DeviceRow& d : rows) {
      Place place{d.device, d.call_count, row++, d.trace_id, d.session, {}};
      if (owners.several(d.device)) {
        const auto at = raw_ns && begin_cycle(d) ? raw_ns(d.device, begin_cycle(d)) : std::nullopt;
        if (at) place.process = owners.at(d.device, static_cast<int64_t>(*at));
        of_any_ += !at;
      }
      sorted.add(place);
    }
    sorted.drain([&](const Place& place) { all_.push_back(place); });
  }

  // Hands each of them to `take`, in order of sessions, and gives their number.
  template <class Take>
  uint64_t for_each(uint32_t device, uint32_t id, const std::optional<uint32_t>& trace, uint32_t process,
                    const Take& take) {
    go_to(device, id);
    const auto is_its = [&](const Place& place) { return !place.process || place.process == process; };
    bool of_trace = false;
    for (size_t i = begin_; i < end_ && !of_trace; ++i) {
      const Place place = all_[i];
      of_trace = is_its(place) && place.trace == trace;
    }
    uint64_t given = 0;
    for (size_t i = begin_; i < end_; ++i) {
      const Place place = all_[i];
      if (!is_its(place)) continue;
      named_[i - begin_] = true;  // as an op's of another trace, too
      if (of_trace && place.trace != trace) continue;
      take(place);
      ++given;
    }
    return given;
  }
  // Rows of launches that no op named. Call it last.
  uint64_t not_taken() {
    leave();
    return all_.size() - taken_;
  }
  // Rows that may be of any of the processes that had their chip, because no time relates them.
  uint64_t of_any() const { return of_any_; }

 private:
  struct Order {
    bool operator()(const Place& a, const Place& b) const {
      return std::tie(a.device, a.id, a.session, a.row) < std::tie(b.device, b.id, b.session, b.row);
    }
  };

  void leave() {
    for (const bool named : named_) taken_ += named;
    named_.clear();
  }

  // The rows of that launch are begin_ to end_ then.
  void go_to(uint32_t device, uint32_t id) {
    if (begin_ < end_ && all_[begin_].device == device && all_[begin_].id == id) return;
    leave();
    for (begin_ = end_; begin_ < all_.size(); ++begin_) {
      const Place place = all_[begin_];
      if (std::pair(place.device, place.id) >= std::pair(device, id)) break;
    }
    for (end_ = begin_; end_ < all_.size(); ++end_) {
      const Place place = all_[end_];
      if (place.device != device || place.id != id) break;
    }
    named_.assign(end_ - begin_, false);
  }

  Records<Place> all_;
  std::vector<bool> named_;  // of the rows of this launch
  size_t begin_ = 0, end_ = 0;
  uint64_t taken_ = 0, of_any_ = 0;
};

}  // namespace ttc::report
