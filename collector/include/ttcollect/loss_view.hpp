// What a stream of chunks lost: the intervals that its loss records report, and those that are missing
// between its chunks without a record. A reader pushes each chunk once.
//
// The stream was whole when it was published; what is missing since is found by the sequence of its chunks: a
// reader was lapped, a disk was too slow, a part of a file is damaged. A jump of the sequence puts every lane
// of the session in doubt. The lane's next span resolves the doubt: it holds its place in the lane's log and
// the time of the last marker in front of it. A lane that is still in doubt at the end has an interval
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
  const shm::LossRecord* push(std::span<const uint64_t> chunk);
  // In front of the first chunk others are lost: lanes of a session that began before are in doubt. Counts
  // for sessions whose chunks come later.
  // `cause`: of their loss, where it is not that of gaps.
  void lost_beginning(std::optional<shm::LossCause> cause = {});
  // Before finish(): the stream broke off. Every lane of a session whose end did not come is in doubt, also
  // the lanes of cores that its session chunk names and of which no words came.
  void broke_off();
  // No chunk will come. Lanes in doubt get their interval; what is missing but covered by records is left
  // out.
  void finish();

  using Intervals = std::map<uint64_t, shm::LossRecord>;  // by id
  using Sessions = std::map<uint64_t, Intervals>;
  // By session; sessions without a loss are there, too.
  const Sessions& reported() const;
  // After finish(): the intervals without a record. Their ids differ from those of the reported ones.
  const Sessions& found() const;
  // After finish(): both.
  Sessions all() const;
  size_t reported_count() const;

  uint64_t missing_chunks() const;
  // Published before the first one that came: the recorder kept the newest only, or the reader came late.
  uint64_t chunks_before() const;
  // Sessions of which chunks came, and not the end of their run.
  size_t without_end() const;
  // Words of lanes' logs between one span and the next of the same epoch.
  uint64_t missing_words() const;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

// Every moment of `gap` lies in an interval of its lane.
bool covers(const LossView::Intervals& intervals, const shm::LossRecord& gap);

}  // namespace ttc::collect
