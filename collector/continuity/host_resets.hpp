// The host resets all cores of a device in one results read. Tensix cores are polled so often that each reset shows; of cores that
// are polled rarely (Ethernet) this count has how many resets may have passed between two polls. Pure.
#pragma once
#include <compare>
#include <cstdint>
#include <optional>

namespace ttc::collect {

class HostResets {
 public:
  // A moment from which on resets are counted.
  struct Mark {
    uint64_t ns = 0, counted = 0;
    auto operator<=>(const Mark&) const = default;  // NOLINT(modernize-use-nullptr): of clang-tidy 14
  };
  uint64_t counted() const { return counted_; }

  // A Tensix core noticed a reset that came behind its poll at `after_ns`. Cores that notice one results read count it once.
  void noticed(uint64_t after_ns);
  // A Tensix core was polled. `each_shows`: no reset behind its poll before can have gone by unnoticed.
  void polled(uint64_t begun_ns, bool each_shows);
  // Number of results reads since `mark`; no value: not known.
  std::optional<uint64_t> since(const Mark& mark, uint64_t now_ns) const;

 private:
  uint64_t counted_ = 0;
  uint64_t after_ns_ = 0;      // of the last one that was counted
  uint64_t watched_ns_ = 0;    // the last poll that noticed each reset in front of it
  uint64_t uncounted_ns_ = 0;  // more than those counted may have passed before it
};

}  // namespace ttc::collect
