// Rows into batches, once a second, and their account: each row has a position; positions are consecutive.
#pragma once
#include <algorithm>
#include <cstdint>
#include <mutex>
#include <tuple>
#include <vector>

#include "tools/fleet/bus/spool.hpp"
#include "tools/fleet/wire/batch.hpp"

namespace ttc::fleet {

class Publisher {
 public:
  static constexpr size_t kMostRows = 32768;  // of a batch

  Publisher(Spool& spool, uint64_t session, uint32_t epoch)
      : spool_(spool), session_(session), epoch_(epoch) {}

  // May be called from any thread. A batch that is full is sent at once.
  void add(const OpRow& row) { put(std::get<0>(kinds_), row, row.begin_ns, row.begin_ns + row.duration_ns); }
  void add(const LossRow& row) { put(std::get<1>(kinds_), row, row.from_ns, row.to_ns); }
  void add(const ClockRow& row) { put(std::get<2>(kinds_), row, row.raw_ns, row.raw_ns); }
  void add(const TelemetryRow& row) { put(std::get<3>(kinds_), row, row.raw_ns, row.raw_ns); }
  // Moves rows that have come since the last call into the spool. False if there are none.
  bool flush();

  uint64_t made() const;
  uint64_t session() const { return session_; }
  uint32_t epoch() const { return epoch_; }

 private:
  template <class Row, RowKind kKind>
  struct Kind {
    std::vector<Row> rows;
    uint64_t position = 0, from_ns = ~uint64_t{0}, to_ns = 0;
    static constexpr RowKind kind = kKind;
  };
  template <class Of, class Row>
  void put(Of& of, const Row& row, uint64_t from_ns, uint64_t to_ns) {
    const std::lock_guard lock(mutex_);
    of.rows.push_back(row);
    of.from_ns = std::min(of.from_ns, from_ns), of.to_ns = std::max(of.to_ns, to_ns);
    ++made_;
    if (of.rows.size() >= kMostRows) spool(of);
  }
  template <class Of>
  bool spool(Of& of);

  Spool& spool_;
  const uint64_t session_;
  const uint32_t epoch_;
  mutable std::mutex mutex_;
  std::tuple<Kind<OpRow, RowKind::ops>, Kind<LossRow, RowKind::loss>, Kind<ClockRow, RowKind::clock>,
             Kind<TelemetryRow, RowKind::telemetry>>
      kinds_;  // with mutex_
  uint64_t made_ = 0;
};

}  // namespace ttc::fleet
