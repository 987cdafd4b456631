// A frame's markers in the form in which reports take them.
#pragma once
#include <array>
#include <map>
#include <tuple>
#include <vector>

#include "shm/chunk.hpp"
#include "tools/pipeline/format.hpp"
#include "tools/report/input/zone_index.hpp"

namespace ttc::report {

class EventMaker {
 public:
  // `zones` gets each new name, and outlives this.
  EventMaker(std::vector<Zone>& zones, bool want_meta) : index_(zones), want_meta_(want_meta) {}

  ZoneIndex& zones() { return index_; }
  static Lane lane_of(const tools::FrameEvents& f);
  // Of all markers but those whose meaning has another host id.
  static Launch launch_of(const tools::FrameEvents& f) {
    return {f.chip, f.host_id, -1, f.trace_counter ? int64_t{f.trace_counter} : -1};
  }
  // To the listener's meta() and events().
  void frame(const tools::FrameEvents& f, Listener& listener);
  // Of a frame whose events another one made: its lane is known from now on.
  void note_lane(const tools::FrameEvents& f);
  void names_changed();
  // The lane to which the markers of a loss's lane are assigned.
  Lane lane_of(const shm::LossRecord& r) const;

 private:
  struct Known {
    uint32_t zone = 0;
    uint16_t id = 0;
    ZoneClass zone_class = ZoneClass::none;
    bool set = false;
  };
  // By id, which is a hash itself. A processor has some hundred zones of 65,536: they lie close together in the caches.
  class KnownZones {
   public:
    const Known* find(uint16_t id) const;  // null: there is none
    // Stays where it is until the next one is added.
    const Known& add(const Known& one);

   private:
    size_t place_of(uint16_t id) const;
    std::vector<Known> places_ = std::vector<Known>(64);  // a power of two
    size_t used_ = 0;
  };

  const Known& known(const tools::FrameEvents& f, const markers::Marker& m, LogRisc risc);

  ZoneIndex index_;
  const bool want_meta_;
  std::map<const markers::ZoneNames*, std::array<KnownZones, kRiscs>> by_names_;
  const markers::ZoneNames* current_ = nullptr;
  std::array<KnownZones, kRiscs>* current_names_ = nullptr;
  // Cores, by chip, x and y, whose markers have the name of no Tensix processor.
  std::map<std::tuple<uint32_t, uint8_t, uint8_t>, LogRisc> odd_lanes_;
  std::vector<Event> batch_;
};

}  // namespace ttc::report
