#include "collector/capture_writer.hpp"

#include <vector>

#include "collector/capture_format.hpp"

namespace ttc::collect {

CaptureWriter::CaptureWriter(const std::string& path, const std::string& live_name, bool plain)
    : sink_(open_file_sink(path, plain)), reader_(live_name, shm::StartAt::oldest) {
  CaptureHeader header;
  header.session = reader_.info().session;
  sink_->append(std::as_bytes(std::span(&header, 1)));
  thread_ = std::thread([this] { run(); });
}

CaptureWriter::~CaptureWriter() {
  finish();
}

void CaptureWriter::run() {
  std::vector<uint64_t> chunk;
  for (;;) {
    switch (reader_.next(chunk, 200)) {
      case shm::Reader::Next::chunk:
        sink_->append(std::as_bytes(std::span(chunk)));
        bytes_.fetch_add(chunk.size() * 8, std::memory_order_relaxed);
        break;
      case shm::Reader::Next::lapped:
        lapped_.store(reader_.lost_bytes(), std::memory_order_relaxed);
        break;
      case shm::Reader::Next::timeout:
        sink_->flush();
        break;  // quiet: let the disk have what there is
      case shm::Reader::Next::damaged:
        error_ = "the ring is damaged: " + reader_.damage();
        return;
      default:
        return;  // ended
    }
  }
}

void CaptureWriter::finish() {
  if (!thread_.joinable()) return;
  thread_.join();
  sink_->flush();
  if (error_.empty()) error_ = sink_->error();
}

}  // namespace ttc::collect
