// A directory of firmware memory as a source of chunks: the same chunks a collector beside that card would
// have published, so that everything downstream works on it.
#pragma once
#include <map>
#include <vector>

#include "firmware_markers/log_account.hpp"
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
    uint32_t offset;  // in its log
    std::span<const uint32_t> words;
    markers::FrameDigest before;
  };
  void make_session(std::vector<uint64_t>& chunk);
  void make_names(std::vector<uint64_t>& chunk);
  void load_core();
  void make_words(std::vector<uint64_t>& chunk);
  void add_logs(const MemoryImage::Core& core, const markers::ControlVector& v,
                const MemoryImage::CoreMemory& memory, std::vector<LaneWords>& lanes);
  void add_buffers(const MemoryImage::Core& core, const markers::ControlVector& v,
                   const MemoryImage::CoreMemory& memory, std::vector<LaneWords>& lanes);
  void account(const MemoryImage::Core& core, uint8_t risc, const markers::LogAccount& account);
  shm::ChunkHeader header(shm::ChunkKind kind);
  markers::Lane lane(const MemoryImage::Core& core, uint8_t risc) const;
  markers::FrameDigest& digest(const MemoryImage::Core& core, uint8_t risc);

  MemoryImage image_;
  std::map<uint32_t, markers::FrameDigest> digests_;  // by flat id * 5 + RISC: of the last frame, over epochs
  std::vector<shm::LossRecord> untold_losses_;
  std::map<uint32_t, std::vector<shm::LossRecord>> open_losses_;  // likewise: end with the lane's next marker
  uint64_t loss_ids_ = 0;
  std::vector<std::string> complaints_;
  enum class Stage { session, names, words, end } stage_ = Stage::session;
  unsigned epoch_ = 0;
  size_t next_core_ = 0;
  // The core that is being given out.
  const MemoryImage::Core* core_at_ = nullptr;
  MemoryImage::CoreMemory memory_;
  std::vector<LaneWords> lanes_;  // into memory_
  size_t lanes_given_ = 0;
  uint32_t run_counter_ = 0;
  uint32_t epoch_of_core_ = 0;
  uint64_t sequence_ = 0;
};

}  // namespace ttc::tools
