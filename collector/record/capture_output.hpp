// Packed blocks into one file, or into a row of them: offsets, index, bounds, rotation. One thread's.
//
// A row (`rotate`): run.ttc becomes run.0000.ttc, run.0001.ttc, ... Each is written as run.NNNN.ttc.part,
// begins with everything a reader must know (sessions, names, the latest clock segments, losses that are open
// or were reported since the file before was begun, and totals of all losses until then), and gets its name when
// index is written.
//
// Failures. A block that cannot be written is handed back, and counts as not kept. A
// file gets its index only when all of its account is in it and on the disk: a file that lacks facts, or whose sync
// failed, stays without one, so that every reader takes it for a file that broke off. A file that cannot be
// begun is removed; a second later it is tried again. A file of a row is closed only when the next one exists, so
// that a row that a full disk cuts short ends in a file that broke off.
#pragma once
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "collector/record/block_queue.hpp"
#include "collector/record/capture_disk.hpp"

namespace ttc::collect {

struct CaptureBounds {
  uint64_t max_bytes = 0;     // on disk, of all files of the run together; 0: no bound
  uint64_t max_age_ns = 0;    // files of a row whose last block is older are removed; 0: none is
  uint64_t rotate_bytes = 0;  // a new file when this one has so many; 0: not by size
  uint64_t rotate_ns = 0;     // likewise by time
  uint64_t durable_ns = 0;    // sync so often; 0: leave it to the kernel
  Keep keep = Keep::oldest;   // at max_bytes: remove the oldest file of a row, or write no more
  bool rotates() const { return rotate_bytes || rotate_ns; }
};

using OpenDisk = std::function<std::unique_ptr<CaptureDisk>(const std::string& path)>;

class CaptureOutput {
 public:
  // `now_ns`: CLOCK_MONOTONIC. Creates the first file. Throws CaptureError, also where its header cannot be
  // written.
  CaptureOutput(std::string path, uint64_t session, const CaptureBounds& bounds, OpenDisk open,
                std::function<uint64_t()> now_ns);
  ~CaptureOutput();

  // What became of a block: errno, or 0. kNotKept: outside of the bounds.
  static constexpr int kNotKept = -1;
  using Ended = std::function<void(QueuedBlock*, int error)>;

  // Begins to write a block that is packed; waits when too many are under way. `ended` is called, from here
  // or a later call, when it is written or was not.
  void put(QueuedBlock* block, const Ended& ended);
  // Waits until no write is under way.
  void wait(const Ended& ended) { wait_all(ended); }
  // Looks after time: what is done, rotation, sync, age, a file that was removed.
  void tend(const Ended& ended);
  // Waits for everything, writes a last block of facts (if any), the index, syncs, gives the file its name.
  void finish(const ChunkBatch& last_facts, const Ended& ended);
  // Instead of anything else from now on: the file stays as it is, without an index. Waits for writes that are
  // under way; no callback runs.
  void abandon(const char* why) noexcept;

  const std::string& error() const { return error_; }  // the first one, as a sentence part
  const std::vector<std::string>& remarks() const { return remarks_; }
  std::string how() const { return how_; }
  uint64_t bytes() const { return bytes_total_; }                   // written, of all files
  const std::vector<std::string>& files() const { return files_; }  // complete ones that are still there
  bool full() const { return full_; }
  bool under_way() const { return !under_way_.empty(); }

 private:
  struct Part {
    std::string path;
    uint64_t bytes = 0;
    uint64_t last_ns = 0;
  };
  struct Loss {
    shm::LossRecord record;
    uint32_t part = 0;  // in which it was reported last
  };
  // A file being written. Without a disk: it could not be begun.
  struct File {
    std::unique_ptr<CaptureDisk> disk;
    std::string name, final_name;
    uint64_t offset = 0;  // of the next block
    uint64_t opened_ns = 0, synced_ns = 0;
    bool unsynced = false;
    bool lacking = false;  // something that belongs into it is not in it and will not be
    std::vector<IndexEntry> index;
  };
  void open_file();
  bool begin_file();
  void close_file(const Ended& ended);
  bool write_index();
  void rotate(const Ended& ended, uint64_t now_ns);
  bool rotation_due(uint64_t more_bytes, uint64_t now_ns) const;
  void fail(const std::string& sentence);
  void reap(bool wait, const Ended& ended);
  void wait_all(const Ended& ended);
  bool write_here(std::span<const std::byte> bytes, const char* what);
  bool put_facts(const ChunkBatch& facts);
  void remember(const ChunkBatch& facts);
  void add_losses(ChunkBatch& to) const;
  bool make_room(uint64_t bytes);
  void remove_oldest();
  void fail(const std::string& what, int error);
  std::string name_of_part(uint32_t part) const;

  const std::string path_;
  const uint64_t session_;
  const CaptureBounds bounds_;
  OpenDisk open_;
  std::function<uint64_t()> now_ns_;

  File file_;  // being written
  uint32_t part_ = 0;
  uint64_t tended_ns_ = 0;
  uint64_t try_again_ns_ = 0;                                          // to begin a file
  std::map<uint64_t, std::pair<QueuedBlock*, IndexEntry>> under_way_;  // by tag
  uint64_t next_tag_ = 0;
  std::deque<Part> parts_;                                // complete
  std::map<std::pair<uint64_t, uint64_t>, Loss> losses_;  // session, id
  std::vector<std::vector<uint64_t>> lasting_;            // sessions, names, domains
  std::deque<std::vector<uint64_t>> clocks_;              // the latest
  BlockEncoder encoder_;
  uint64_t extra_number_ = 0;
  uint64_t bytes_total_ = 0;
  bool full_ = false;
  std::string error_, how_;
  std::vector<std::string> remarks_, files_;
};

}  // namespace ttc::collect
