// Conditions on which a flight recorder writes: found in the chunks of one device, or missing in them. Decodes markers
// as they come, on the recorder's thread.
#pragma once
#include <bitset>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "firmware_markers/decoder.hpp"
#include "firmware_markers/zone_names.hpp"
#include "shm/chunk.hpp"

namespace ttc::collect {

struct TriggerRules {
  struct Long {
    std::string zone;  // empty: any
    uint64_t ns = 0;
  };
  std::vector<Long> long_zones;    // zone:NAME>100us, zone>100us
  std::vector<std::string> zones;  // zone:NAME
  bool loss = false;               // loss
  uint64_t silent_ns = 0;          // silent>2s: no marker from a lane that had some
  bool exit = false;               // exit: the workload's process is gone
  bool reset = false;              // reset: the card was reset or went away
  bool any() const { return !long_zones.empty() || !zones.empty() || loss || silent_ns || exit || reset; }
};

// Adds the rule in `text`. Returns the error as a sentence, or an empty string.
std::string add_trigger(const std::string& text, TriggerRules& rules);

class TriggerWatch {
 public:
  explicit TriggerWatch(const TriggerRules& rules) : rules_(rules) {}

  // The reason to write, as a sentence part; no value if there is none.
  std::optional<std::string> push(std::span<const uint64_t> chunk);
  // Chunks did not come. A zone that was open ends elsewhere: how long it took is not known.
  void missed() {
    for (auto& [key, lane] : lanes_) lane.open.clear();
  }
  // `raw_ns`: CLOCK_MONOTONIC_RAW, as chunks are dated.
  std::optional<std::string> at(uint64_t raw_ns);

 private:
  struct Lane {
    uint64_t news_ns = 0;
    bool reported_silent = false;
    std::map<uint16_t, uint64_t> open;  // start of each zone under way, by id
  };

  std::optional<std::string> words(std::span<const uint64_t> chunk);
  std::optional<std::string> judge(const shm::ChunkHeader& h, uint8_t risc, const markers::Marker& m,
                                   Lane& lane);
  std::string name_of(uint16_t id) const;
  std::string lane_name(uint32_t key) const;

  const TriggerRules rules_;
  markers::ZoneNames names_;
  markers::Batch batch_;
  std::unordered_map<uint32_t, Lane> lanes_;
  uint64_t aiclk_mhz_ = 1000;
};

}  // namespace ttc::collect
