// source -> decode -> name -> meaning -> time -> filter -> format, once for every tool.
//
// The time stage hands device cycles through: no clock segments exist in the chunks yet.
#pragma once
#include <array>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "pipeline/format.hpp"
#include "pipeline/meaning.hpp"
#include "pipeline/source.hpp"

namespace ttc::tools {

struct Filter {
  std::optional<std::pair<uint8_t, uint8_t>> core;  // NOC0 physical
  std::optional<uint8_t> risc;

  bool wants(uint8_t x, uint8_t y, uint8_t r) const {
    return (!core || *core == std::pair{x, y}) && (!risc || *risc == r);
  }
};

class Pipeline {
 public:
  // `date`: of the workload's tt-metal, where the user knows it.
  Pipeline(const Filter& filter, bool keep_duplicates, std::optional<markers::MetalDate> date = {})
      : filter_(filter), keep_duplicates_(keep_duplicates), meaning_(names_, date) {}
  Pipeline(const Pipeline&) = delete;
  Pipeline& operator=(const Pipeline&) = delete;

  // Formats look names up here; give it to them before the first chunk.
  const markers::ZoneNames& names() const { return names_; }

  // One chunk, already checked by its source.
  void push(std::span<const uint64_t> chunk, Format& format);

  uint64_t markers() const { return delivered_; }
  markers::Anomalies anomalies() const { return anomalies_; }
  const std::map<uint64_t, shm::LossRecord>& losses() const { return losses_; }
  // Words that should have come and did not, e.g. because this reader was lapped.
  uint64_t missing_words() const { return missing_words_; }
  // Once at the end: choices that were made and a reader should know of.
  std::vector<std::string> notices() const { return meaning_.notices(); }
  const std::string& complaint() const { return complaint_; }  // a chunk nothing could be made of

 private:
  struct LaneProgress {
    uint64_t session = 0;
    uint32_t epoch = 0;
    uint32_t next_word = 0;
  };

  void session(std::span<const char> text, Format& format);
  void words(std::span<const uint64_t> chunk, Format& format);
  void skip_repeats(const shm::ChunkHeader& h, const shm::SpanEntry& span);
  void account(const shm::ChunkHeader& h, const shm::SpanEntry& span);
  void emit(const shm::ChunkHeader& h, const markers::Frame& frame, Format& format);

  Filter filter_;
  bool keep_duplicates_;
  markers::ZoneNames names_;
  MeaningStage meaning_;
  markers::Batch batch_;
  std::vector<markers::Marker> ordered_;
  markers::Anomalies anomalies_;
  std::map<uint64_t, shm::LossRecord> losses_;
  std::map<uint64_t, LaneProgress> progress_;
  std::map<uint64_t, uint64_t> until_;  // by lane: latest time delivered, where L1 is read too
  uint64_t delivered_ = 0;
  uint64_t missing_words_ = 0;
  std::string complaint_;
};

}  // namespace ttc::tools
