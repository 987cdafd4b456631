// Makes the frames that firmware would have pushed, from the rows of one launch on one RISC.
//
// Rows go into the four slots (FW start and end, KERNEL start and end) and into the custom area in the order
// of the file. What does not fit one L1 buffer is pushed in the middle of the run, as quick push does, and
// a file that shows a quick push is cut there. Frames keep the rules that observers rely on: every frame adds only times
// later than the frame before, nothing of a launch is later than its FW end, and the first slot has a zone
// start: of the FW zone, or where a file has pieces of a launch (tt-metal gives rows of dispatch cores the
// ids of the launches they serve) of the first zone there is.
#pragma once
#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "firmware_markers/device/format.hpp"

namespace ttc::emulation {

enum class SlotHint : uint8_t { none, fw, kernel };

struct ReplayRow {
  uint64_t time;  // 44 bits
  uint64_t data[2];
  uint64_t line;
  uint16_t id;
  device::PacketType type;
  SlotHint hint = SlotHint::none;  // by the name of the zone
  bool ends_push = false;          // end of the firmware's own zone around a quick push
};

struct ReplayFrame {
  std::array<uint32_t, 8> slots;  // words 4..11
  std::vector<uint32_t> customs;  // words 12.., padded to a multiple of 16 bytes
  uint64_t last_time;             // latest in it, 44 bits
  uint32_t words() const { return device::kFirstCustomWord + static_cast<uint32_t>(customs.size()); }
};

struct FramesOfLaunch {
  std::vector<ReplayFrame> frames;
  bool finished = false;  // the last frame has its FW end
  uint64_t rows = 0;      // that are in the frames
  uint64_t repeated = 0;  // quick push repeats starts; a row that repeats one is in the frames already
  uint64_t first_time = 0, last_time = 0;
  std::vector<const ReplayRow*> moved_totals;  // a total is dated to the start of its launch
  std::vector<const ReplayRow*>
      early;  // no place for it: before the first zone start, or of before an earlier push
};

// `rows` in the order of the file, all of one launch.
FramesOfLaunch frames_of(std::span<const ReplayRow> rows);

}  // namespace ttc::emulation
