// A card whose silent and slow tiles are not read for a while. A load that no endpoint answers stalls the CPU and
// returns 0xFFFFFFFF (tt-umd device/pcie/device_memcpy.cpp: about 700 ms a read); about a hundred of them can
// hang the NoC or the host. The guard bounds their number:
//
//   - Trouble is a copy or a run of registers that is all-ones throughout, words that the caller doubts, or a tile
//     that is slow (below). The tile is then not touched for kFirstBackoffNs; the time doubles if trouble comes back
//     before the tile has worked for as long as it was left alone. Until then every access to it returns
//     Access::suspect. What a slow load returned is still delivered.
//   - After trouble the card is checked before anything else is loaded (Card::check()). Then the node id
//     register of other tiles is loaded; when those are all-ones too, the card is gone and not the tile.
//   - The first thing loaded from a Tensix or Ethernet tile is its node id register, by a single load.
//   - Loads that returned all-ones are counted over all tiles. After kMostUnanswered of them silent tiles are
//     left alone for good. After kLetGoAt, because still others turned silent, the card counts as gone. A new
//     GuardedCard over a card opened again starts counting at zero.
//   - DRAM may hold all-ones. A word of the tile that was not all-ones before is loaded: it shows whether the tile
//     answers; the copy is then made once more.
//
// **Slow tile or absent CPU.** A load that took longer than kSlowNs and its lines' allowance is slow. The delay of
// an emulated card's access is subtracted. The clock cannot show what took the rest: while the host of a virtual
// machine runs another machine, while the kernel runs another thread and while this process is stopped, it runs
// on as it does while a tile does not answer. No account of the kernel covers all three. The guard therefore
// loads a reference when a slow load brought words: one word of the same tile by the same kind of access, at most
// kReferenceLoads times, and at most once when the slow load or the first reference took kStallNs. A slow reference
// during which the kernel ran another thread (ru_nivcsw of getrusage(2) moved) shows nothing: it is repeated, at most
// kInterruptedReferences times for one slow load, unless it took kStallNs.
//
//   - One reference answers within a line's allowance: the tile is not slow. The load counts as delayed, and the
//     tile is not left alone. A tile that is slow once in many loads is such a tile: it costs those loads only, every
//     one of which brings words, and to leave it alone would cost its markers. Many delayed loads of few tiles are
//     what shows it.
//   - None does: the tile is slow. A CPU that was taken away and has come back stays for longer than a load takes.
//   - A slow load that brought only ones gets no reference: it counts as not answered.
//
// A load that is not slow costs two readings of the clock.
#pragma once
#include <functional>
#include <memory>
#include <vector>

#include "driver_iface/card.hpp"

namespace ttc::card {

class GuardedCard : public Card {
 public:
  static constexpr uint64_t kSlowNs = 2'000'000;
  static constexpr uint64_t kStallNs = 100'000'000;
  static constexpr unsigned kReferenceLoads = 2;         // for one slow load
  static constexpr unsigned kInterruptedReferences = 6;  // beside them
  static constexpr uint64_t kFirstBackoffNs = 100'000'000;
  static constexpr uint64_t kLongestBackoffNs = 3'200'000'000;
  // About a hundred hang the network (tt-umd issue 1673).
  static constexpr uint64_t kMostUnanswered = 50, kLetGoAt = 80;

  using Clock = std::function<uint64_t()>;  // nanoseconds, at no instant of its own; called twice an access
  static Clock usual_clock();               // driver_iface/card/quick_clock.hpp

  using Interruptions = uint64_t (*)();  // how often the kernel took the CPU from this thread
  static uint64_t involuntary_switches();

  explicit GuardedCard(std::unique_ptr<Card> card, Clock clock = usual_clock(),
                       Interruptions interruptions = involuntary_switches);

