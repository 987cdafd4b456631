// The meta data of a device log's rows, read back: what of it is on the markers and so comes back by itself.
#pragma once
#include <cstdint>
#include <optional>

#include "tools/device_log/device_log_reader.hpp"

namespace ttc::emulation {

struct RowMeta {
  bool comes_back = true;               // an exporter makes the same from the markers
  std::optional<uint64_t> second_half;  // of 16-byte data
};

// Parses what tt-metal's log and our own export write: second half of 16-byte data (data_2, counters,
// addresses of NoC debugging), commands of dispatch cores, names that share an id.
RowMeta meta_of(const tools::DeviceLogRow& row);

}  // namespace ttc::emulation
