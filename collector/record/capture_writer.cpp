#include "collector/record/capture_writer.hpp"

#include <algorithm>

#include "collector/record/test_point.hpp"
#include "ttcollect/host_time.hpp"

namespace ttc::collect {
namespace {

constexpr unsigned kChunksATurn = 256;         // then the next segment has its turn
constexpr unsigned kWaitAloneMs = 20;          // on the only segment: until it wakes its readers
constexpr unsigned kWaitAmongMs = 2;           // on one of several: the others' rings fill meanwhile
constexpr uint64_t kBlockAgeNs = 200'000'000;  // what is older goes to the disk, however little it is
constexpr uint64_t kTellLossesNs =
    1'000'000'000;  // a disk that is behind must not be fed with accounts of it
constexpr unsigned kWriterWaitMs = 50;

}  // namespace

CaptureWriter::CaptureWriter(const CaptureOptions& options, uint64_t session)
    : options_(options),
      queue_(options.memory_bytes, options.keep_in_memory),
      gaps_(shm::LossCause::reader_lapped,
            [this](uint64_t of, const shm::LossRecord& record) { drops_.add(of, record); }) {
  OpenDisk open = options.open_disk;
  if (!open)
    open = [plain = options.plain](const std::string& path) { return open_capture_disk(path, plain); };
  output_ = std::make_unique<CaptureOutput>(options.path, session, options.bounds, std::move(open),
                                            options.now_ns ? options.now_ns : monotonic_now_ns);
  how_ = output_->how();
  for (unsigned i = 0; i < std::max(1u, options.packers); ++i) packers_.emplace_back([this] { pack(); });
  writer_ = std::thread([this] { write(); });
  gatherer_ = std::thread([this] { gather(); });
}

CaptureWriter::~CaptureWriter() {
  finish();
}

const CaptureWriter::Track& CaptureWriter::add(const std::string& live_name) {
  std::unique_ptr<Track> track(new Track(live_name));  // its constructor is ours alone
  const std::lock_guard lock(mutex_);
  tracks_.push_back(std::move(track));
  changed_.notify_one();
  return *tracks_.back();
}

// --- gathering

void CaptureWriter::gather() {
  for (size_t turn = 0; refresh_active(); ++turn) {
    bool news = false;
    for (Track* track : active_) news |= take(*track, 0);
    const unsigned patience = active_.size() == 1 ? kWaitAloneMs : kWaitAmongMs;
    if (!news) take(*active_[turn % active_.size()], patience);
    if (filling_ && monotonic_now_ns() - filling_since_ns_ >= kBlockAgeNs) push_block();
  }
  if (filling_) push_block();
  queue_.close();
}

// False when every segment ended and none will be added. Sleeps while there is none to follow.
bool CaptureWriter::refresh_active() {
  std::unique_lock lock(mutex_);
  const auto collect = [this] {
    active_.clear();
    for (const auto& track : tracks_)
      if (!track->over_) active_.push_back(track.get());
    return !active_.empty();
  };
  if (!collect() && filling_) {
    lock.unlock();
    push_block();
    lock.lock();
  }
  changed_.wait(lock, [&] { return collect() || finishing_; });
  return !active_.empty();
}

// True when anything came.
bool CaptureWriter::take(Track& track, unsigned wait_ms) {
  for (unsigned taken = 0; taken < kChunksATurn && !track.over_; ++taken) {
    switch (track.reader_.next(chunk_, taken ? 0 : wait_ms)) {
      case shm::Reader::Next::chunk:
        keep(chunk_);
        track.bytes_.fetch_add(chunk_.size() * 8, std::memory_order_relaxed);
        break;
      case shm::Reader::Next::lapped:
        track.lapped_.store(track.reader_.lost_bytes(), std::memory_order_relaxed);
        break;
      case shm::Reader::Next::timeout:
        return taken > 0;
      case shm::Reader::Next::damaged:
        track.error_ = "the ring is damaged: " + track.reader_.damage();
        track.over_ = true;
        break;
      case shm::Reader::Next::ended:
      case shm::Reader::Next::writer_died:
        track.over_ = true;
        break;
    }
  }
  return true;
}

void CaptureWriter::keep(std::span<const uint64_t> chunk) {
  gaps_.push(chunk);
  if (filling_ && filling_->chunks.bytes() + chunk.size_bytes() > options_.block_bytes) push_block();
  if (!filling_) {
    filling_ = std::make_unique<QueuedBlock>();
    filling_->chunks.reserve(options_.block_bytes / 8);
    filling_since_ns_ = monotonic_now_ns();
  }
  filling_->chunks.add(chunk);
  if (shm::header_of(chunk).kind != shm::ChunkKind::device_words) filling_->facts.add(chunk);
}

void CaptureWriter::push_block() {
  const uint64_t now = monotonic_now_ns();
  if (now - told_losses_ns_ >= kTellLossesNs) {
    told_losses_ns_ = now;
    const ChunkBatch told = drops_.take();
    for (size_t i = 0; i < told.size(); ++i) filling_->chunks.add(told[i]), filling_->facts.add(told[i]);
  }
  filling_->number = next_number_++;
  for (const auto& dropped : queue_.push(std::move(filling_))) drop(*dropped, shm::LossCause::disk_too_slow);
}

// --- packing

void CaptureWriter::pack() {
  BlockEncoder encoder;
  while (QueuedBlock* block = queue_.next_to_pack()) {
    block->header = encoder.encode(block->chunks, block->number, block->packed);
    block->chunks = {};
    test_point("block_packed");
    queue_.packed(block);
  }
}

// --- writing

void CaptureWriter::drop(const QueuedBlock& block, shm::LossCause cause) {
  if (!block.chunks.empty()) return drops_.drop(block.chunks, cause);
  ChunkBatch chunks;
  BlockDecoder().decode(block.packed.bytes(), false, chunks);  // our own: it holds
  drops_.drop(chunks, cause);
}

void CaptureWriter::write() {
  const CaptureOutput::Ended ended = [this](QueuedBlock* block, int error) {
    if (error) drop(*block, shm::LossCause::not_kept);
    queue_.written(block);
  };
  while (!queue_.finished()) {
    if (QueuedBlock* block = queue_.next_to_write(output_->under_way() ? 1 : kWriterWaitMs))
      output_->put(block, ended);
    output_->tend(ended);
    file_bytes_.store(output_->bytes(), std::memory_order_relaxed);
  }
  output_->finish(drops_.take(), ended);
  file_bytes_.store(output_->bytes(), std::memory_order_relaxed);
}

void CaptureWriter::finish() {
  if (!gatherer_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    finishing_ = true;
    changed_.notify_one();
  }
  gatherer_.join();
  for (std::thread& t : packers_) t.join();
  writer_.join();
  how_ = output_->how();
}

}  // namespace ttc::collect
