// Merges intervals of loss, so that their number stays bounded however long a lane keeps losing. Of a
// lane's losses of one cause and precision the first 32 are an interval each, the next 32 intervals take in
// two losses each, the next 32 four, and so on: n losses make about 32 * log2(n / 32) intervals. When an
// account has 65536 in all, each lane's last one takes in whatever comes: from then on only a lane that had
// none of that cause and precision adds one.
//
// An interval takes in what follows it: its end moves, words and launches add up, so that totals stay exact
// and every missing marker is in an interval. The only information lost is where, between merged losses, no marker
// is missing.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <utility>

#include "shm/chunk.hpp"

namespace ttc::collect {

class LossMerge {
 public:
  static constexpr uint64_t kFine = 32;
  static constexpr uint64_t kMost = uint64_t{1} << 16;
  explicit LossMerge(uint64_t most = kMost) : most_(most) {}

  // The id of the interval that takes in this loss; without a value it is an interval of its own, `loss.id`.
  // Losses of a lane come in the order of time.
  std::optional<uint64_t> joins(uint64_t session, const shm::LossRecord& loss);
  // An interval of an earlier part of the account: it is counted, and takes in no loss before the account is full.
  void had(uint64_t session, const shm::LossRecord& interval);

 private:
  struct Latest {
    uint64_t id = 0;
    uint64_t from_cycles = 0;
    uint64_t losses = 0;     // in it
    uint64_t intervals = 0;  // of the lane, with it
  };
  using Key = std::pair<uint64_t, uint64_t>;  // session; device, lane, cause and precision
  static Key key_of(uint64_t session, const shm::LossRecord& loss);

  const uint64_t most_;
  std::map<Key, Latest> latest_;
  uint64_t intervals_ = 0;
};

// `to` takes in `loss`, of the same lane, cause and precision.
void take_in(shm::LossRecord& to, const shm::LossRecord& loss);

}  // namespace ttc::collect