  struct Account {
    uint64_t slow_reads = 0;
    uint64_t delayed_reads = 0;   // slow loads whose reference was fast
    uint64_t delayed_tiles = 0;   // tiles that ever had one: where the CPU was away they are many
    uint64_t all_ones_reads = 0;  // and words that the caller doubted
    uint64_t suspicions = 0;      // times a tile was left alone
    uint64_t suspect_tiles = 0;   // tiles that ever were
    uint64_t unanswered = 0;      // loads, each line of a copy being one
  };
  const Account& account() const { return account_; }
  // Ends all backoffs but those for good: the next access to each tile is made. For a last poll.
  void try_again();

  const Identity& identity() const override { return card_->identity(); }
  int workload_pid() override { return card_->workload_pid(); }
  std::span<const Tile> tiles() const override { return card_->tiles(); }
  Access aim(Window window, Coord tile, uint64_t address) override;
  Access load_registers(Window window, uint32_t offset, std::span<uint32_t> out) override;
  Access copy(Window window, uint32_t offset, std::span<uint64_t> out) override;
  Access one_load(Window window, Memory memory, uint32_t offset, std::span<uint32_t> out) override;
  Access wall_clock(Coord tile, uint64_t& cycles) override;
  Health health() override { return lost_ ? Health::gone : card_->health(); }
  uint64_t line_allowance_ns() const override { return card_->line_allowance_ns(); }
  Health check() override { return lost_ ? Health::gone : card_->check(); }
  int hangup_fd() const override { return card_->hangup_fd(); }
  Coord noc_place(Coord tile) const override { return card_->noc_place(tile); }
  unsigned memory_numberings() const override { return card_->memory_numberings(); }
  void use_memory_numbering(unsigned way) override;
  std::optional<DescriptorRange> descriptor_range(Coord tile, uint64_t address, uint32_t bytes) override;
  Access release(const DescriptorRange& range, std::span<const uint64_t> bytes_read) override {
    return card_->release(range, bytes_read);
  }
  Telemetry telemetry() override { return card_->telemetry(); }
  Transactions transactions() const override { return card_->transactions(); }
  Access doubt(Coord tile) override;

 private:
  struct TileState {
    bool known = false;    // its node id was read
    bool rests = false;    // until until_ns
    bool silent = false;   // when it was put to rest
    bool delayed = false;  // a slow load, and a quick reference
    uint64_t until_ns = 0;
    uint64_t backoff_ns = 0;     // the last one; 0: never had one
    bool has_reference = false;  // DRAM: `reference` is an address whose word was not all-ones
    uint64_t reference = 0;
    unsigned blank_copies = 0;  // DRAM: all-ones in a row, while there is no reference
  };
  struct Aimed {
    bool valid = false;
    Coord tile;
    uint64_t address = 0;
  };

  TileState& state(Coord tile);
  bool for_good(const TileState& tile) const;
  bool resting(TileState& tile) const;
  Access first_touch(Coord tile);
  Access silence(Coord tile, uint64_t loads);
  uint64_t unanswered_of(uint64_t lines) const;
  Access trouble(Coord tile, bool silent = false);
  bool gone();
  bool card_answers(Coord but);
  bool node_id_answers(Coord tile);
  Access judge_all_ones(Window window, uint32_t offset, std::span<uint64_t> out);
  Access aim_again(Window window);
  void begin();
  uint64_t taken_ns() const;
  bool slow(uint64_t lines);
  // A word of the tile that was slow, loaded again.
  using Reference = std::function<Access(uint32_t& word)>;
  Reference node_id(Window window);  // which is aimed at the tile's registers
  Reference register_word(Window window, uint32_t offset);
  Reference memory_word(Window window, uint32_t offset);
  Access judge_slow(Coord tile, const Reference& load);
  static Access delivered(Access judged);

  std::unique_ptr<Card> card_;
  std::vector<TileState> states_;  // by y * grid_x + x
  TileState no_tile_;              // beyond the grid
  Aimed aimed_[kWindows];
  Account account_;
  Clock now_ns_;
  Interruptions interruptions_;
  bool lost_ = false;
  bool stalled_ = false;       // the access under way took far too long
  uint64_t begun_ns_ = 0;      // the access under way
  uint64_t transport_ns_ = 0;  // before it
};

}  // namespace ttc::card
