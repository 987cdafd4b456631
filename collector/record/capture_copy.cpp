#include "collector/record/capture_copy.hpp"

#include <cstring>

#include "collector/capture/capture_file.hpp"
#include "collector/record/dropped_blocks.hpp"
#include "ttcollect/host_time.hpp"

namespace ttc::collect {
namespace {
constexpr size_t kBlockBytes = 2 << 20;
const CaptureOutput::Ended kNobodyWaits = [](QueuedBlock*, int) {};
std::unique_ptr<CaptureDisk> with_io_uring(const std::string& name) {
  return open_capture_disk(name, false);
}
}  // namespace

CaptureCopy::CaptureCopy(const std::string& path, uint64_t session, shm::LossCause cause, OpenDisk open)
    : path_(path), file_(path), losses_(cause) {
  if (file_.error())
    throw CaptureError("capture " + path + " cannot be written: " + std::strerror(file_.error()));
  try {
    output_.emplace(file_.name(), session, CaptureBounds(), open ? std::move(open) : OpenDisk(with_io_uring),
                    monotonic_now_ns);
  } catch (const CaptureError& e) {
    std::string what = e.what();
    if (const size_t at = what.find(file_.name()); at != what.npos)
      what.replace(at, file_.name().size(), path);
    throw CaptureError(what);
  }
  block_.chunks.reserve(kBlockBytes / 8);
}

void CaptureCopy::add(std::span<const uint64_t> chunk) {
  losses_.push(chunk);
  if (redact_) chunk = redactor_.redacted(chunk);
  if (!block_.chunks.empty() && block_.chunks.bytes() + chunk.size_bytes() > kBlockBytes) put_block();
  block_.chunks.add(chunk);
  ++chunks_;
}

// The block is packed into the same memory again and again, so it waits for the one before.
void CaptureCopy::put_block() {
  output_->wait(kNobodyWaits);
  block_.header = encoder_.encode(block_.chunks, block_.number++, block_.packed);
  markers_ += block_.header.markers;
  output_->put(&block_, kNobodyWaits);
  block_.chunks.clear();
}

void CaptureCopy::finish() {
  losses_.finish();
  ChunkBatch found;
  for (const auto& [session, records] : losses_.found())
    for (const auto& [id, record] : records) add_loss_chunk(found, session, record);
  if (!block_.chunks.empty()) put_block();
  output_->finish(found, kNobodyWaits);
  if (!output_->error().empty())
    throw CaptureError("capture " + path_ + " is not written: " + output_->error());
  if (const int error = file_.put_in_place())
    throw CaptureError("capture " + path_ + " cannot be put in place: " + std::strerror(error));
}

}  // namespace ttc::collect
