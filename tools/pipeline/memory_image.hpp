// L1 and DRAM as firmware left them, in a directory: meta.json, zone_src_locations.log and, per epoch
// (stretch between two results reads of the host), epochNNNN/ with, for each core at (X,Y),
//   cv_XX_YY.bin        its control vector
//   l1_XX_YY.bin        the buffers of its RISCs
//   dram_XX_YY_rR.bin   the DRAM log of RISC R, from word 0 to HOST_BUFFER_END_INDEX
// meta.json: arch, gen, C (cores per bank), P (bytes per RISC region), base (of the logs in a bank),
// layout.{CV_ADDR, BUF_ADDR, CORE_INFO_ADDR, OFF_MAGIC}, cores[].{x, y, flat, bank}. Where the
// words and meta.json differ, the words take precedence.
#pragma once
#include <array>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "firmware_markers/discovery.hpp"

namespace ttc::tools {

// One sentence: which file, what is wrong with it.
struct ImageError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

class MemoryImage {
 public:
  struct Core {
    uint8_t x = 0, y = 0;  // NOC0 physical
    markers::CoreKind kind = markers::CoreKind::tensix;
    uint8_t flat_id = 0;
    uint32_t bank = 0;
  };
  struct CoreMemory {
    std::vector<uint32_t> vector;
    std::vector<uint32_t> buffers;
    std::array<std::vector<uint32_t>, device::kMaxRiscs> logs;
  };

  explicit MemoryImage(const std::string& directory);  // throws ImageError

  std::string directory;
  const markers::Placement* placement = nullptr;
  const markers::Layout* layout = nullptr;
  device::Mode mode = device::Mode::normal;
  uint32_t control_address = 0, buffer_address = 0;
  uint32_t magic_address = 0;  // 0: the firmware has none
  uint32_t cores_per_bank = 0, bytes_per_risc = 0, dram_base = 0;
  unsigned epochs = 0;
  std::vector<Core> cores;
  std::vector<std::string> zone_strings;  // zone strings of its log

  // Throws ImageError when the vector is missing or too short for the layout.
  CoreMemory load(const Core& core, unsigned epoch) const;

 private:
  void read_description();
  void read_notes();
  void find_layout();
  std::vector<uint32_t> file(unsigned epoch, const std::string& name) const;
  CoreMemory raw(const Core& core, unsigned epoch) const;
  markers::Discovery discover(const Core& core, const CoreMemory& memory) const;

  std::string generation_;  // as meta.json names it
};

}  // namespace ttc::tools
