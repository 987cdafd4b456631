// A .ttc file in its first, simple form: a 64-byte header, then the chunks as they went through the ring,
// each padded to 8 bytes. A file cut anywhere is valid up to its last whole chunk. Version 1.
#pragma once
#include <cstdint>

namespace ttc::collect {

inline constexpr uint64_t kCaptureMagic = 0x3130'7061'6363'7474;  // little-endian text "ttccap01"

struct CaptureHeader {
  uint64_t magic = kCaptureMagic;
  uint32_t version = 1;
  uint32_t header_bytes = 64;
  uint64_t session = 0;
  uint8_t reserved[40] = {};
};
static_assert(sizeof(CaptureHeader) == 64);

}  // namespace ttc::collect
