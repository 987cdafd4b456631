// Where the device's rows of one launch are: how the joined table finds those of a host op.
#pragma once
#include <algorithm>
#include <cstdint>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "tools/report/programs/device_row.hpp"

namespace ttc::report {

// Which device rows belong to a host op: those of its id and trace, or of its id where the host knows no
// trace.
class RowsOfLaunches {
 public:
  struct Place {
    uint32_t device, id, row;
    std::optional<uint32_t> trace, session;
  };
  explicit RowsOfLaunches(const DeviceRows& rows) : taken_(rows.size()) {
    all_.reserve(rows.size());
    for (const DeviceRow& d : rows)
      all_.push_back({d.device, d.call_count, static_cast<uint32_t>(all_.size()), d.trace_id, d.session});
    std::sort(all_.begin(), all_.end(), [](const Place& a, const Place& b) {
      return std::tie(a.device, a.id, a.session, a.row) < std::tie(b.device, b.id, b.session, b.row);
    });
  }
  // In order of sessions.
  std::vector<Place> of(uint32_t device, uint32_t id, const std::optional<uint32_t>& trace) {
    std::vector<Place> all, same;
    auto it = std::lower_bound(all_.begin(), all_.end(), std::pair{device, id}, [](const Place& a, auto b) {
      return std::pair{a.device, a.id} < b;
    });
    for (; it != all_.end() && it->device == device && it->id == id; ++it) {
      all.push_back(*it);
      taken_[it->row] = true;
      if (it->trace == trace) same.push_back(*it);
    }
    return same.empty() ? all : same;
  }
  uint64_t not_taken() const {
    return static_cast<uint64_t>(std::count(taken_.begin(), taken_.end(), false));
  }

 private:
  std::vector<Place> all_;
  std::vector<bool> taken_;
};

}  // namespace ttc::report
