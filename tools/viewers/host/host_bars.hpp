// The workload's host side as bars of the page's timeline: zones of threads, frames, locks and waits for them, by
// CLOCK_MONOTONIC_RAW. It keeps so many bars, the longest, and counts those that it leaves out.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tools/pipeline/format.hpp"
#include "tools/viewers/host/host_tracks.hpp"

namespace ttc::tools {

enum class HostBarKind : uint8_t { zone, lock, wait, frame };

struct HostBar {
  uint64_t begin_ns = 0, end_ns = 0;
  uint32_t lane = 0, name = 0;  // indices of HostBars::lanes() and names()
  uint32_t depth = 0;
  std::optional<HostOp> op;  // that the zone launches
};
struct HostBarName {
  std::string name, source;
  HostBarKind kind = HostBarKind::zone;
  bool operator<(const HostBarName& o) const {
    return std::tie(name, source, kind) < std::tie(o.name, o.source, o.kind);
  }
};

class HostBars : public Format, private HostWriter {
 public:
  explicit HostBars(size_t most) : most_(most) {}

  Order order() const override { return Order::log; }
  void begin(const Session&) override {}
  void frame(const FrameEvents&) override {}
  void loss(const shm::LossRecord&) override {}
  void names_changed() override {}
  void host(std::span<const uint64_t> chunk) override;
  void end() override;
  std::vector<std::string> remarks() const override { return tracks_.remarks(); }

  // The lanes from top to bottom.
  const std::vector<std::string>& lanes() const { return lanes_; }
  const std::vector<HostBarName>& names() const { return names_; }
  const std::vector<HostBar>& bars() const { return bars_; }  // by lane, then by begin, outer first
  size_t left_out() const { return left_out_; }

 private:
  struct Lane {
    uint64_t place = 0;  // among the lanes of its process
    uint32_t process = 0;
    std::string name;
    std::vector<HostBar> open;
  };
  void host_process(const HostProcess& process) override;
  void host_thread(const HostThread& thread) override;
  void host_row(const HostRow& row) override;
  void host_begin(const HostThread& thread, const HostZoneBegin& zone) override;
  void host_end(const HostThread& thread, uint64_t ns, std::string_view text) override;
  void host_span(const HostRow& row, const HostSpan& span) override;
  uint32_t name_of(HostBarName name);
  void keep(const HostBar& bar);
  void shrink(size_t to);
  void sort_lanes();

  size_t most_, left_out_ = 0;
  HostTracks tracks_;
  std::vector<std::string> processes_;
  std::vector<Lane> threads_,
      rows_;  // by number; lanes of bars are even for threads, odd for rows, until end()
  std::map<HostBarName, uint32_t> numbers_;
  std::vector<HostBarName> names_;
  std::vector<HostBar> bars_;
  std::vector<std::string> lanes_;
};

}  // namespace ttc::tools
