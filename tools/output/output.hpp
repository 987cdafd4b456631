// Buffered output to a file that appears complete or not at all (collector/program/pending_file.hpp), to a file that
// grows under the eyes of its reader, or to standard output; as it is or as a gzip stream.
//
// Output to a terminal is made printable (collector/program/printable.hpp): names in it are foreign. A gzip
// stream does not go there.
//
// Bytes handed over between two calls of room() are written whole: a caller that advances by whole records has whole
// records in the file. A gzip stream that grows under the eyes of its reader is of whole members: between two writes it ends where a member
// does, which readers demand who refuse a stream that is cut (Perfetto). Its members, too, hold whole records.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstring>
#include <exception>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "tools/output/output_memory.hpp"
#include "ttcollect/workers.hpp"

namespace ttc::program {
class PendingFile;
}

namespace ttc::tools {

class GzipBlocks;

struct OutputError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

class Output {
 public:
  // "-" is standard output. `growing`: write under the final name at once. `workers`, null: none, compress and write, some buffers behind;
  // what fails there is thrown by a later call that appends, or by finish(). They outlive this, and their owner is the caller.
  Output(const std::string& path, bool growing, bool gzip = false, jobs::Workers* workers = nullptr);
  // Nowhere: rows stay until they are taken.
  static Output in_memory() { return Output(); }
  ~Output();  // without commit(): nothing is left
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;

  // Room for `bytes` more; what was written there counts after advance().
  char* room(size_t bytes) {
    if (buffer_.size() - used_ < bytes) make_room(bytes);
    return buffer_.data() + used_;
  }
  void advance(size_t bytes) { used_ += bytes; }
  void append(std::string_view text) {
    std::memcpy(room(text.size()), text.data(), text.size());
    advance(text.size());
  }
  // Whole rows, written without a copy where they are many.
  void append_rows(std::string_view rows);
  // Rows that the thread that made them writes, at their place in the file: to move them to the caches of another core costs about as much as to
  // write them. Only where has_places(): a regular file that appears as a whole, no gzip, several threads.
  class Rows;
  bool has_places() const { return has_places_; }
  // What comes next in the output. The bytes must stay until the rows were written: jobs::Workers::wait().
  void place(Rows& rows, std::string_view bytes);
  // All that was placed since the last call, by that thread (jobs::Workers::Job::done_by()).
  void write(Rows& rows, unsigned thread);
  // The rows of an output in memory, which is empty then. Other memory is left in it. `thread` made them, and writes them where has_places().
  void append_rows_of(Output& rows, unsigned thread);
  // Of an output in memory: what was appended, and how much; that again in exchange for `memory` for what comes; no more of it.
  std::string_view in_memory_so_far() const { return {buffer_.data(), used_}; }
  size_t bytes_in_memory() const { return used_; }
  OutputMemory take_rows(OutputMemory memory);
  void forget() { used_ = 0; }
  // Those that it was made with; null: none.
  jobs::Workers* workers() const { return workers_; }
  // Everything so far is passed to the file, if the file is growing: it is of whole members, if of gzip.
  void flush();
  // Flush and close: all that can fail of writing has then failed. Idempotent; nothing may be appended after it.
  void finish();
  void commit();  // finish, and rename into place

  // The end that makes the file well formed. A growing file has it after every flush, and
  // the next one overwrites it; pipes and gzip streams have it only at the end.
  void close_with(std::string tail) { tail_ = std::move(tail); }

 private:
  Output();
  class Write;
  void open_path(bool growing);
  void make_room(size_t bytes);
  void pass_on();
  void pass_on(OutputMemory& buffer, size_t used, unsigned thread = jobs::Workers::kOwner);
  void wait_for_writes();
  void write_out(std::string_view bytes, std::string_view tail);
  void put(std::string_view bytes, std::string_view tail);
  void write_all(std::string_view bytes, std::string_view tail);
  template <class Do>
  void unless_failed(Do write);
  size_t next_place(size_t bytes);
  void write_at(size_t place, std::string_view bytes);
  struct Piece {
    size_t place;
    std::string_view bytes;
  };
  size_t write_some(std::span<const Piece> pieces);
  [[noreturn]] void fail(const char* what) const;

  std::string path_, tail_;
  std::unique_ptr<program::PendingFile> pending_;  // none: it is written under its own name
  int fd_ = -1;                                    // the pending file's, or one of its own
  bool memory_ = false;
  bool terminal_ = false;
  bool rewritable_ = false;  // the tail can be overwritten
  bool has_places_ = false;
  size_t written_ = 0;  // without the tail; where has_places_, those that have a place
  OutputMemory buffer_;
  size_t used_ = 0;
  jobs::Workers* workers_ = nullptr;
  bool in_gzip_ = false;
  std::atomic<bool> failed_ = false;  // what was written by a job
  std::exception_ptr failure_;        // the first; where failed_, and no job is under way
  jobs::Workers::Row
      one_by_one_;  // writes: two at once would wait for each other in the kernel, for the file's lock
  std::vector<std::unique_ptr<Write>> writes_;  // none: it is written at once
  size_t next_write_ = 0;                       // the oldest of them
  std::unique_ptr<GzipBlocks> gzip_;
};

// Their bytes are the caller's.
class Output::Rows : public jobs::Workers::Job {
 public:
  explicit Rows(Output& output) : output_(output) {}

 private:
  friend class Output;
  void run() override;

  Output& output_;
  std::vector<Piece> pieces_;
};

}  // namespace ttc::tools
