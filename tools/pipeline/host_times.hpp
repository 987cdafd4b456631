// The time stage for one session: its clock model as chunks bring it, words that wait until the model covers
// them, and the conversion of a frame's markers.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "shm/chunk.hpp"
#include "tools/pipeline/waiting_words.hpp"
#include "ttcollect/clock_map.hpp"

namespace ttc::tools {

enum class HostClock : uint8_t { raw, realtime, boottime };
std::optional<HostClock> host_clock_by_name(const std::string& name);

// Words of a chunk were on the card at the latest so long after the chunk's read time.
inline constexpr uint64_t kWordsReadWithinNs = 100'000'000;

// The host time of one marker.
struct MarkerHostTime {
  collect::HostTime at = 0;  // sixteenths of a nanosecond of CLOCK_MONOTONIC_RAW
  uint64_t bound = collect::kNoBound;
  collect::BoundKind kind = collect::BoundKind::none;
  bool final = false;
};

class HostTimes {
 public:
  // Each returns why a chunk makes no sense, empty when it does.
  std::string take_clock(std::span<const char> body);
  std::string take_domains(std::span<const char> json);

  // A chunk of words, to be had back by next_ready(). `memory` keeps them; null: they are copied.
  void wait(std::span<const uint64_t> chunk, std::shared_ptr<const void> memory) {
    waiting_.push(chunk, std::move(memory));
  }
  // The next chunk whose markers the model's final segments cover, or any when `all`. None: without words.
  WaitingWords::Chunk next_ready(bool all);

  // What convert() makes, and memory that it uses again.
  struct Converted {
    std::vector<MarkerHostTime> of;  // by marker
    std::vector<collect::HostTime> times;
    std::vector<collect::ClockMap::Run> runs;
  };
  // Converts a tile's markers, read at `read_time_ns`: the time of those whose tile has no clock, where others have one. Returns how many
  // have no bound. Any thread, as long as none takes a clock or domains.
  size_t convert(uint8_t x, uint8_t y, uint64_t read_time_ns, std::span<const uint64_t> marker_times,
                 Converted& to) const;

  // Of the tile's counter; null: none, or it is not known how far the tile's is from it.
  const collect::ClockMap* clock_of(uint8_t x, uint8_t y) const;

  // The offset from RAW to another clock, as compared last; none while there is no model.
  std::optional<int64_t> difference_ns(HostClock clock) const;
  bool known() const { return !maps_.empty(); }

  // The map of the reference tile's domain; null: not known yet.
  const collect::ClockMap* reference() const {
    const auto it = maps_.find(0);
    return it == maps_.end() ? nullptr : &it->second;
  }
  // The domain of each tile that is not of the reference tile's.
  const std::map<std::pair<uint8_t, uint8_t>, uint8_t>& domains() const { return domains_; }
  // The map of the domain that the last take_clock() was about.
  const collect::ClockMap& latest() const { return maps_.at(latest_); }

 private:
  static constexpr uint64_t kMostWaiting = 64 << 20;  // bytes; a source whose clock chunks fail to come

  bool covered(std::span<const uint64_t> chunk) const;

  std::map<uint8_t, collect::ClockMap> maps_;               // by domain
  std::map<std::pair<uint8_t, uint8_t>, uint8_t> domains_;  // of tiles that are not of domain 0
  uint8_t latest_ = 0;
  WaitingWords waiting_;
};

}  // namespace ttc::tools
