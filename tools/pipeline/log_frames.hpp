// The workload's own device log (profile_log_device.csv) as a source of a format, beside the pipeline: for
// chips that no collector reaches, such as those of an n300 or a T3000 that have no PCIe of their own.
//
// Rows of one processor and launch that follow each other are a frame. A name is found by its zone's id where
// the id is its hash, else it goes with each marker. Session::logged marks the chip. What the log lost is not in it.
//
// The log names both processors of an Ethernet core of Blackhole alike. Their firmware zones have ids of their own:
// rows belong to the one whose firmware zone came last, and an end to the one that has it open.
//
// Times: cycles of the chip's own clock. If sync_device_info.csv is beside the log and the clock of its
// root is known, host times as well, without a bound: the file has none.
#pragma once
#include <deque>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "tools/device_log/device_log_reader.hpp"
#include "tools/pipeline/pipeline.hpp"
#include "tools/pipeline/sync_lines.hpp"

namespace ttc::tools {

// Device logs, and all other sources.
struct NamedSources {
  std::vector<std::string> logs, others;
};
NamedSources sorted_sources(const std::vector<std::string>& given);

class LogFrames {
 public:
  // The clock model of a chip, or null.
  using Clocks = std::function<const collect::ClockMap*(uint32_t chip)>;

  explicit LogFrames(const Filter& filter) : filter_(filter) {}
  // Chips whose rows are left out, because they are known from elsewhere.
  void leave_out(std::set<uint32_t> captured) { captured_ = std::move(captured); }
  // If it is not called there are no host times.
  void clocks(Clocks clocks) { clocks_ = std::move(clocks); }

  // Plays the chips of these logs that a finished pipeline lacks. Throws SourceError as play() does.
  void play_beside(const Pipeline& pipeline, bool host_times, const std::vector<std::string>& logs,
                   Format& format);
  // Throws SourceError when the file cannot be read or is no device log.
  void play(const std::string& path, Format& format);

  uint64_t markers() const { return delivered_; }
  bool damaged() const { return damaged_; }
  std::vector<std::string> remarks() const { return remarks_; }

 private:
  struct Launch {
    uint32_t chip = 0;
    uint8_t x = 0, y = 0;
    LogRisc risc = LogRisc::brisc;
    uint8_t twin = 0;  // 1: the second processor of that name
    uint32_t host_id = 0;
    std::optional<uint32_t> trace_id, trace_counter;
    bool operator==(const Launch&) const = default;
  };
  // A core with two processors of one name.
  struct Twins {
    std::optional<uint16_t> first;    // firmware zone of the first
    uint8_t now = 0;                  // whose firmware zone came last
    std::multiset<uint16_t> open[2];  // zones
  };
  Launch launch_of(const DeviceLogRow& row);
  uint8_t twin_of(const DeviceLogRow& row);
  void meet(uint32_t chip, const DeviceLogHead& head, const std::string& path, Format& format);
  void take(const DeviceLogRow& row, Format& format);
  void flush(Format& format);
  void by_time();
  void convert(const Launch& launch);
  bool named_by_hash(const DeviceLogRow& row, Format& format);
  void add_remarks(const DeviceLogReader& reader, const std::string& path);

  const Filter& filter_;
  std::set<uint32_t> captured_;
  Clocks clocks_;
  SyncLines sync_;
  std::set<uint32_t> met_;
  markers::ZoneNames names_;
  markers::Batch no_batch_;
  std::map<std::tuple<uint32_t, uint8_t, uint8_t>, Twins> twins_;  // by chip and core
  Launch launch_;
  uint16_t main_zone_ = 0;
  std::vector<markers::Marker> markers_;
  std::vector<uint64_t> payloads_, on_root_;
  std::vector<HostSemantics> semantics_;
  std::deque<markers::ZoneSource> sources_;  // of semantics_
  std::vector<MarkerHostTime> host_times_;
  std::vector<collect::HostTime> times_;
  std::vector<collect::ClockMap::Run> runs_;
  uint64_t delivered_ = 0;
  bool damaged_ = false;
  std::vector<std::string> remarks_;
};

}  // namespace ttc::tools
