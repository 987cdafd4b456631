// A .ttc file of version 2 as a list of blocks that can be read in any order, by any number of threads. Every
// byte is foreign until checked.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "collector/capture/block_codec.hpp"
#include "ttcollect/capture_reader.hpp"

namespace ttc::collect {

// A part of a file that no block could be made of.
struct DamagedPart {
  uint64_t from = 0, to = 0;  // bytes
  std::string why;
};

class CaptureFile {
 public:
  enum class Open : uint8_t {
    by_index,  // where there is one that is sound; else all headers are examined
    by_scan,   // ignores the index and the file header
  };
  // Throws CaptureError: no file, no capture, a version that is not known. A file that is cut or damaged
  // opens; what is left of it is in blocks().
  explicit CaptureFile(const std::string& path, Open how = Open::by_index);
  ~CaptureFile();
  CaptureFile(const CaptureFile&) = delete;
  CaptureFile& operator=(const CaptureFile&) = delete;

  const std::string& path() const { return path_; }
  uint32_t version() const { return version_; }
  const FileHeader& header() const { return header_; }  // of version 2
  uint64_t bytes() const { return bytes_; }
  bool indexed() const { return indexed_; }  // ended in order
  bool cut() const { return cut_; }          // ends inside a block
  std::span<const IndexEntry> blocks() const { return blocks_; }
  const std::vector<DamagedPart>& damage() const { return damage_; }
  // True if the numbers of the file's blocks have a gap, though no byte is known to be damaged.
  bool lacks_blocks() const;

  // Appends the chunks of one block, or only those that are no device words. Throws BlockError.
  void read(size_t block, bool facts_only, BlockDecoder& decoder, ChunkBatch& chunks) const;

 private:
  bool read_header();
  bool open_index();
  void scan();
  uint64_t next_block(uint64_t offset) const;
  size_t pread_all(void* to, size_t bytes, uint64_t offset) const;

  std::string path_;
  int fd_ = -1;
  uint64_t bytes_ = 0;
  uint32_t version_ = 0;
  FileHeader header_;
  bool indexed_ = false, cut_ = false;
  std::vector<IndexEntry> blocks_;
  std::vector<DamagedPart> damage_;
};

}  // namespace ttc::collect
