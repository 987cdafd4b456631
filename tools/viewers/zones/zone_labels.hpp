// The labels of markers in viewers: name, source, kind and colour, each distinct one numbered once.
//
// Names that hold the number of a launch (dispatch zones) are not labels: there would be no end of them.
//
// One thread numbers labels. Any other may look for those that are numbered (find_lane(), Lane::known()) while names do not change.
#pragma once
#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "tools/pipeline/format.hpp"

namespace ttc::tools {

enum class ZoneKind : uint8_t { firmware, kernel, dispatch, profiler, user, event };

struct ZoneLabel {
  uint32_t number = 0;  // from 0, without gaps
  std::string name;     // "zone 0x1a2b" where the log of names does not have it
  std::string file;     // empty: not known
  uint32_t line = 0;
  uint16_t hash = 0;    // id in the marker
  bool hashed = false;  // false: the id is the event itself
  ZoneKind kind = ZoneKind::user;
  uint32_t rgb = 0;  // of its kind, for firmware and kernel zones of its processor
};

// The kind of a zone of which only the name is known.
ZoneKind kind_of_zone(std::string_view name);
// 0xRRGGBB of zones of a kind on a processor: one meaning of colours in pictures and pages.
uint32_t colour_by_kind(ZoneKind kind, std::string_view processor);

class ZoneLabels {
 public:
  // The labels of one frame's processor; valid as long as names do not change. Index: marker id.
  class Lane {
   public:
    // Ids are hashes: their places in `known_` are a page each, those of `recent_` are of the first cache.
    const ZoneLabel& of(const markers::Marker& marker) {
      const Table table = table_of(marker);
      const uint32_t key = uint32_t{marker.id} << 2 | table;
      Recent& recent = recent_[(marker.id ^ marker.id >> 7) % kRecent];
      if (recent.key == key) return *recent.label;
      const ZoneLabel* const label = known_[table].of(marker.id);
      recent = {key, label ? label : &look_up(marker, table)};
      return *recent.label;
    }
    // Any thread. Null: it is not numbered yet.
    const ZoneLabel* known(const markers::Marker& marker) const {
      return known_[table_of(marker)].of(marker.id);
    }
    uint32_t number_of(const markers::Marker& marker) { return of(marker).number; }

   private:
    friend class ZoneLabels;
    enum Table : uint8_t { zones, data, events, quick_pushes, kTables };  // one id means four things
    static Table table_of(const markers::Marker& m) {
      if (m.flags & markers::kQuickPush) return quick_pushes;
      if (m.type <= markers::MarkerType::zone_total) return zones;
      return m.type == markers::MarkerType::ts_event ? events : data;
    }
    const ZoneLabel& look_up(const markers::Marker& marker, Table table);
    struct Recent {
      uint32_t key = ~0u;
      const ZoneLabel* label = nullptr;
    };
    static constexpr size_t kRecent = 128;
    // Labels by id: written by one thread.
    class Known {
     public:
      const ZoneLabel* of(uint16_t id) const {
        const Place* const places = places_.load(std::memory_order_acquire);
        return places ? places[id].load(std::memory_order_acquire) : nullptr;
      }
      void add(uint16_t id, const ZoneLabel& label);
      void clear();

     private:
      using Place = std::atomic<const ZoneLabel*>;
      std::atomic<const Place*> places_ = nullptr;
      std::unique_ptr<Place[]> own_;
      std::vector<uint16_t> ids_;  // those that have one
    };

    ZoneLabels* labels_ = nullptr;
    const markers::ZoneNames* names_ = nullptr;
    std::string_view processor_;
    Known known_[kTables];
    std::array<Recent, kRecent> recent_;
  };

  Lane& lane(const FrameEvents& frame);
  // Any thread. Null: lane() has not been called for such a frame yet.
  const Lane* find_lane(const FrameEvents& frame) const;
  void names_changed();
  const std::deque<ZoneLabel>& all() const { return labels_; }  // by number

 private:
  const ZoneLabel& intern(ZoneLabel label);
  Lane& add_lane(const FrameEvents& frame);

  std::deque<ZoneLabel> labels_;
  std::map<std::tuple<std::string, std::string, uint32_t, uint16_t, ZoneKind, uint32_t>, uint32_t> numbers_;
  mutable std::mutex lanes_mutex_;
  std::map<std::pair<const markers::ZoneNames*, std::string_view>, Lane> lanes_;  // by processor
  // The lane that was requested last: frames of a processor come in a row.
  struct Of {
    const markers::ZoneNames* names = nullptr;
    markers::CoreKind core_kind{};
    uint8_t risc = 0;
    device::Mode mode{};
    bool operator==(const Of& other) const = default;
  };
  Of last_of_;
  Lane* last_lane_ = nullptr;
};

}  // namespace ttc::tools
