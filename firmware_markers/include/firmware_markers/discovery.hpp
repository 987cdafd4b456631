// Finding the profiler in a core's L1 without knowing how the firmware was built.
//
// Evidence, in this order: the core magic word anchors the control vector's address (mailboxes of Jan 2026
// and later); without one every place a vector may have is tried. The vector's own words must fingerprint one
// family of generations; the RISC buffers behind it must carry that generation's identity. What does not
// agree is refused, and the refusal names the evidence that disagreed, or the known format that we do
// not read.
//
// A vector found without a magic word is weak evidence on one core alone (`anchored` false): accept it when
// further cores have theirs at the same address.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "firmware_markers/control_vector.hpp"

namespace ttc::markers {

struct L1Image {
  uint32_t base_address;  // L1 address of words[0]; a multiple of 4
  std::span<const uint32_t> words;
};

// `known_as` for a core whose profiler the host has not set up: switched off, or not yet.
inline constexpr std::string_view kProfilerOff = "profiler not set up";

struct Discovery {
  const Layout* layout = nullptr;  // null: refused
  uint32_t control_address = 0;    // also of a stranger's vector (known_as)
  uint32_t buffer_address = 0;     // L1 address of RISC 0's buffer
  ControlVector vector;
  device::Mode mode = device::Mode::normal;  // as far as L1 shows it
  bool anchored = false;
  std::string known_as;               // refused: the name of the format it is; empty when not recognised
  std::vector<std::string> evidence;  // what agreed; on refusal, what did not
  explicit operator bool() const { return layout != nullptr; }
};

// Why a generation that is known by this name is not read, and what to do; empty where it is not one of
// those.
std::string why_not_read(std::string_view generation);

// The lowest address to read for discovery on a kind of core, and how many bytes from there.
uint32_t discovery_address(const CorePlace& place);
inline constexpr uint32_t kDiscoveryBytes = kMagicSearchBytes + 64 * 4 + 16;

// `only`: accept this generation alone (a user's flag); null tries all.
Discovery discover(const L1Image& image, const Placement& placement, CoreKind kind = CoreKind::tensix,
                   const Layout* only = nullptr);

// How the firmware was built, from one core's vector and its buffers (RISC by RISC, kBufferWords each; may be
// empty). Normal unless they show another mode.
device::Mode mode_of(const ControlVector& vector, std::span<const uint32_t> buffers);
// Decides the same from BRISC's first words alone: of its buffer while it records, or of a frame that has landed in
// its log.
bool looks_accumulated(std::span<const uint32_t> words);

// The id word's low half counts the runs until early 2025, and the launch's id is in the high half. This shows only
// once a run was recorded.
bool has_narrow_ids(const ControlVector& vector, std::span<const uint32_t> buffers);

// L1 holds words of RISC `risc` that no push has taken to its log: a replay's last frame, what accumulates,
// or everything where no log was given to the core. `buffer`: the RISC's; read while no run is in flight.
bool l1_holds_more(const ControlVector& vector, uint32_t risc, device::Mode mode,
                   std::span<const uint32_t> buffer);
// The number of words in the buffer. After a reset the index shows nothing; a firmware that ends its push late (G2)
// has left the end in front of the frame's own words.
uint32_t l1_words(const ControlVector& vector, uint32_t risc, const device::Format& format,
                  std::span<const uint32_t> buffer);

// The evidence as one sentence part, for messages.
std::string joined(const std::vector<std::string>& evidence);

}  // namespace ttc::markers
