// C++20 on top of reader.h: errors as exceptions, tables as spans. Header only, so that no C++ ABI is between program and library.
//
//   for (ttcollect::MarkerStream stream("live:emu-a"); auto batch = stream.next();)
//     for (const ttcollect_zone& zone : batch->zones()) use(batch->name(zone.name), zone.end_ns - zone.begin_ns);
#pragma once
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ttcollect/reader.h"

namespace ttcollect {

struct Error : std::runtime_error {
  Error(int code, const std::string& what) : std::runtime_error(what), status(code) {}
  int status;  // ttcollect_status
};

struct Options : ttcollect_options {
  Options() : ttcollect_options{} {
    struct_bytes = sizeof(ttcollect_options);
    ttcollect_options_init(this);
  }
};

// Valid until the next call of MarkerStream::next().
class Batch {
 public:
  explicit Batch(const ttcollect_batch& batch, bool lapped) : batch_(batch), lapped_(lapped) {}
  std::span<const ttcollect_marker> markers() const { return {batch_.markers, batch_.marker_count}; }
  std::span<const ttcollect_zone> zones() const { return {batch_.zones, batch_.zone_count}; }
  std::span<const ttcollect_op> ops() const { return {batch_.ops, batch_.op_count}; }
  std::span<const ttcollect_loss> losses() const { return {batch_.losses, batch_.loss_count}; }
  std::span<const ttcollect_clock> clocks() const { return {batch_.clocks, batch_.clock_count}; }
  std::span<const ttcollect_telemetry> telemetry() const {
    return {batch_.telemetry, batch_.telemetry_count};
  }
  std::span<const ttcollect_session> sessions() const { return {batch_.sessions, batch_.session_count}; }
  std::span<const ttcollect_host_zone> host_zones() const {
    return {batch_.host_zones, batch_.host_zone_count};
  }
  std::span<const ttcollect_host_message> host_messages() const {
    return {batch_.host_messages, batch_.host_message_count};
  }
  std::span<const ttcollect_op_name> op_names() const { return {batch_.op_names, batch_.op_name_count}; }
  std::string_view name(uint32_t number) const { return batch_.names[number].name; }
  const ttcollect_name& source(uint32_t number) const { return batch_.names[number]; }
  size_t name_count() const { return batch_.name_count; }
  bool lapped() const { return lapped_; }  // in front of, or among these rows some were missed

 private:
  ttcollect_batch batch_;
  bool lapped_;
};

class MarkerStream {
 public:
  // Throws Error.
  explicit MarkerStream(const std::string& from, const Options& options = {}) {
    char why[1024] = "";
    const int status = ttcollect_open(from.c_str(), &options, &reader_, why, sizeof why);
    if (status != TTCOLLECT_OK) throw Error(status, why);
  }
  MarkerStream(MarkerStream&& other) noexcept
      : reader_(std::exchange(other.reader_, nullptr)), over_(other.over_), whole_(other.whole_) {}
  MarkerStream& operator=(MarkerStream&& other) noexcept {
    std::swap(reader_, other.reader_);
    std::swap(over_, other.over_);
    std::swap(whole_, other.whole_);
    return *this;
  }
  ~MarkerStream() { ttcollect_close(reader_); }

  // Nothing at the end. Of a live source a batch may be empty: nothing came within `timeout`. Throws Error where reading failed; an
  // end that is not whole is no exception: whole() and remarks().
  std::optional<Batch> next(std::chrono::milliseconds timeout = std::chrono::seconds(1)) {
    if (over_) return std::nullopt;
    ttcollect_batch batch{};
    batch.struct_bytes = sizeof batch;
    const int status = ttcollect_next(reader_, milliseconds(timeout), &batch);
    over_ = status == TTCOLLECT_END || status == TTCOLLECT_INCOMPLETE;
    whole_ = whole_ && status >= TTCOLLECT_OK;
    if (!over_ && status < TTCOLLECT_OK && status != TTCOLLECT_LAPPED)
      throw Error(status, ttcollect_error(reader_));
    return Batch(batch, status == TTCOLLECT_LAPPED);
  }
  bool whole() const { return whole_; }  // so far nothing was missed, cut or damaged
  std::vector<std::string> remarks() const {
    std::vector<std::string> all;
    for (const char* one; (one = ttcollect_remark(reader_, all.size())) != nullptr;) all.emplace_back(one);
    return all;
  }
  ttcollect_account account() const {
    ttcollect_account account{};
    account.struct_bytes = sizeof account;
    ttcollect_get_account(reader_, &account);
    return account;
  }

 private:
  static uint32_t milliseconds(std::chrono::milliseconds timeout) {
    return static_cast<uint32_t>(std::clamp<int64_t>(timeout.count(), 0, UINT32_MAX));
  }

  ttcollect_reader* reader_ = nullptr;
  bool over_ = false, whole_ = true;
};

}  // namespace ttcollect
