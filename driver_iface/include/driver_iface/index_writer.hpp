// The only way to write to a card: storing 0 to words that were named when the writer was opened. The interface
// has no other value and no other address. Only a collector that was started with --recycle opens one.
//
// One writer a card, over all processes: the card grants it (emulated card: to one connection; kernel driver: its
// advisory lock kWriterLock, held by this object's descriptor). The right ends with the process, however it
// ends. Not thread-safe: one thread, the one that reads the card.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "driver_iface/card.hpp"

namespace ttc::card {

inline constexpr uint8_t kWriterLock = 47;  // of the driver's 64 a card; 0 to 15 belong to Ethernet cores

// Consecutive words of a Tensix tile's L1.
struct ClearableWords {
  Coord tile;
  Coord noc;             // where the chip answers for it: Card::noc_place()
  uint32_t address = 0;  // a multiple of 4
  uint32_t words = 0;    // at most 32
};

class IndexWriter {
 public:
  virtual ~IndexWriter() = default;
  IndexWriter() = default;
  IndexWriter(const IndexWriter&) = delete;
  IndexWriter& operator=(const IndexWriter&) = delete;

  // Stores 0 to word i of places()[place] for every bit i of `mask`. In order, and before anything that this
  // thread loads from the card afterwards. Never partly refused: with `refused` no word was written.
  virtual Access clear(size_t place, uint32_t mask) = 0;

  const std::vector<ClearableWords>& places() const { return places_; }

 protected:
  explicit IndexWriter(std::vector<ClearableWords> places) : places_(std::move(places)) {}
  bool may_clear(size_t place, uint32_t mask) const {
    return place < places_.size() && mask != 0 && mask >> (places_[place].words - 1) <= 1;
  }

 private:
  std::vector<ClearableWords> places_;
};

// Opens the writer of the card behind `spec`, which is as open_card() takes it. Throws OpenError: no permission to
// write, another writer is there, a card that takes no writes.
std::unique_ptr<IndexWriter> open_index_writer(const std::string& spec, std::vector<ClearableWords> places);

}  // namespace ttc::card
