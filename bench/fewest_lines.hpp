// The bound that round trips are held against: the lines that hold the indices and RUN_COUNTER, once, and
// every line that holds a new word, once. Counted where the words really lie.
#pragma once
#include <set>

#include "bench/emulated_rig.hpp"

namespace ttc::bench {

inline size_t fewest_control_lines(const collect::Attachment& a) {
  const device::Format& f = a.layout->format;
  std::set<uint64_t> lines;
  const auto add = [&](uint64_t from, uint64_t bytes) {
    for (uint64_t l = from / card::kLineBytes; l <= (from + bytes - 1) / card::kLineBytes; ++l)
      lines.insert(l);
  };
  add(a.cores.front().control_address + 4 * f.host_end, 4 * device::kMaxRiscs);
  add(a.cores.front().control_address + 4 * f.run_counter, 4);
  return lines.size();
}

struct NewLines {
  uint64_t touched = 0;
  uint64_t whole = 0;  // as if every lane's words began at a line

  NewLines& operator+=(const NewLines& o) {
    touched += o.touched;
    whole += o.whole;
    return *this;
  }
};

// Follows what the firmware appends to the logs of the cores that are looked after.
class Appended {
 public:
  Appended(const Rig& rig, uint32_t bytes_per_risc) : rig_(rig), bytes_per_risc_(bytes_per_risc) {
    for (size_t core = 0; core < rig.cores.size(); ++core) ends_.push_back(indices(core));
  }

  // Lines of that core with words that were not there at the last call.
  NewLines since(size_t core) {
    const Indices now = indices(core);
    const collect::Attachment& a = rig_.attachment;
    NewLines lines;
    for (uint32_t risc = 0; risc < device::kMaxRiscs; ++risc) {
      const uint64_t bytes = 4ull * (now[risc] - ends_[core][risc]);
      const uint64_t region =
          markers::log_place(a.cores[core].flat_id, risc, a.core_count_per_dram, a.dram_base, bytes_per_risc_)
              .address;
      lines.touched += card::lines_touched(region + 4ull * ends_[core][risc], bytes);
      lines.whole += (bytes + card::kLineBytes - 1) / card::kLineBytes;
    }
    ends_[core] = now;
    return lines;
  }

 private:
  using Indices = std::array<uint32_t, device::kMaxRiscs>;
  Indices indices(size_t core) const {
    const uint32_t first =
        rig_.attachment.cores.front().control_address + 4u * rig_.attachment.layout->format.host_end;
    Indices now;
    for (uint32_t r = 0; r < device::kMaxRiscs; ++r)
      now[r] = rig_.card().load(rig_.cores[core]->where().at, first + 4 * r);
    return now;
  }

  const Rig& rig_;
  uint32_t bytes_per_risc_;
  std::vector<Indices> ends_;
};

}  // namespace ttc::bench
