// A source of chunks: a live segment, its remains, a capture file, or several of them. They have one interface, so
// that everything downstream works on all of them.
#pragma once
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "shm/chunk.hpp"
#include "tools/ranks/rank_captures.hpp"
#include "ttcollect/capture_reader.hpp"

namespace ttc::tools {

struct SourceError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

class Source {
 public:
  virtual ~Source() = default;
  enum class Next { chunk, end, idle };  // idle: nothing now, more may come
  virtual Next next(std::vector<uint64_t>& chunk) = 0;
  // The same, without a copy where the source can do without.
  virtual Next next_kept(shm::KeptChunk& chunk) {
    const Next next = this->next(chunk.own);
    chunk.words = chunk.own;
    chunk.memory.reset();
    return next;
  }
  // For a source that is followed: how long next() waits before it returns idle, at least 1 ms.
  virtual void wait_at_most(unsigned) {}
  // Losses and damage on the way here, as sentences; empty if there are none.
  virtual std::vector<std::string> complaints() const = 0;
  // Further remarks for the user; they concern no loss.
  virtual std::vector<std::string> remarks() const { return {}; }
  // How much of it has come, 0 to 1; nothing where that is not known.
  virtual std::optional<double> progress() const { return std::nullopt; }
  // LossView needs both. True: chunks in front of the first that came are lost; the source did not end in order, or
  // what was behind the last chunk is lost.
  virtual bool lost_beginning() const { return false; }
  virtual bool broke_off() const { return false; }
  // For a live ring: bytes that were overwritten before they were read, also if no later chunk came whose position
  // would show how many there were.
  virtual uint64_t missed_bytes() const { return 0; }
  // Why chunks that are missing between two others are missing.
  virtual shm::LossCause loss_cause() const { return shm::LossCause::file_damaged; }
};

// Nothing, for those who read other things beside it.
class NoSource : public Source {
 public:
  Next next(std::vector<uint64_t>&) override { return Next::end; }
  std::vector<std::string> complaints() const override { return {}; }
};

// Comma lists taken apart; a name with commas that exists is one source. A directory of captures (tools/ranks/rank_files.hpp) is all of them.
std::vector<std::string> named_sources(const std::vector<std::string>& given);

// `from`: live:NAME, FILE.ttc, a directory of captures or of firmware memory, each also a comma list of them. Captures of two ranks or more
// are put on the common time of their job, with chips numbered consecutively (tools/ranks/rank_chunks.hpp). `follow`: a
// live source continues until its writer ends; several are then read in turn as their chunks come. Otherwise
// one source is read to its end before the next. `wait_ms`: for all live sources together to appear. Throws
// SourceError, also from next() when two sources turn out to hold the same session. `wanted`: of captures,
// which then read only the blocks they need, unpacked ahead by `workers`, which outlive the source. `from_now`: live sources begin with
// what is published from now on, and what their rings overwrote before is not missing. `follow_files`: captures are
// followed, too, until their writer has ended them; then all of each is wanted.
std::unique_ptr<Source> open_source(const std::vector<std::string>& from, bool follow, unsigned wait_ms = 0,
                                    const collect::Wanted& wanted = {}, jobs::Workers* workers = nullptr,
                                    bool from_now = false, bool follow_files = false);

// One rank's capture of several, on the common time of all; chips keep their numbers. Throws SourceError.
std::unique_ptr<Source> open_rank(const RankCapture& capture, const collect::Wanted& wanted,
                                  jobs::Workers* workers);

}  // namespace ttc::tools
