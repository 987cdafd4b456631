// Consecutive chunks of device words that one thread decodes, one after another: chunks of a live card are small, and to hand each of them from
// thread to thread would cost as much as to decode it.
//
// A thread decodes all chunks in the same memory, which stays in its caches. Where the format can take all frames of a chunk without their markers
// (FrameWork), nothing remains of them but what is listed here, so that the pipeline's thread reads little that another one wrote. Else the
// chunk is kept as it was decoded.
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "tools/pipeline/decoded_chunk.hpp"
#include "ttcollect/workers.hpp"

namespace ttc::tools {

class DecodedBatch : public jobs::Workers::Job {
 public:
  // Memory of a thread.
  struct Scratch {
    std::unique_ptr<DecodedChunk> chunk = std::make_unique<DecodedChunk>();
    DecodedChunk::Seen seen;
    std::map<const markers::ZoneNames*, HostSemanticsStage> semantics;
    void names_changed(const markers::ZoneNames& names) {
      if (const auto known = semantics.find(&names); known != semantics.end()) known->second.names_changed();
    }
  };
  // A frame without its markers, of which there are so many.
  struct Alone {
    uint32_t host_id, markers, work_frame;
    uint16_t trace_counter, main_zone;
    uint8_t risc;
    Apart apart;
  };
  // Chunks of the same names and firmware: what they hold together.
  struct Group {
    const markers::ZoneNames* names;
    device::Mode mode;
    size_t first_chunk;
    // Behind the job's end.
    DecodedChunk::Ids ids;     // of all chunks whose frames were picked
    size_t without_bound = 0;  // markers, of chunks that were not kept, as what follows
    bool has_words = false;
  };
  struct Chunk {
    shm::ChunkHeader header;  // as it was added: the words are in another thread's caches
    std::span<const uint64_t> kept;
    std::shared_ptr<const void> memory;  // of `kept`; null: a copy, in words_
    size_t from = 0, count = 0;          // which of those
    DecodedChunk::Rules rules;
    size_t group = 0;
  };
  // What became of a chunk. `kept`, null: the format can take all its frames alone, which are listed instead.
  struct Result {
    DecodedChunk* kept = nullptr;
    std::span<const Alone> alone = {};
  };

  // `work`: what its frames are given to (Format::frame_work()); null: nothing. `scratch`: by thread; it outlives this.
  // `date`: of the workload's tt-metal, if the user gives it.
  DecodedBatch(std::unique_ptr<FrameWork> work, std::span<Scratch> scratch,
               std::optional<markers::MetalDate> date)
      : work_(std::move(work)), scratch_(scratch), date_(date) {}

  // `memory` keeps the chunk; null: it is copied.
  void add(std::span<const uint64_t> chunk, const DecodedChunk::Rules& rules,
           std::shared_ptr<const void> memory = {});
  // Whether chunks are kept also where all their frames are alone.
  void keep_all(bool keep) { keep_all_ = keep; }
  size_t words() const { return count_; }
  FrameWork* work() const { return work_.get(); }
  void clear() {
    chunks_.clear(), words_.clear();
    count_ = 0;
    groups_used_ = 0;
  }

  std::span<const Chunk> chunks() const { return chunks_; }
  std::span<const uint64_t> words_of(const Chunk& chunk) const {
    return chunk.memory ? chunk.kept : std::span(words_).subspan(chunk.from, chunk.count);
  }
  // Behind the job's end.
  std::span<const Group> groups() const { return std::span(groups_).first(groups_used_); }
  Result result(size_t chunk);
  const markers::Anomalies& anomalies() const { return anomalies_; }  // of chunks that were not kept

 private:
  void run() override;
  size_t group_of(const DecodedChunk::Rules& rules, device::Mode mode);
  void keep(std::unique_ptr<DecodedChunk>& decoded);
  void list(DecodedChunk& decoded, Group& group);

  std::vector<Chunk> chunks_;
  std::vector<uint64_t> words_;  // of those whose memory is not kept, one behind the other
  size_t count_ = 0;             // words of all chunks
  // What is behind those that are used is there for its memory.
  std::vector<Group> groups_;
  std::vector<std::unique_ptr<DecodedChunk>> kept_;
  std::vector<Alone> alone_;
  struct Ends {
    uint32_t kept = 0, alone = 0;
  };
  std::vector<Ends> ends_;  // of chunks, behind that of none
  size_t groups_used_ = 0;
  markers::Anomalies anomalies_;
  bool keep_all_ = false;
  const std::unique_ptr<FrameWork> work_;
  const std::span<Scratch> scratch_;
  const std::optional<markers::MetalDate> date_;
};

}  // namespace ttc::tools
