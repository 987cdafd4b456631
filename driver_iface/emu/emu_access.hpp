// The access layer of the emulated card: every load of an observer passes here, is checked against what would
// hurt silicon, counted, and charged its latency. In mapped mode it runs in the observer on read-only memory;
// in strict mode the card runs it on the observer's behalf.
#pragma once
#include <map>
#include <utility>
#include <vector>

#include "driver_iface/allow_list.hpp"
#include "driver_iface/emu/emu_faults.hpp"

namespace ttc::card::emu {

// What a load of a tile's register returns now: wall clock and node id. A load of the clock's low half
// latches.
uint32_t register_now(const Arch& arch, Page& page, Coord tile, uint64_t address);

class AccessLayer {
 public:
  // `memory`: the card's memory mapped read-only; both outlive this object.
  AccessLayer(const Arch& arch, const uint8_t* memory, Page& page)
      : arch_(arch), memory_(memory), page_(page), faults_(page) {}

  Access aim(Window window, Coord tile, uint64_t address);
  Access load_registers(Window window, uint32_t offset, std::span<uint32_t> out);
  Access copy(Window window, uint32_t offset, std::span<uint64_t> out);
  Access one_load(Window window, uint32_t offset, std::span<uint32_t> out);
  // Whether a copy of so many bytes stays inside; a violation when not.
  bool fits(Window window, uint32_t offset, uint64_t bytes);
  // Used for reads through the descriptor: the file offset of tile memory, checked and charged.
  std::optional<DescriptorRange> range(Coord tile, uint64_t address, uint32_t bytes);
  Access release(const DescriptorRange& range, std::span<const uint64_t> bytes_read);
  void violate(ViolationKind kind, Coord tile, uint64_t address);

  // Reset or pulled: no part of the card is reachable any more.
  bool card_lost() const { return faults_.card_lost(); }

  // What the card is meant to have taken so far for accesses; waiting for a CPU is not part of it.
  uint64_t charged_ns() const { return charged_ns_ + faults_.hung_ns(); }

  const Transactions& transactions() const { return transactions_; }

 private:
  struct Aimed {
    bool valid = false;
    Coord tile;
    TileKind kind = TileKind::none;
    uint64_t base = 0;         // tile address at window offset 0
    uint64_t file_offset = 0;  // of that address; meaningless for register windows
    uint64_t readable = 0;     // bytes of memory behind the window
  };

  Access locate(Coord tile, uint64_t address, Aimed& to);
  void charge(uint64_t round_trips, uint64_t bytes);
  void disturb_register(const Aimed& window, uint64_t address, uint32_t& value);
  bool disturb_copy(const Aimed& window, const uint64_t* from, std::span<uint64_t> out);
  // The words of one lane's log that a read covers.
  struct LogPart {
    uint32_t lane;
    uint64_t landed;  // packed value loaded before the copy
    uint32_t first_word;
    uint32_t end_word;
  };
  uint32_t views() const;  // DRAM banks of the card
  bool make_stale(uint64_t at, std::span<uint64_t> out);
  std::optional<LogPart> log_part(const Aimed& window, uint64_t offset, uint64_t bytes) const;
  // `got`: what the observer received, `from`: the memory it came from.
  void mark_read(const LogPart& part, std::span<const uint64_t> got, const uint64_t* from);
  bool raise_mark(const LogPart& part, uint64_t words);
  // A read that reached behind what was known to have landed. Whether it got the words shows when they have.
  struct OpenRead {
    LogPart part;
    std::vector<uint64_t> got;
    const uint64_t* from;
    uint64_t resolved_at;  // what had landed when it was last compared with memory
  };
  static constexpr uint64_t kNever = ~uint64_t{0};
  // Of one lane.
  struct OpenReads {
    std::vector<OpenRead> open;
    std::pair<uint64_t, uint64_t> examined_at{kNever, kNever};  // the lane's `landed` and `read` then
  };
  void await_landing();
  void await_host_write();
  template <class Late>
  bool wait_while(const Late& late);
  bool resolve(OpenRead& r);
  void resolve_open_reads();

  const Arch& arch_;
  const uint8_t* memory_;
  Page& page_;
  Faults faults_;
  Aimed aimed_[kWindows];
  Transactions transactions_;
  uint64_t charged_ns_ = 0;
  uint64_t given_up_on_ns_ = 0;  // a landing that did not come
  // The host's write that was found under way last (Page::host_writes), when it was, and the one that did not end.
  uint32_t host_write_ = 0, endless_host_write_ = 0;
  uint64_t host_write_found_ns_ = 0;
  std::map<uint32_t, OpenReads> open_reads_;  // by lane
  uint32_t changes_seen_ = 0;                 // Page::log_changes when all were examined
  // Descriptor ranges handed out, by token.
  std::vector<std::pair<uint64_t, LogPart>> open_ranges_;
  uint64_t next_token_ = 1;
  // Copies of L1 by place and size, where loads are contradicted.
  struct Earlier {
    bool next_is_stale = false;
    std::vector<uint64_t> words;
  };
  std::map<std::pair<uint64_t, size_t>, Earlier> earlier_;
};

}  // namespace ttc::card::emu
