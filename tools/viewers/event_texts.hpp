// Texts of NoC events and hardware counters for viewers: a name of type and target, and the separate fields. tt-metal's
// own log has packed numbers in their place.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "firmware_markers/noc_event.hpp"
#include "tools/pipeline/format.hpp"
#include "tools/viewers/host/event_field.hpp"

namespace ttc::tools {

// The name as it is written everywhere: "core 1,2", NOC0 physical.
std::string core_name(unsigned x, unsigned y);

struct EventText {
  uint32_t marker = 0;  // index in its frame
  std::string name;
  std::string type = {};  // of a NoC event, without its target
  std::vector<EventField> fields;
  // The name of a hardware counter, and how many of its reference cycles it counted, in percent.
  std::string counter = {};
  double percent = 0;
  // The places that a NoC event addressed, from corner to corner, as the core numbered them. None: it names none, or one
  // of another chip.
  struct Target {
    int x, y, end_x, end_y;
    bool noc1;
  };
  std::optional<Target> target = {};
  std::vector<uint64_t> flows = {};  // to the marks on the cores that it addressed
};

class EventTexts {
 public:
  // The texts of a frame's markers that need one. Valid until the next call. A device log has one column for data,
  // and names its counters itself: of a device log only NoC events of one word are unpacked.
  std::span<EventText> of(const FrameEvents& frame);
  // Whether any of them needs one.
  static bool any(std::span<const markers::Marker> markers);

 private:
  void describe(const FrameEvents& frame, uint32_t index, markers::MetalDate date);
  std::vector<EventText> texts_;
};

}  // namespace ttc::tools
