// Batches until the bus has stored them: files of a directory, bounded. The oldest make way, and what they held is an interval of
// loss. Rows on losses have files of their own, which make way last. A process that is killed leaves its batches to the next one.
#pragma once
#include <atomic>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "tools/fleet/wire/batch.hpp"

namespace ttc::fleet {

struct SpoolError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct SpoolEntry {
  BatchName name;
  uint32_t rows = 0;
  uint64_t from_ns = 0, to_ns = 0;  // of the rows, RAW of this host
};

// Rows that made way.
struct DroppedRows {
  BatchName first;
  uint64_t rows = 0, from_ns = 0, to_ns = 0;
};

class Spool {
 public:
  static constexpr uint64_t kLeast = 16 << 10;
  static constexpr uint64_t kMemoryBytes = 8 << 20;  // of batches that the disk does not take

  // Takes over what an earlier process left. Throws SpoolError: the directory cannot be used, or another process does.
  Spool(const std::string& directory, uint64_t limit_bytes);
  ~Spool();
  Spool(const Spool&) = delete;
  Spool& operator=(const Spool&) = delete;

  void append(const SpoolEntry& entry, const std::string& batch);
  // The oldest batch. Until done() or put_back() it is never dropped.
  struct Taken {
    SpoolEntry entry;
    std::string batch;
  };
  std::optional<Taken> take();
  void done();      // the bus has it
  void put_back();  // it has not
  std::vector<DroppedRows> take_drops();

  size_t batches() const;
  uint64_t bytes() const;  // on the disk
  uint64_t limit() const { return limit_; }
  std::string complaint() const;  // why the disk does not take batches; empty: it does

  // When the last rows of an earlier process were spooled, and of which session.
  struct Earlier {
    uint64_t session = 0;
    uint64_t to_ns = 0;
    uint32_t epoch = 0;
  };
  Earlier earlier() const { return earlier_; }
  // Rows up to `to_ns` are spooled.
  void note(const Earlier& now);

 private:
  struct Place {
    SpoolEntry entry;
    uint64_t file = 0, offset = 0;  // file 0: in memory
    uint32_t length = 0;
    uint64_t digest = 0;
    std::string memory;
  };
  std::string path_of(uint64_t file) const;
  void take_over();
  void read_file(uint64_t number);
  bool write(Place& place, const std::string& batch);
  struct Writer {
    int fd = -1;
    uint64_t file = 0;
  };
  Writer& writer_of(RowKind kind) { return writers_[kind == RowKind::loss ? 0 : 1]; }
  bool begin_file(Writer& writer);
  void make_room();
  void drop(const Place& place);
  void forget_file(uint64_t number);
  void left(const Place& place);
  std::optional<std::string> load(const Place& place) const;

  const std::string directory_;
  const uint64_t limit_;
  int lock_ = -1, notes_ = -1;
  Writer writers_[2];  // with mutex_: of losses, and of all else
  mutable std::mutex mutex_;
  std::deque<Place> places_;            // with mutex_, as the rest
  std::map<uint64_t, size_t> in_file_;  // places by file
  std::map<uint64_t, uint64_t> file_bytes_;
  uint64_t newest_ = 0;  // file
  uint64_t bytes_ = 0, memory_bytes_ = 0;
  bool taken_ = false;  // the front
  std::vector<DroppedRows> drops_;
  std::string complaint_;
  Earlier earlier_;
};

}  // namespace ttc::fleet
