// Finds what is missing in a stream of chunks, by their sequence (ttcollect/loss_view.hpp). The only place
// that looks for gaps: LossView has one for readers, and a recorder that is lapped one of its own.
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "collector/loss/loss_merge.hpp"
#include "firmware_markers/frame.hpp"

namespace ttc::collect {

class ChunkGaps {
 public:
  // `found` gets each interval, with `cause`, and again when it has grown (LossMerge). Ids begin with
  // kFirstId, above those of collectors.
  ChunkGaps(shm::LossCause cause, std::function<void(uint64_t session, const shm::LossRecord&)> found)
      : cause_(cause), found_(std::move(found)) {}

  static constexpr uint64_t kFirstId = uint64_t{1} << 48;

  // Chunks of any number of sessions, each checked, in the order of their publication. Standing chunks count
  // their sequence apart and never go missing. A session chunk names the cores: their lanes can be missing as
  // a whole, from a lost beginning or an end that broke off. A gap between two chunks leaves lanes without any
  // words out: the recorder's own records cover what it left out of idle lanes.
  // `memory` keeps the chunk, beside those of other chunks; null: what is needed of it later is copied.
  void push(std::span<const uint64_t> chunk, const std::shared_ptr<const void>& memory = {});
  // `cause`: of what is missing in front of the first chunk, where it is not that of gaps.
  void lost_beginning(std::optional<shm::LossCause> cause = {}) { beginning_lost_ = cause.value_or(cause_); }
  void finish();
  // A record of what the card lost may have been in the missing chunks. So every lane is unresolved
  // from its first gap on.
  void broke_off();

  // Valid after broke_off(): the session's records may be incomplete, so that none covers a lane's interval without
  // an end.
  bool unsure(uint64_t session) const;

  // Sessions of which chunks came, and not the last one: the stream is a part of a run.
  size_t without_end() const;

  uint64_t missing_chunks() const { return missing_chunks_; }
  uint64_t chunks_before() const { return chunks_before_; }
  uint64_t missing_words() const { return missing_words_; }

 private:
  // The end of the latest span of a lane's log.
  struct LogEnd {
    uint32_t epoch = 0;
    uint32_t next_word = 0;
    bool begun = false;
  };
  // The latest span of a lane, as it came: the time of its last marker is computed only where something is
  // missing.
  struct Lane {
    LogEnd log;
    std::span<const uint64_t> chunk;  // that holds the span, in memory_; empty: the copy below holds it
    size_t place = 0;                 // of the span in the chunk's table
    shm::ChunkHeader header;
    shm::SpanEntry span;
    std::vector<uint32_t> words;
    bool in_doubt = false;
    bool begun = false;               // words came
    std::optional<uint64_t> sure_to;  // time of the last marker in front of the first gap
  };
  struct Session {
    uint64_t next_sequence = 0;
    uint32_t device = 0;
    std::vector<shm::LossRecord> found;  // by id from kFirstId on
    bool begun = false;
    bool ended = false;
    bool broke_off = false;
    bool gap = false;                // there was one before: lanes without a span so far are unresolved
    bool late = false;               // the first one was in front of everything that came
    bool hole = false;               // one was between chunks that came
    std::map<uint32_t, Lane> lanes;  // by core and RISC
  };

  static void copy_latest(Lane& lane);
  void hold(const std::shared_ptr<const void>& memory);
  static void doubt_all(Session& s);
  static void know_lanes(Session& s, std::span<const char> session_text);
  void count(Session& s, const shm::ChunkHeader& h);
  void count_words(LogEnd& log, uint32_t epoch, const shm::SpanEntry& span);
  void resolve(Session& s, const shm::ChunkHeader& h, const shm::SpanEntry& span, const Lane& lane);
  shm::LossRecord record_for(const Session& s, const shm::ChunkHeader& h, uint8_t risc, bool begun) const;
  void put(uint64_t session, Session& s, shm::LossRecord record);

  shm::LossCause cause_;
  std::function<void(uint64_t, const shm::LossRecord&)> found_;
  std::map<uint64_t, Session> sessions_;
  // Of the latest chunk, and the lanes whose latest span is there. Most spans are followed by another one of their lane in the same memory, so that
  // they are neither read nor copied here: another thread decodes them.
  std::shared_ptr<const void> memory_;
  std::vector<Lane*> lanes_in_memory_;
  LossMerge merge_;
  std::optional<shm::LossCause> beginning_lost_;
  uint64_t missing_chunks_ = 0;
  uint64_t chunks_before_ = 0;
  uint64_t missing_words_ = 0;
};

}  // namespace ttc::collect
