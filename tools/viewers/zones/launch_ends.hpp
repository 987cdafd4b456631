// The ends of the zones of one launch: all that a program takes of a frame (programs.hpp), so that it can be found by any thread.
#pragma once
#include <cstdint>

#include "tools/pipeline/format.hpp"
#include "tools/viewers/zones/duration_bound.hpp"

namespace ttc::tools {

struct LaunchEnds {
  // A marker, kNone: there is none, and its times. `at` and `bound`: its host time, where the frame has some.
  struct End {
    uint32_t marker = FrameZones::kNone;
    uint64_t ns = 0, cycles = 0;
    collect::HostTime at = 0;
    uint64_t bound = collect::kNoBound;
    template <class Ns>
    void set(const FrameEvents& frame, uint32_t place, const Ns& times_ns) {
      marker = place;
      if (place == FrameZones::kNone) return;
      ns = times_ns[place];
      cycles = frame.markers[place].time_cycles;
      const bool timed = !frame.host_times.empty();
      at = timed ? frame.host_times[place].at : 0;
      bound = timed ? frame.host_times[place].bound : collect::kNoBound;
    }
    explicit operator bool() const { return marker != FrameZones::kNone; }
    TimedMarker timed(const FrameEvents& frame) const {
      return {cycles, at, bound, frame.seen_ns * collect::kHostTicksPerNs, frame.tile_clock};
    }
  };
  // Where one of the firmware zone is not in the frame, its first or last marker stands for it.
  End begin, end, kernel_begin, kernel_end;
  bool begins = false,
       ends = false;  // neither: the frame is of no program, and so it is where its host id is 0

  // `ns`: the time of a marker by its index.
  template <class Ns>
  static LaunchEnds of(const FrameEvents& frame, const Ns& ns) {
    LaunchEnds ends;
    ends.set(frame, ns);
    return ends;
  }
  // The same where it lies, which costs less than a copy of it.
  template <class Ns>
  void set(const FrameEvents& frame, const Ns& ns) {
    begins = ends = false;
    if (frame.host_id == 0) return;
    const FrameZones zones = frame.zones();
    begins = zones.firmware.begin != FrameZones::kNone;
    ends = zones.firmware.end != FrameZones::kNone;
    if (!begins && !ends) return;
    begin.set(frame, begins ? zones.firmware.begin : 0, ns);
    end.set(frame, ends ? zones.firmware.end : static_cast<uint32_t>(frame.markers.size() - 1), ns);
    kernel_begin.set(frame, zones.kernel.begin, ns);
    kernel_end.set(frame, zones.kernel.end, ns);
  }
};

}  // namespace ttc::tools
