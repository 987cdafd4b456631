// What a stream of chunks lost: the intervals of its loss records, and gaps between its chunks that no record
// covers. A reader pushes each chunk once.
//
// The stream had no gap when it was published. Gaps since then show in the sequence of its chunks: a
// reader was lapped, a disk was too slow, a part of a file is damaged. Behind a jump of the sequence every lane
// of the session is unresolved. The lane's next span resolves it: the span has the lane's place in its log and
// the time of the last marker in front of it. A lane that is still unresolved at the end gets an interval
// without an end.
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>

#include "shm/chunk.hpp"

namespace ttc::collect {

class LossView {
 public:
  // `missing`: the cause of intervals without a record. None: chunks were left out on purpose, and only
  // records count.
  explicit LossView(std::optional<shm::LossCause> missing);
  ~LossView();
  LossView(LossView&&) noexcept;
  LossView& operator=(LossView&&) noexcept;

  // Chunks of any number of sessions, each checked, in the order of their publication. Returns the interval
  // of a loss record that is new or has grown, until the next call; null for everything else.
  // `memory` keeps the chunk, beside those of other chunks; null: what is needed of it later is copied.
  const shm::LossRecord* push(std::span<const uint64_t> chunk,
                              const std::shared_ptr<const void>& memory = {});
  // Chunks before the first one are lost: lanes of a session that began before are unresolved. Must be called
  // before the session's first chunk.
  // `cause`: of their loss, where it is not that of gaps.
  void lost_beginning(std::optional<shm::LossCause> cause = {});
  // Must be called before finish(). The stream broke off: every lane of a session without an end is unresolved, also
  // the lanes of cores that its session chunk names and of which no words came.
  void broke_off();
  // No chunk follows. Unresolved lanes get their interval; gaps that records cover are left out.
  void finish();

  using Intervals = std::map<uint64_t, shm::LossRecord>;  // by id
  using Sessions = std::map<uint64_t, Intervals>;
  // The intervals of each session, including sessions without a loss.
  const Sessions& reported() const;
  // Valid after finish(): the intervals without a record. Their ids differ from those of the reported ones.
  const Sessions& found() const;
  // Valid after finish(): both.
  Sessions all() const;
  size_t reported_count() const;

  uint64_t missing_chunks() const;
  // Chunks published before the first one pushed: the recorder kept the newest only, or the reader came late.
  uint64_t chunks_before() const;
  // Sessions without the chunk that ends their run.
  size_t without_end() const;
  // Words of lanes' logs between one span and the next of the same epoch.
  uint64_t missing_words() const;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

// Whether each moment of `gap` is in an interval of its lane.
bool covers(const LossView::Intervals& intervals, const shm::LossRecord& gap);

}  // namespace ttc::collect
