// Finds what the card's firmware was built for, and where its logs are, if attaching could not because no program had run yet.
// Until all of it is known no word is delivered: frames that were read in the wrong way cannot be withdrawn.
#pragma once
#include <optional>
#include <vector>

#include "collector/core/core_part.hpp"

namespace ttc::collect {

class FirmwareFinder : CorePart {
 public:
  explicit FirmwareFinder(const CorePart& part) : CorePart(part) {}

  // `urgent`: something ran.
  card::Access settle_mode(uint64_t now_ns, bool urgent);
  // True: it is known where logs are, how large they are and how their words are to be read.
  card::Expected<bool> layout_known(const ControlSample& snap);

 private:
  card::Expected<std::optional<device::Mode>> read_mode();
  card::Expected<bool> mode_decided_by_log(const ControlSample& snap);
  void use_mode(device::Mode mode);
  card::Access settle_generation(const ControlSample& snap);
  void use_generation(unsigned generation);
  card::Expected<std::vector<uint32_t>> read_landed_front(const ControlSample& snap, uint32_t words);
};

}  // namespace ttc::collect
