// Finding the profiler in a tile's L1 without knowing how the firmware was built.
//
// Three kinds of evidence, in this order: the worker magic word anchors the control vector's address; the
// vector's own words must fingerprint exactly one generation; the RISC buffers behind it must carry that
// generation's identity. What does not agree is refused, and the refusal says which evidence disagreed.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "firmware_markers/control_vector.hpp"

namespace ttc::markers {

struct L1Image {
  uint32_t base_address;  // L1 address of words[0]; a multiple of 4
  std::span<const uint32_t> words;
};

struct Discovery {
  const Layout* layout = nullptr;  // null: refused
  uint32_t control_address = 0;
  uint32_t buffer_address = 0;  // L1 address of RISC 0's buffer
  ControlVector vector;
  std::vector<std::string> evidence;  // what agreed; on refusal, what did not
  explicit operator bool() const { return layout != nullptr; }
};

// How much L1 above the mailbox base must be read for discovery.
inline constexpr uint32_t kDiscoveryBytes = kMagicSearchBytes + 64 * 4 + 16;

// `only`: accept this generation alone (a user's flag); null tries all.
Discovery discover(const L1Image& image, const Placement& placement, const Layout* only = nullptr);

// The evidence as one sentence part, for messages.
std::string joined(const std::vector<std::string>& evidence);

}  // namespace ttc::markers
