#include "pipeline/source.hpp"

#include <filesystem>

#include "collector/capture_reader.hpp"
#include "pipeline/image_source.hpp"
#include "shm/reader.hpp"

namespace ttc::tools {
namespace {

constexpr unsigned kFollowWaitMs = 200;

class LiveSource : public Source {
 public:
  LiveSource(const std::string& name, bool follow, unsigned wait_ms)
      : reader_(name, shm::StartAt::oldest, wait_ms), name_(name), follow_(follow) {}

  Next next(std::vector<uint64_t>& chunk) override {
    for (;;) {
      switch (reader_.next(chunk, follow_ ? kFollowWaitMs : 0)) {
        case shm::Reader::Next::chunk:
          return Next::chunk;
        case shm::Reader::Next::lapped:
          continue;  // counted by the reader
        case shm::Reader::Next::timeout:
          return follow_ ? Next::idle : Next::end;
        case shm::Reader::Next::ended:
          return Next::end;
        case shm::Reader::Next::writer_died:
          died_ = true;
          return Next::end;
        case shm::Reader::Next::damaged:
          damage_ = reader_.damage();
          return Next::end;
      }
    }
  }

  std::vector<std::string> complaints() const override {
    std::vector<std::string> all;
    if (reader_.laps())
      all.push_back("live:" + name_ + ": this reader was too slow and lost " +
                    std::to_string(reader_.lost_chunks()) + " chunks (" +
                    std::to_string(reader_.lost_bytes()) + " bytes); a larger --ring helps");
    if (died_) all.push_back("live:" + name_ + ": its collector died; what it had published is here");
    if (!damage_.empty()) all.push_back("live:" + name_ + " is damaged: " + damage_);
    return all;
  }

 private:
  shm::Reader reader_;
  std::string name_;
  bool follow_;
  bool died_ = false;
  std::string damage_;
};

class FileSource : public Source {
 public:
  explicit FileSource(const std::string& path) : reader_(path), path_(path) {}

  Next next(std::vector<uint64_t>& chunk) override { return reader_.next(chunk) ? Next::chunk : Next::end; }

  std::vector<std::string> complaints() const override {
    std::vector<std::string> all;
    if (reader_.cut())
      all.push_back(path_ + " ends inside a chunk at byte " + std::to_string(reader_.offset()));
    if (!reader_.damage().empty()) all.push_back(path_ + " is damaged " + reader_.damage());
    return all;
  }

 private:
  collect::CaptureReader reader_;
  std::string path_;
};

}  // namespace

std::unique_ptr<Source> open_source(const std::string& from, bool follow, unsigned wait_ms) {
  try {
    if (from.starts_with("live:")) return std::make_unique<LiveSource>(from.substr(5), follow, wait_ms);
    if (std::filesystem::is_directory(from)) return std::make_unique<ImageSource>(from);
    return std::make_unique<FileSource>(from);
  } catch (const shm::SegmentError& e) {
    throw SourceError(e.what());
  } catch (const collect::CaptureError& e) {
    throw SourceError(std::string(e.what()) +
                      "; --from takes live:NAME, a .ttc file or a directory of firmware memory");
  }
}

}  // namespace ttc::tools
