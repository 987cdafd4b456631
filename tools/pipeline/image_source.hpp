// A directory of firmware memory as a source of chunks: the same chunks a collector beside that card would
// have published, so that everything downstream works on it.
#pragma once
#include <map>

#include "firmware_markers/decoder.hpp"
#include "tools/pipeline/memory_image.hpp"
#include "tools/pipeline/source.hpp"

namespace ttc::tools {

class ImageSource : public Source {
 public:
  explicit ImageSource(const std::string& directory);  // throws SourceError

  Next next(std::vector<uint64_t>& chunk) override;
  std::vector<std::string> complaints() const override { return complaints_; }

 private:
  struct LaneWords {
    uint8_t risc;
    shm::SpanSource source;
    std::span<const uint32_t> words;
  };
  void make_session(std::vector<uint64_t>& chunk);
  void make_names(std::vector<uint64_t>& chunk);
  bool make_words(std::vector<uint64_t>& chunk);  // false: this core logged nothing in this epoch
  void note_drops(const MemoryImage::Core& core, const markers::ControlVector& v);
  std::vector<LaneWords> lanes_of(const MemoryImage::Core& core, const markers::ControlVector& v,
                                  const MemoryImage::CoreMemory& memory);
  shm::ChunkHeader header(shm::ChunkKind kind);
  markers::LaneDecoder& decoder(const MemoryImage::Core& core, uint8_t risc);

  MemoryImage image_;
  std::map<uint32_t, markers::LaneDecoder> decoders_;  // by flat id * 5 + RISC: carry digests over epochs
  markers::Batch scratch_;
  std::vector<shm::LossRecord> losses_;  // not told yet
  std::vector<std::string> complaints_;
  enum class Stage { session, names, words, end } stage_ = Stage::session;
  unsigned epoch_ = 0;
  size_t core_ = 0;
  uint64_t sequence_ = 0;
  uint64_t loss_ids_ = 0;
};

}  // namespace ttc::tools
